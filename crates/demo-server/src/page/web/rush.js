// The rush: two courses fill at once, as their events arrive; then the server's account of it.

import { post, Refusal } from './api.js';
import { byId, counted, drawSeats, element } from './dom.js';
import { tagValue } from './log.js';

const form = byId('rush');
const told = byId('rushed');

/** The two courses of the last rush. */
const sides = new Map(
  ['dcb', 'naive'].map((kind) => {
    const place = byId(kind);
    const parts = {
      seats: place.querySelector('.seats'),
      verdict: place.querySelector('.verdict'),
      numbers: place.querySelector('dl'),
    };
    return [kind, { course: null, capacity: 0, taken: 0, isOver: false, ...parts }];
  }),
);

/** Takes in an event of the log. */
export function applyToRush(event) {
  const course = tagValue(event, 'course_id');
  if (event.type === 'CourseOffered' && tagValue(event, 'category') === 'Rush') {
    const side = sides.get(course?.split('-').at(-1));
    const capacity = seatsOf(event);
    if (side && capacity && side.course !== course) begin(side, course, capacity);
  } else if (event.type === 'EnrollmentCompleted') {
    const side = [...sides.values()].find((own) => own.course === course);
    if (!side || side.isOver) return;
    side.taken += 1;
    draw(side);
  }
}

/** The seats of an offer. Anybody may append one: of what can't be read there are none. */
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
    `${counted(taken, 'winner')} for ${counted(capacity, 'seat')}` +
    (over > 0 ? `: oversold by ${over}` : '');
  verdict.className = over > 0 ? 'verdict bad' : 'verdict';
}

function finish(kind, seats, { course, enrolled, refused, appends, conflicts, durationMs }) {
  const side = sides.get(kind);
  if (side.course !== course) begin(side, course, seats);
  Object.assign(side, { taken: enrolled, isOver: true });
  draw(side);
  if (enrolled === seats) side.verdict.classList.add('good');
  const rows = [
    ['Refused: no seat left', refused],
    ['Attempts to append', appends],
    ['Conflicts, each decided again', conflicts],
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

function summary({ students, seats, dcb, naive }) {
  const over = naive.enrolled - seats;
  return (
    `${counted(students, 'student')}, ${counted(seats, 'seat')}. ` +
    `With the condition ${counted(dcb.enrolled, 'winner')}; ` +
    `naive ${counted(naive.enrolled, 'winner')}${over > 0 ? `, oversold by ${over}` : ''}.`
  );
}

form.addEventListener('submit', async (submitted) => {
  submitted.preventDefault();
  if (form.ariaBusy === 'true') return;
  const { students, seats } = form.elements;
  const asked = { students: students.valueAsNumber, seats: seats.valueAsNumber };
  form.ariaBusy = 'true';
  told.className = '';
  told.textContent = 'They race …';
  try {
    const rush = await post('/demo/rush', asked);
    finish('dcb', rush.seats, rush.dcb);
    finish('naive', rush.seats, rush.naive);
    told.textContent = summary(rush);
  } catch (failed) {
    told.className = 'bad';
    told.textContent =
      failed instanceof Refusal ? `No rush: ${failed.message}.` : 'The server does not answer.';
  } finally {
    form.ariaBusy = 'false';
  }
});
