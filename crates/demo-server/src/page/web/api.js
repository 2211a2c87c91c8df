// Requests to the server. They carry the token from the page's own URL.

const token = new URLSearchParams(location.search).get('token');

/** The address of another page of the server, with the token. */
export const withToken = (path) => (token ? `${path}?${new URLSearchParams({ token })}` : path);

/** An error response, with its stable code. */
export class Refusal extends Error {
  constructor(status, { code, error }) {
    super(error);
    this.status = status;
    this.code = code;
  }
}

async function request(path, options) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(path, { ...options, headers });
  const body = await response.json();
  if (!response.ok) throw new Refusal(response.status, body);
  return body;
}

/** Sends a GET request. */
export const get = (path, parameters = {}) => request(`${path}?${new URLSearchParams(parameters)}`);

/** Sends a POST request. */
export const post = (path, body) =>
  request(path, { method: 'POST', body: JSON.stringify(body ?? null) });

/** The newest matching events up to a position, newest first. */
export function newest(query, position, limit) {
  if (position === 0) return Promise.resolve([]);
  const options = { from: position, backwards: true, limit };
  return get('/dcb/read', { query: JSON.stringify(query), options: JSON.stringify(options) });
}

/**
 * Subscribes to the matching events after a position. The browser reconnects by itself and continues
 * after the last event. `ended` is called if the server refuses that because its log was cleared.
 */
export function follow(query, after, { event, live, lost, ended }) {
  const parameters = { query: JSON.stringify(query), after };
  // EventSource can't set headers.
  if (token) parameters.token = token;
  const source = new EventSource(`/dcb/subscribe?${new URLSearchParams(parameters)}`);
  source.addEventListener('open', live);
  source.addEventListener('event', (message) => event(JSON.parse(message.data)));
  source.addEventListener('error', () =>
    source.readyState === EventSource.CLOSED ? ended() : lost());
  return source;
}
