// The event log: the newest matching events. The document holds a limited number.

import { byId, counted, element } from './dom.js';

/** Maximum number of shown events. */
export const MAX_SHOWN = 100;
/** Maximum number of types, and of tags, that the fields suggest. */
const MAX_SUGGESTED = 50;
/** Minimum time between two updates of the list. Many events in a short time are drawn together. */
const DRAW_EVERY_MS = 200;

const list = byId('log');
const form = byId('filter');
const pauseButton = byId('pause');
const suggested = { types: new Set(), tags: new Set() };

/** The shown events and those that are not drawn yet, newest last. */
let shown = [];
let total = 0;
let drawing = null;

/** The value of the event's first tag with this key. */
export const tagValue = (event, key) =>
  event.tags.find((tag) => tag.startsWith(`${key}:`))?.slice(key.length + 1);

/** The filter as an item of a query; null for all events. */
export function chosenItem() {
  const type = form.elements.type.value.trim();
  const tags = form.elements.tags.value.split(',').map((tag) => tag.trim()).filter(Boolean);
  return type || tags.length ? { types: type ? [type] : [], tags } : null;
}

/** Replaces the list with these events, newest first. */
export function showEvents(events) {
  shown = events.toReversed();
  total = shown.length;
  shown.forEach(suggest);
  draw();
}

/** Applies an event of the log if it matches the filter. */
export function applyToLog(event) {
  const item = chosenItem();
  const matches =
    !item ||
    ((item.types.length === 0 || item.types.includes(event.type)) &&
      item.tags.every((tag) => event.tags.includes(tag)));
  if (!matches) return;
  shown.push(event);
  total += 1;
  // Trimmed only now and then, so that most events cost no copy.
  if (shown.length > 2 * MAX_SHOWN) shown = shown.slice(-MAX_SHOWN);
  suggest(event);
  drawing ??= setTimeout(draw, DRAW_EVERY_MS);
}

/** Calls `changed` whenever the filter changes. */
export function onFilter(changed) {
  form.addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    changed();
  });
  form.addEventListener('change', changed);
  // The fields are cleared only after this event.
  form.addEventListener('reset', () => setTimeout(changed));
}

const isPaused = () => pauseButton.getAttribute('aria-pressed') === 'true';

function draw() {
  drawing = null;
  if (isPaused()) return;
  shown = shown.slice(-MAX_SHOWN);
  // Existing rows stay, so that an opened one is not closed.
  const rows = new Map(Array.from(list.children, (row) => [row.dataset.position, row]));
  list.replaceChildren(
    ...shown.toReversed().map((event) => rows.get(String(event.position)) ?? row(event)),
  );
  byId('log-count').textContent = total > MAX_SHOWN
    ? `the newest ${MAX_SHOWN} of ${counted(total, 'event')} since the page was opened`
    : counted(total, 'event');
}

function row(event) {
  const created = element(
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
  created.dataset.position = event.position;
  return created;
}

/** Not in the tab order: the list has too many of them, and the fields do the same. */
function filterButton(field, text) {
  const button = element('button', { type: 'button', tabIndex: -1, className: field }, text);
  button.title = `Show only events with ${text}`;
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

function suggest(event) {
  const candidates = [['types', [event.type]], ['tags', event.tags]];
  for (const [kind, texts] of candidates) {
    for (const text of texts) {
      if (suggested[kind].has(text) || suggested[kind].size >= MAX_SUGGESTED) continue;
      suggested[kind].add(text);
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
