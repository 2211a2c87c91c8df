// The way to the server. The token of the page's own address goes along.

const token = new URLSearchParams(location.search).get('token');

/** What the server refused, with its stable code. */
export class Refusal extends Error {
  constructor(status, { code, error }) {
    super(error);
    this.status = status;
    this.code = code;
  }
}

async function ask(path, options) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(path, { ...options, headers });
  const body = await response.json();
  if (!response.ok) throw new Refusal(response.status, body);
  return body;
}

/** What is at `path`, for these parameters. */
export const get = (path, parameters = {}) => ask(`${path}?${new URLSearchParams(parameters)}`);

/** Asks for something to be done. */
export const post = (path, body) =>
  ask(path, { method: 'POST', body: JSON.stringify(body ?? null) });

/** The newest events of a query up to a position, newest first. */
export function newest(query, position, limit) {
  if (position === 0) return Promise.resolve([]);
  const options = { from: position, backwards: true, limit };
  return get('/dcb/read', { query: JSON.stringify(query), options: JSON.stringify(options) });
}

/**
 * The events of a query after a position, those that are there and those that come. The browser
 * connects again by itself, from where it was; `ended` is called where the server wants that no
 * more: its log is another one.
 */
export function follow(query, after, { event, live, lost, ended }) {
  const parameters = { query: JSON.stringify(query), after };
  if (token) parameters.token = token;
  const source = new EventSource(`/dcb/subscribe?${new URLSearchParams(parameters)}`);
  source.addEventListener('open', live);
  source.addEventListener('event', (message) => event(JSON.parse(message.data)));
  source.addEventListener('error', () =>
    source.readyState === EventSource.CLOSED ? ended() : lost());
  return source;
}
