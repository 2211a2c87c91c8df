// Events by type, tags, position and time, and the event because of which an append was refused.

import { read } from './api.js';
import { byId, counted, element, link, listed, onSubmit, opened, shownTime } from './dom.js';
import { attempt } from './notice.js';
import { showProjections } from './states.js';

const PAGE = 50;
const form = byId('filter');
const condition = byId('condition');

/** The query and the place of the next page. */
let next = null;

/** Shows the first page of the chosen events, and the projections. */
export async function showEvents() {
  await showLog();
  await showProjections();
}

async function showLog() {
  const { type, tags, from, time, order } = form.elements;
  const item = { types: listed(type.value), tags: listed(tags.value) };
  const isAny = item.types.length + item.tags.length === 0;
  const backwards = order.value === 'newest';
  let start = from.value ? Number(from.value) : null;
  if (start === null && time.value) start = await positionAt(new Date(time.value), backwards);
  next = { query: { items: isAny ? [] : [item] }, from: start, backwards };
  byId('log').replaceChildren();
  await showPage();
}

async function showPage() {
  const { query, from, backwards } = next;
  const place = from === null ? {} : { from };
  const events = await read(query, { ...place, backwards, limit: PAGE });
  byId('log').append(...events.map(shown));
  const last = events.at(-1)?.position;
  // 0 is before the first event.
  const isEnd = events.length < PAGE || (backwards && last === 1);
  byId('more').hidden = isEnd;
  next.from = backwards ? last - 1 : last + 1;
  const number = byId('log').children.length;
  byId('found').textContent = number === 0
    ? 'No event matches.'
    : `${counted(number, 'event')}${isEnd ? '' : ', and more'}`;
}

/** The position from which events have this time. The log is in order of commits, so a search by halves finds it, but
 *  for events with the time of another log. */
async function positionAt(time, backwards) {
  const [newest] = await read({ items: [] }, { backwards: true, limit: 1 });
  let [low, high] = [1, (newest?.position ?? 0) + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [event] = await read({ items: [] }, { from: middle, limit: 1 });
    if (event && new Date(event.recordedAt) < time) low = middle + 1;
    else high = middle;
  }
  return backwards ? Math.max(low - 1, 0) : low;
}

function shown(event) {
  const filter = (field, text) => link(text, `Show only events with ${text}`, () => {
    form.elements[field].value = text;
    form.requestSubmit();
  });
  const details = element('dl');
  const entries = { id: event.id, ...event.metadata };
  for (const [key, value] of Object.entries(entries)) {
    details.append(element('dt', {}, key), element('dd', {}, String(value)));
  }
  return element(
    'li',
    { value: event.position },
    element('span', { className: 'position' }, String(event.position)),
    element('time', { dateTime: event.recordedAt, title: event.recordedAt }, shownTime(event.recordedAt)),
    filter('type', event.type),
    element('span', { className: 'tags' }, ...event.tags.map((tag) => filter('tags', tag))),
    opened(event.data),
    element('details', { className: 'more' }, element('summary', {}, 'id and metadata'), details),
  );
}

/** Shows the first event that fails the condition. */
async function showConflict() {
  const { types, tags, after } = condition.elements;
  const item = { types: listed(types.value), tags: listed(tags.value) };
  byId('conflict').replaceChildren();
  if (item.types.length + item.tags.length === 0) {
    byId('verdict').textContent = 'Give a type or a tag.';
    return;
  }
  const from = Number(after.value || 0) + 1;
  const [event] = await read({ items: [item] }, { from, limit: 1 });
  byId('conflict').append(...(event ? [shown(event)] : []));
  byId('verdict').textContent = event
    ? `Refused: the event at position ${event.position} matches.`
    : 'Not refused: no event matches after this position.';
}

onSubmit(form, () => attempt(showLog));
// The fields are cleared only after this event.
form.addEventListener('reset', () => setTimeout(() => attempt(showLog)));
byId('more').addEventListener('click', () => attempt(showPage));
onSubmit(condition, () => attempt(showConflict));
