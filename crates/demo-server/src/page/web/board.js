// The courses with their seats, and enrolling by hand.

import { post, Refusal } from './api.js';
import { byId, counted, drawSeats, element } from './dom.js';
import { tagValue } from './log.js';

const form = byId('enroll');
const { student: studentField, course: courseField } = form.elements;
const told = byId('enrolled');
const offerButton = byId('offer');
/** The most courses, and students, that the page takes from the log. */
const MOST = 100;

/** By id: the course or student, and where it is shown. */
const courses = new Map();
const students = new Map();

/** Shows what GET /demo/state answers. */
export function showBoard(state) {
  const chosen = [studentField.value, courseField.value];
  courses.clear();
  students.clear();
  for (const course of state.courses) courses.set(course.id, courseCard({ ...course }));
  for (const student of state.students) students.set(student.id, studentOption({ ...student }));
  byId('courses').replaceChildren(...Array.from(courses.values(), ({ card }) => card));
  courseField.replaceChildren(...Array.from(courses.values(), ({ option }) => option));
  studentField.replaceChildren(...Array.from(students.values(), ({ option }) => option));
  if (students.has(chosen[0])) studentField.value = chosen[0];
  if (courses.has(chosen[1])) courseField.value = chosen[1];
  for (const own of courses.values()) drawCourse(own);
  for (const own of students.values()) drawStudent(own);
  const none = courses.size === 0;
  byId('no-courses').hidden = !none;
  form.hidden = none;
  offerButton.classList.toggle('primary', none);
}

/** Takes in an event of the log. */
export function applyToBoard(event) {
  if (event.type === 'DemoStarted' && event.tags.includes('demo:page')) {
    showBoard(started(event.data));
  } else if (event.type === 'EnrollmentCompleted') {
    const course = courses.get(tagValue(event, 'course_id'));
    if (!course) return;
    course.taken += 1;
    drawCourse(course);
    const student = students.get(tagValue(event, 'student_id'));
    if (!student || student.courses.includes(course.id)) return;
    student.courses.push(course.id);
    drawStudent(student);
  }
}

const areTexts = (...texts) => texts.every((text) => typeof text === 'string');
const isCount = (number) => Number.isInteger(number) && number >= 0;
const isCourse = (own) => areTexts(own.id, own.name, own.category) && isCount(own.capacity);
const isStudent = (own) => areTexts(own.id, own.name) && isCount(own.maxCourses);

/** The board that an event begins. Anybody may append one: what can't be read is none. */
function started(data) {
  try {
    const { courses, students } = JSON.parse(data);
    if (courses.every(isCourse) && students.every(isStudent)) {
      return {
        courses: courses.slice(0, MOST).map((course) => ({ ...course, taken: 0 })),
        students: students.slice(0, MOST).map((student) => ({ ...student, courses: [] })),
      };
    }
  } catch {
    // It is not JSON, or not of this shape.
  }
  return { courses: [], students: [] };
}

function courseCard(course) {
  const seats = element('div', { className: 'seats', ariaHidden: 'true' });
  const count = element('p');
  const card = element('li', {}, element('h3', {}, course.name), count, seats);
  return Object.assign(course, { card, seats, count, option: element('option', { value: course.id }) });
}

function drawCourse({ name, capacity, taken, card, seats, count, option }) {
  const left = Math.max(capacity - taken, 0);
  count.textContent = `${taken} of ${counted(capacity, 'seat')} taken`;
  card.classList.toggle('full', left === 0);
  option.textContent = `${name} (${left === 0 ? 'full' : `${left} left`})`;
  drawSeats(seats, capacity, taken);
}

function studentOption(student) {
  return Object.assign(student, { option: element('option', { value: student.id }) });
}

function drawStudent({ name, maxCourses, courses, option }) {
  option.textContent = `${name} (${courses.length} of ${counted(maxCourses, 'course')})`;
}

/** What a refusal says, in the names of the page. */
function explain(refusal, student, course) {
  switch (refusal.code) {
    case 'COURSE_FULL':
      return `${course.name} is full: ${student.name} gets no seat.`;
    case 'ALREADY_ENROLLED':
      return `${student.name} has a seat in ${course.name} already.`;
    case 'TOO_MANY_COURSES':
      return `${student.name} takes ${counted(student.maxCourses, 'course')}, the most allowed.`;
    default:
      return `Not enrolled: ${refusal.message}.`;
  }
}

form.addEventListener('submit', async (submitted) => {
  submitted.preventDefault();
  const student = students.get(studentField.value);
  const course = courses.get(courseField.value);
  told.textContent = '';
  told.className = '';
  try {
    const seat = await post('/demo/enroll', { student: student.id, course: course.id });
    const tries = seat.attempts === 1 ? '' : `, decided ${seat.attempts} times`;
    told.textContent = `${student.name} has a seat in ${course.name}: event ${seat.position}${tries}.`;
    told.className = 'good';
  } catch (failed) {
    told.textContent =
      failed instanceof Refusal ? explain(failed, student, course) : 'The server does not answer.';
    told.className = 'bad';
  }
});

offerButton.addEventListener('click', async () => {
  told.textContent = '';
  told.className = '';
  try {
    await post('/demo/courses');
  } catch (failed) {
    told.textContent = `No courses: ${failed.message}.`;
    told.className = 'bad';
  }
});
