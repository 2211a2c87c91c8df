// Requests to the stores beside this page. They carry the token from the page's own address.

const token = new URLSearchParams(location.search).get('token');

/** An answer that is an error. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function request(path, options = {}) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(new URL(`../${path}`, location.href), { ...options, headers });
  const body = await response.json().catch(() => null);
  if (response.ok && body !== null) return body;
  // Each interface has its own form of errors.
  const reason = body?.error?.message ?? body?.error ?? response.statusText;
  throw new Refusal(response.status, reason || `status ${response.status}`);
}

const get = (path, parameters) => request(`${path}?${new URLSearchParams(parameters)}`);

/** The events that match a query, an object of `items`. */
export const read = (query, options) =>
  get('dcb/read', { query: JSON.stringify(query), options: JSON.stringify(options) });

/** The names of the projections whose states can be read. */
export const stateNames = () => request('dcb/states');

/** The state of a projection for the `key`, at the position `at` or the head. */
export const readState = (name, parameters) => get(`dcb/states/${encodeURIComponent(name)}`, parameters);

/** Calls a method of the message store. */
export const call = (...method) => request('rpc', { method: 'POST', body: JSON.stringify(method) });

/** The data of an answer of Prometheus' interface. */
export const prometheus = async (path, parameters) => (await get(`api/v1/${path}`, parameters)).data;
