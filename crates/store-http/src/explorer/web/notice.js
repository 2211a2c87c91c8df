// The work of the page, one piece after the other, and why it failed.

import { byId } from './dom.js';

let last = Promise.resolve();

/** Does a piece of work of the page once the one before has ended, and explains its failure. */
export function attempt(work) {
  last = last.then(() => run(work));
}

async function run(work) {
  const notice = byId('notice');
  try {
    await work();
    notice.hidden = true;
  } catch (failed) {
    notice.textContent = explained(failed);
    notice.hidden = false;
  }
}

function explained({ status, message }) {
  if (status === 401) return 'A token is needed: open this page as ?token=<your token>.';
  if (status === 404) return 'This service does not serve this store.';
  if (status) return `The store refuses: ${message}.`;
  return `The service does not answer: ${message}.`;
}
