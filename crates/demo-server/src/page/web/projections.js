// The sliced projections in the database of the events: how far each version is, how fast, and how long it
// still takes.

import { get } from './api.js';
import { byId, counted, element } from './dom.js';

const EVERY_MS = 2000;

/** The positions at the last look, by name and version, and its time. */
let before = { at: 0, positions: new Map() };

const key = ({ name, version }) => `${name} ${version}`;

/** `40 s`, `3 min`, `2 h`. */
function duration(seconds) {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  if (seconds < 5400) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.ceil(seconds / 3600)} h`;
}

/** Events a second since the last look; 0 at the first. */
function rate(version, at) {
  const passed = version.position - (before.positions.get(key(version)) ?? version.position);
  return Math.max(0, (passed * 1000) / (at - before.at));
}

function progress(version, head, perSecond) {
  const left = Math.max(0, head - version.position);
  if (version.state === 'retired') return 'retired';
  if (left === 0) return 'up to date';
  if (perSecond === 0) return `${counted(left, 'event')} left`;
  const speed = Math.round(perSecond).toLocaleString('en');
  return `${speed} events/s, ${duration(left / perSecond)} left`;
}

function article(version, head, at) {
  const title = `${version.name}, version ${version.version}`;
  const rows = [
    ['State', version.state],
    ['Members', version.members.toLocaleString('en')],
    ['Slices', version.slices.toLocaleString('en')],
    ['Parked events', version.parked.toLocaleString('en')],
    ...version.stopped.map(({ slice, error }) => [`Slice ${slice} has stopped`, error]),
  ];
  const bar = element('meter', { min: 0, max: Math.max(1, head), value: version.position });
  bar.ariaLabel = `Events that ${title} has handled`;
  return element(
    'article',
    {},
    element('h3', {}, title),
    bar,
    element('p', { className: 'verdict' }, progress(version, head, rate(version, at))),
    element(
      'dl',
      {},
      ...rows.map(([name, value]) =>
        element('div', {}, element('dt', {}, name), element('dd', {}, value)),
      ),
    ),
  );
}

async function look() {
  const { head, projections } = await get('/demo/projections');
  const at = Date.now();
  byId('projections').replaceChildren(...projections.map((version) => article(version, head, at)));
  byId('projections-section').hidden = projections.length === 0;
  before = { at, positions: new Map(projections.map((version) => [key(version), version.position])) };
}

/** Looks again and again while the page is visible. */
export async function keepLooking() {
  // A server that does not answer is shown at the top of the page.
  if (!document.hidden) await look().catch(() => {});
  setTimeout(keepLooking, EVERY_MS);
}
