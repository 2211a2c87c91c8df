// The page: reads the current state, then follows the log.

import { follow, get, newest, withToken } from './api.js';
import { applyToBoard, showBoard } from './board.js';
import { keepDrawing } from './charts.js';
import { byId } from './dom.js';
import { applyToLog, chosenItem, onFilter, MAX_SHOWN, showEvents } from './log.js';
import { keepLooking } from './projections.js';
import { applyToRush } from './rush.js';
import './warm.js';

/** The events that board and rush need, independent of the log's filter. */
const PAGE_EVENTS = { types: ['DemoStarted', 'CourseOffered', 'EnrollmentCompleted'], tags: [] };
const RETRY_MS = 2000;
const LOST = 'connection lost, retrying';

/** The last position that the board includes; null before the board is loaded. */
let position = null;
let stream = null;
/** Number of the current session. Responses to requests of earlier sessions are dropped. */
let session = 0;
let retry = null;

/** Reads the current state and follows the log from there. */
async function begin() {
  const current = stop();
  try {
    const state = await get('/demo/state');
    if (current !== session) return;
    position = state.position;
    showBoard(state);
    await followFiltered(current);
  } catch (failed) {
    if (current === session) explain(failed);
  }
}

/** Shows the newest events that match the filter, and follows the log from the board's position. */
async function followFiltered(current) {
  const item = chosenItem();
  const events = await newest({ items: item ? [item] : [] }, position, MAX_SHOWN);
  if (current !== session) return;
  showEvents(events);
  byId('notice').hidden = true;
  stream = follow({ items: item ? [PAGE_EVENTS, item] : [] }, position, {
    event: apply,
    live: () => showStatus('live', 'live'),
    lost: () => showStatus('lost', LOST),
    ended: beginAgain,
  });
}

function apply(event) {
  position = event.position;
  applyToBoard(event);
  applyToRush(event);
  applyToLog(event);
}

function stop() {
  stream?.close();
  stream = null;
  clearTimeout(retry);
  session += 1;
  return session;
}

function showStatus(state, text) {
  const status = byId('status');
  if (status.textContent === text) return;
  status.dataset.state = state;
  status.textContent = text;
}

function beginAgain() {
  showStatus('lost', LOST);
  retry = setTimeout(begin, RETRY_MS);
}

function explain(failed) {
  const notice = byId('notice');
  if (failed.status === 401) {
    notice.textContent = 'This server requires a token: open this page as /?token=<your token>.';
  } else if (failed.status === 403) {
    notice.textContent = `Access denied: ${failed.message}.`;
  } else if (failed.status === 400) {
    notice.textContent = `Invalid filter: ${failed.message}.`;
  } else {
    return beginAgain();
  }
  notice.hidden = false;
  showStatus('lost', 'not connected');
}

onFilter(() => {
  if (position === null) return begin();
  const current = stop();
  followFiltered(current).catch((failed) => current === session && explain(failed));
});
// A hidden page holds no connection: browsers allow only a few per server.
document.addEventListener('visibilitychange', () => (document.hidden ? stop() : begin()));
byId('docs').href = withToken('/docs/');
byId('explorer').href = withToken('/explorer/');
begin();
keepDrawing();
keepLooking();
