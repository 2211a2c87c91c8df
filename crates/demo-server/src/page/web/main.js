// The page: reads what there is, then follows the log.

import { follow, get, newest } from './api.js';
import { applyToBoard, showBoard } from './board.js';
import { keepDrawing } from './charts.js';
import { byId } from './dom.js';
import { applyToLog, chosenItem, onFilter, SHOWN, showEvents } from './log.js';
import { applyToRush } from './rush.js';

/** What the board and the rush need, whatever the log is filtered by. */
const OWN = { types: ['DemoStarted', 'CourseOffered', 'EnrollmentCompleted'], tags: [] };
const AGAIN_MS = 2000;
const LOST = 'connection lost, trying again';

/** Up to where the board has taken in the log; null before it is there. */
let position = null;
let stream = null;
/** Counts beginnings: what was asked for before the last one is of no use. */
let turn = 0;
let again = null;

/** Reads everything anew and follows the log from there. */
async function begin() {
  const own = stop();
  try {
    const state = await get('/demo/state');
    if (own !== turn) return;
    position = state.position;
    showBoard(state);
    await followFiltered(own);
  } catch (failed) {
    if (own === turn) explain(failed);
  }
}

/** Shows the newest events of what is asked for, and follows the log from where the board is. */
async function followFiltered(own) {
  const item = chosenItem();
  const events = await newest({ items: item ? [item] : [] }, position, SHOWN);
  if (own !== turn) return;
  showEvents(events);
  byId('notice').hidden = true;
  stream = follow({ items: item ? [OWN, item] : [] }, position, {
    event: take,
    live: () => tell('live', 'live'),
    lost: () => tell('lost', LOST),
    ended: beginAgain,
  });
}

function take(event) {
  position = event.position;
  applyToBoard(event);
  applyToRush(event);
  applyToLog(event);
}

function stop() {
  stream?.close();
  stream = null;
  clearTimeout(again);
  turn += 1;
  return turn;
}

function tell(state, text) {
  const status = byId('status');
  if (status.textContent === text) return;
  status.dataset.state = state;
  status.textContent = text;
}

function beginAgain() {
  tell('lost', LOST);
  again = setTimeout(begin, AGAIN_MS);
}

function explain(failed) {
  const notice = byId('notice');
  if (failed.status === 401) {
    notice.textContent = 'This server asks for a token: open this page as /?token=… with yours.';
  } else if (failed.status === 403) {
    notice.textContent = `This page is not for you: ${failed.message}.`;
  } else if (failed.status === 400) {
    notice.textContent = `The log can't be filtered so: ${failed.message}.`;
  } else {
    return beginAgain();
  }
  notice.hidden = false;
  tell('lost', 'not connected');
}

onFilter(() => {
  if (position === null) return begin();
  const own = stop();
  followFiltered(own).catch((failed) => own === turn && explain(failed));
});
// A page that nobody looks at holds no connection: a browser has few for one server.
document.addEventListener('visibilitychange', () => (document.hidden ? stop() : begin()));
begin();
keepDrawing();
