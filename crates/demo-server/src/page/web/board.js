// The courses with their seats, and the form to enroll a student.

import { post, Refusal } from './api.js';
import { byId, counted, drawSeats, element } from './dom.js';
import { tagValue } from './log.js';

const form = byId('enroll');
const { student: studentField, course: courseField } = form.elements;
const message = byId('enrolled');
const offerButton = byId('offer');
/** Maximum number of courses, and of students, that the page takes from an event. */
const MAX_ENTRIES = 100;

/** By id: the course or student with its elements. */
const courses = new Map();
const students = new Map();

/** Shows the response of GET /demo/state. */
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
  for (const course of courses.values()) drawCourse(course);
  for (const student of students.values()) drawStudent(student);
  const none = courses.size === 0;
  byId('no-courses').hidden = !none;
  form.hidden = none;
  offerButton.classList.toggle('primary', none);
}

/** Applies an event of the log. */
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

const areStrings = (...values) => values.every((value) => typeof value === 'string');
const isCount = (number) => Number.isInteger(number) && number >= 0;
const isCourse = ({ id, name, category, capacity }) =>
  areStrings(id, name, category) && isCount(capacity);
const isStudent = ({ id, name, maxCourses }) => areStrings(id, name) && isCount(maxCourses);

/** The board from a DemoStarted event. Any client can append one; an unreadable one is empty. */
function started(data) {
  try {
    const { courses, students } = JSON.parse(data);
    if (courses.every(isCourse) && students.every(isStudent)) {
      return {
        courses: courses.slice(0, MAX_ENTRIES).map((course) => ({ ...course, taken: 0 })),
        students: students.slice(0, MAX_ENTRIES).map((student) => ({ ...student, courses: [] })),
      };
    }
  } catch {
    // Not JSON, or another shape.
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

/** Explains an error with the names that the page shows. */
function explain(refusal, student, course) {
  switch (refusal.code) {
    case 'COURSE_FULL':
      return `${course.name} is full. ${student.name} did not get a seat.`;
    case 'ALREADY_ENROLLED':
      return `${student.name} already has a seat in ${course.name}.`;
    case 'TOO_MANY_COURSES':
      return `${student.name} already takes the maximum of ${counted(student.maxCourses, 'course')}.`;
    default:
      return `Not enrolled: ${refusal.message}.`;
  }
}

form.addEventListener('submit', async (submitted) => {
  submitted.preventDefault();
  const student = students.get(studentField.value);
  const course = courses.get(courseField.value);
  message.textContent = '';
  message.className = '';
  try {
    const seat = await post('/demo/enroll', { student: student.id, course: course.id });
    const tries = seat.attempts === 1 ? '' : `, after ${seat.attempts} attempts`;
    message.textContent = `${student.name} has a seat in ${course.name} (event ${seat.position}${tries}).`;
    message.className = 'good';
  } catch (failed) {
    message.textContent =
      failed instanceof Refusal ? explain(failed, student, course) : 'The server does not answer.';
    message.className = 'bad';
  }
});

offerButton.addEventListener('click', async () => {
  message.textContent = '';
  message.className = '';
  try {
    await post('/demo/courses');
  } catch (failed) {
    message.textContent = `No courses were offered: ${failed.message}.`;
    message.className = 'bad';
  }
});
