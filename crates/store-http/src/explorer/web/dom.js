// Helpers for the document.

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** A new element with these properties and children. */
export function element(name, properties = {}, ...children) {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
}

/** A new SVG element with these attributes and children. */
export function svg(name, attributes = {}, ...children) {
  const created = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) created.setAttribute(key, value);
  created.append(...children);
  return created;
}

/** A row of a table. */
export const row = (...cells) => element('tr', {}, ...cells.map((cell) => element('td', {}, cell)));

/** A button that looks like a link. */
export function link(text, title, clicked) {
  const button = element('button', { type: 'button', className: 'link', title }, text);
  button.addEventListener('click', clicked);
  return button;
}

/** JSON that can be opened. The line shows its beginning. */
export function opened(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return element(
    'details',
    {},
    element('summary', {}, text),
    element('pre', {}, indented(value)),
  );
}

function indented(value) {
  try {
    return JSON.stringify(typeof value === 'string' ? JSON.parse(value) : value, null, 2);
  } catch {
    return value;
  }
}

/** `1 event`, `2 events`. */
export const counted = (number, noun) =>
  `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;

/** A time in the reader's time zone. */
export const shownTime = (time) => new Date(time).toLocaleString();

/** The parts of a list with commas. */
export const listed = (text) => text.split(',').map((part) => part.trim()).filter(Boolean);

/** Calls `sent` instead of sending the form. */
export function onSubmit(form, sent) {
  form.addEventListener('submit', (submitted) => {
    submitted.preventDefault();
    sent();
  });
}
