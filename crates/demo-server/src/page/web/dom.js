// Small words for the document.

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** A new element with these properties and children. */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A new SVG element with these attributes and children. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The most seats that are drawn. */
const DRAWN = 1000;

/** Draws `taken` of `capacity` seats; those beyond the capacity are marked. What is there stays, so
 *  that only a change moves. */
export function drawSeats(place, capacity, taken) {
  const wanted = Math.min(Math.max(capacity, taken), DRAWN);
  while (place.children.length > wanted) place.lastChild.remove();
  while (place.children.length < wanted) place.append(element('i'));
  Array.from(place.children).forEach((seat, index) => {
    seat.className = index >= taken ? '' : index < capacity ? 'taken' : 'over';
  });
}

/** `1 seat`, `2 seats`. */
export const counted = (number, noun) =>
  `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
