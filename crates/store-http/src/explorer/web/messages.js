// Categories, consumers with their lag, streams, and the messages of a stream.

import { call } from './api.js';
import { byId, element, link, onSubmit, opened, row, shownTime } from './dom.js';
import { attempt } from './notice.js';

const STREAMS = 50;
const MESSAGES = 50;
const prefix = byId('prefix');

/** The last stream that is shown. */
let cursor = null;
/** The chosen stream, and the position of its next page, which goes towards the first message. */
let chosen = null;

/** Shows everything but the messages. */
export async function showMessages() {
  const [categories, consumers] = await Promise.all([call('ns.categories'), call('ns.checkpoints')]);
  const streamsOf = (category) => link(category, `Show the streams of ${category}`, () => {
    prefix.elements.prefix.value = category;
    prefix.requestSubmit();
  });
  byId('categories').replaceChildren(
    ...categories.map(({ category, streamCount, messageCount }) =>
      row(streamsOf(category), String(streamCount), String(messageCount))),
  );
  byId('consumers').replaceChildren(
    ...consumers.map(({ consumer, globalPosition, behind }) =>
      row(consumer, String(globalPosition), String(behind))),
  );
  await showStreams();
}

async function showStreams() {
  cursor = null;
  byId('streams').replaceChildren();
  await moreStreams();
}

async function moreStreams() {
  const options = { prefix: prefix.elements.prefix.value, limit: STREAMS };
  const streams = await call('ns.streams', cursor === null ? options : { ...options, cursor });
  byId('streams').append(
    ...streams.map(({ stream, version, lastActivity }) => {
      const open = () => attempt(() => showStream(stream, version));
      const name = link(stream, `Show the messages of ${stream}`, open);
      return row(name, String(version), shownTime(lastActivity));
    }),
  );
  cursor = streams.at(-1)?.stream ?? null;
  byId('more-streams').hidden = streams.length < STREAMS;
}

async function showStream(stream, version) {
  chosen = { stream, end: version + 1 };
  byId('stream-title').textContent = `Messages of ${stream}, newest first`;
  byId('stream').replaceChildren();
  await moreMessages();
  byId('stream-title').scrollIntoView();
}

async function moreMessages() {
  const { stream, end } = chosen;
  const position = Math.max(end - MESSAGES, 0);
  const messages = await call('stream.get', stream, { position, batchSize: end - position });
  byId('stream').append(...messages.toReversed().map(shown));
  chosen.end = position;
  byId('more-messages').hidden = position === 0;
}

function shown([id, type, position, globalPosition, data, metadata, time]) {
  const facts = { id, 'global position': globalPosition, metadata: JSON.stringify(metadata) };
  const details = element('dl');
  for (const [key, value] of Object.entries(facts)) {
    details.append(element('dt', {}, key), element('dd', {}, String(value)));
  }
  return element(
    'li',
    { value: position },
    element('span', { className: 'position' }, String(position)),
    element('time', { dateTime: time, title: time }, shownTime(time)),
    element('span', {}, type),
    opened(data),
    element('details', { className: 'more' }, element('summary', {}, 'id and metadata'), details),
  );
}

onSubmit(prefix, () => attempt(showStreams));
byId('more-streams').addEventListener('click', () => attempt(moreStreams));
byId('more-messages').addEventListener('click', () => attempt(moreMessages));
