// The state of a projection at a position, moved by one event of the projection at a time.

import { readState, stateNames } from './api.js';
import { byId, counted, element, onSubmit } from './dom.js';
import { attempt } from './notice.js';

const form = byId('projection');
const { name, key, at } = form.elements;
const earlier = byId('earlier');
const later = byId('later');

/** The projection and the key of the shown state, and the positions of the states before its last event and after its
 *  next one. */
let shown;

/** Offers the projections, if the service has any. */
export async function showProjections() {
  const names = await stateNames();
  const chosen = name.value;
  name.replaceChildren(...names.map((text) => element('option', {}, text)));
  if (names.includes(chosen)) name.value = chosen;
  byId('states').hidden = names.length === 0;
}

async function showState(of, position) {
  byId('state').hidden = true;
  const place = position === '' ? {} : { at: position };
  const { state, ...found } = await readState(of.name, { key: of.key, ...place });
  const last = found.lastPosition ? `, the last at position ${found.lastPosition}` : '';
  byId('state-of').textContent =
    `At position ${found.position}, from ${counted(found.numberOfEvents, 'event')}${last}.`;
  byId('state-json').textContent = JSON.stringify(state, null, 2);
  shown = { ...of, before: found.lastPosition - 1, after: found.nextPosition };
  earlier.disabled = !found.lastPosition;
  later.disabled = !found.nextPosition;
  byId('state').hidden = false;
}

/** Shows the state at another position, which the form then has. */
function move(position) {
  at.value = position;
  attempt(() => showState(shown, position));
}

onSubmit(form, () => attempt(() => showState({ name: name.value, key: key.value }, at.value)));
earlier.addEventListener('click', () => move(shown.before));
later.addEventListener('click', () => move(shown.after));
