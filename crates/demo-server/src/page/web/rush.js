// The rush: shows how two courses fill as their events arrive, then the server's result.

import { post, Refusal } from './api.js';
import { byId, counted, drawSeats, element } from './dom.js';
import { tagValue } from './log.js';

const form = byId('rush');
const message = byId('rushed');

/** The courses of the last rush. */
const sides = new Map(
  ['naive', 'dcb', 'lanes'].map((kind) => {
    const side = byId(kind);
    const parts = {
      seats: side.querySelector('.seats'),
      verdict: side.querySelector('.verdict'),
      numbers: side.querySelector('dl'),
    };
    return [kind, { course: null, capacity: 0, taken: 0, isOver: false, ...parts }];
  }),
);

/** Applies an event of the log. */
export function applyToRush(event) {
  const course = tagValue(event, 'course_id');
  if (event.type === 'CourseOffered' && tagValue(event, 'category') === 'Rush') {
    const side = sides.get(course?.split('-').at(-1));
    const capacity = seatsOf(event);
    if (side && capacity && side.course !== course) begin(side, course, capacity);
  } else if (event.type === 'EnrollmentCompleted') {
    const side = [...sides.values()].find((side) => side.course === course);
    if (!side || side.isOver) return;
    side.taken += 1;
    draw(side);
  }
}

/** The seats of an offer. Any client can append one; an unreadable one has no seats. */
function seatsOf(offer) {
  try {
    const { capacity } = JSON.parse(offer.data);
    return Number.isInteger(capacity) ? capacity : 0;
  } catch {
    return 0;
  }
}

function begin(side, course, capacity) {
  Object.assign(side, { course, capacity, taken: 0, isOver: false });
  side.numbers.replaceChildren();
  draw(side);
}

function draw({ capacity, taken, seats, verdict }) {
  drawSeats(seats, capacity, taken);
  const over = taken - capacity;
  verdict.textContent =
    `${counted(taken, 'student')} enrolled for ${counted(capacity, 'seat')}` +
    (over > 0 ? `: overbooked by ${over}` : '');
  verdict.className = over > 0 ? 'verdict bad' : 'verdict';
}

function finish(kind, seats, { course, enrolled, refused, appends, conflicts, durationMs }) {
  const side = sides.get(kind);
  if (side.course !== course) begin(side, course, seats);
  Object.assign(side, { taken: enrolled, isOver: true });
  draw(side);
  if (enrolled === seats) side.verdict.classList.add('good');
  const rows = [
    ['Rejected: course full', refused],
    ['Attempted appends', appends],
    ['Conflicts, each retried', conflicts],
    ['Time', `${Math.round(durationMs)} ms`],
  ];
  side.numbers.replaceChildren(
    ...rows.map(([name, value]) =>
      element(
        'div',
        {},
        element('dt', {}, name),
        element('dd', {}, value.toLocaleString('en')),
      ),
    ),
  );
}

function summary({ students, seats, naive, dcb, lanes }) {
  const over = naive.enrolled - seats;
  return (
    `${counted(students, 'student')}, ${counted(seats, 'seat')}. ` +
    `Without the condition: ${naive.enrolled} enrolled${over > 0 ? `, overbooked by ${over}` : ''}. ` +
    `With it: ${dcb.enrolled} enrolled. In a lane: ${lanes.enrolled} enrolled.`
  );
}

form.addEventListener('submit', async (submitted) => {
  submitted.preventDefault();
  if (form.ariaBusy === 'true') return;
  const { students, seats } = form.elements;
  const size = { students: students.valueAsNumber, seats: seats.valueAsNumber };
  form.ariaBusy = 'true';
  message.className = '';
  message.textContent = 'The rush is running …';
  try {
    const rush = await post('/demo/rush', size);
    for (const kind of sides.keys()) finish(kind, rush.seats, rush[kind]);
    message.textContent = summary(rush);
  } catch (failed) {
    message.className = 'bad';
    message.textContent =
      failed instanceof Refusal ? `The rush did not run: ${failed.message}.` : 'The server does not answer.';
  } finally {
    form.ariaBusy = 'false';
  }
});
