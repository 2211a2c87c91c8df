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

/** Maximum number of drawn seats. */
const MAX_DRAWN = 1000;

/** Draws `taken` of `capacity` seats and marks those beyond the capacity. Existing elements stay, so
 *  that only changed seats are animated. */
export function drawSeats(container, capacity, taken) {
  const wanted = Math.min(Math.max(capacity, taken), MAX_DRAWN);
  while (container.children.length > wanted) container.lastChild.remove();
  while (container.children.length < wanted) container.append(element('i'));
  Array.from(container.children).forEach((seat, index) => {
    seat.className = index >= taken ? '' : index < capacity ? 'taken' : 'over';
  });
}

/** `1 seat`, `2 seats`. */
export const counted = (number, noun) =>
  `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
