// The event log: the newest events that match, bounded in the document.

import { byId, counted, element } from './dom.js';

/** The most events that are shown. */
export const SHOWN = 100;
/** The most types, and tags, that the fields offer. */
const OFFERED = 50;
/** How often the list may change; a flood of events is drawn in gulps. */
const DRAW_EVERY_MS = 200;

const list = byId('log');
const form = byId('filter');
const pauseButton = byId('pause');
const offered = { types: new Set(), tags: new Set() };

/** What is shown and what waits to be, newest last. */
let shown = [];
let total = 0;
let drawing = null;

/** The value of the event's first tag with this key. */
export const tagValue = (event, key) =>
  event.tags.find((tag) => tag.startsWith(`${key}:`))?.slice(key.length + 1);

/** What is asked for, as an item of a query; null is all events. */
export function chosenItem() {
  const type = form.elements.type.value.trim();
  const tags = form.elements.tags.value.split(',').map((tag) => tag.trim()).filter(Boolean);
  return type || tags.length ? { types: type ? [type] : [], tags } : null;
}

/** Begins with these events, newest first. */
export function showEvents(events) {
  shown = events.toReversed();
  total = shown.length;
  shown.forEach(offer);
  draw();
}

/** Takes in an event of the log, if it is one of those asked for. */
export function applyToLog(event) {
  const item = chosenItem();
  const matches =
    !item ||
    ((item.types.length === 0 || item.types.includes(event.type)) &&
      item.tags.every((tag) => event.tags.includes(tag)));
  if (!matches) return;
  shown.push(event);
  total += 1;
  if (shown.length > 2 * SHOWN) shown = shown.slice(-SHOWN);
  offer(event);
  drawing ??= setTimeout(draw, DRAW_EVERY_MS);
}

/** Calls back with each change of what is asked for. */
export function onFilter(changed) {
  form.addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    changed();
  });
  form.addEventListener('change', changed);
  // The fields are empty only after the event.
  form.addEventListener('reset', () => setTimeout(changed));
}

const isPaused = () => pauseButton.getAttribute('aria-pressed') === 'true';

function draw() {
  drawing = null;
  if (isPaused()) return;
  shown = shown.slice(-SHOWN);
  const there = new Map(Array.from(list.children, (row) => [row.dataset.position, row]));
  list.replaceChildren(
    ...shown.toReversed().map((event) => there.get(String(event.position)) ?? row(event)),
  );
  byId('log-count').textContent = total > SHOWN
    ? `the newest ${SHOWN} of ${counted(total, 'event')} since the page looked`
    : counted(total, 'event');
}

function row(event) {
  const made = element(
    'li',
    { value: event.position },
    element('span', { className: 'position' }, String(event.position)),
    filterButton('type', event.type),
    element('span', { className: 'tags' }, ...event.tags.map((tag) => filterButton('tags', tag))),
    element(
      'details',
      {},
      element('summary', {}, event.data),
      element('pre', {}, indented(event.data)),
    ),
  );
  made.dataset.position = event.position;
  return made;
}

/** By mouse only: the fields do the same, and the list has too many of these to tab through. */
function filterButton(field, text) {
  const button = element('button', { type: 'button', tabIndex: -1, className: field }, text);
  button.title = `Only events with ${text}`;
  button.dataset.field = field;
  return button;
}

function indented(data) {
  try {
    return JSON.stringify(JSON.parse(data), null, 2);
  } catch {
    return data;
  }
}

function offer(event) {
  const news = [['types', [event.type]], ['tags', event.tags]];
  for (const [kind, texts] of news) {
    for (const text of texts) {
      if (offered[kind].has(text) || offered[kind].size >= OFFERED) continue;
      offered[kind].add(text);
      byId(kind).append(element('option', { value: text }));
    }
  }
}

list.addEventListener('click', ({ target }) => {
  const field = target.dataset?.field;
  if (!field) return;
  form.elements[field].value = target.textContent;
  form.requestSubmit();
});

pauseButton.addEventListener('click', () => {
  pauseButton.setAttribute('aria-pressed', String(!isPaused()));
  draw();
});
