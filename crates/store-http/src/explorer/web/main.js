// The page: one section for each store, chosen by the address's fragment.

import { byId } from './dom.js';
import { showEvents } from './events.js';
import { showMessages } from './messages.js';
import { attempt } from './notice.js';
import { showSeries } from './series.js';

const SECTIONS = { events: showEvents, messages: showMessages, series: showSeries };

function show() {
  const wanted = location.hash.slice(1);
  const chosen = wanted in SECTIONS ? wanted : 'events';
  for (const name of Object.keys(SECTIONS)) {
    byId(name).hidden = name !== chosen;
    const tab = document.querySelector(`nav a[href="#${name}"]`);
    if (name === chosen) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
  }
  attempt(SECTIONS[chosen]);
}

addEventListener('hashchange', show);
show();
