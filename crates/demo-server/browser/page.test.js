// Tests of the page in a browser. They start the server.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startServer } from './server.js';
import { checkFit, eventually, server, withPage } from './window.js';

const isLive = (page) => page.locator('#status[data-state=live]').waitFor();

/** Offers new courses and waits until the page shows them. */
async function offerCourses(page) {
  await isLive(page);
  const first = () =>
    page.evaluate(() => document.querySelector('#enroll [name=course] option')?.value ?? '');
  const before = await first();
  await page.getByRole('button', { name: 'Offer new courses' }).click();
  await eventually('new courses', async () => (await first()) !== before);
}

/** Enrolls a student with the form and returns the message. */
async function enroll(page, student, course) {
  for (const [field, name] of [['Student', student], ['Course', course]]) {
    const label = await option(page, field.toLowerCase(), name);
    await page.getByRole('combobox', { name: field, exact: true }).selectOption({ label });
  }
  await page.getByRole('button', { name: 'Enroll', exact: true }).click();
  await page.locator('#enrolled:not(:empty)').waitFor();
  return page.locator('#enrolled').textContent();
}

const option = (page, field, name) =>
  page.locator(`#enroll [name=${field}] option`, { hasText: name }).textContent();

const card = (page, course) => page.locator('#courses li', { hasText: course });
const rows = (page) => page.locator('#log li');

test('enrollment takes a seat and appears in the log', () =>
  withPage(async (page) => {
    await offerCourses(page);
    const message = await enroll(page, 'Grace', 'Databases');
    assert.match(message, /^Grace has a seat in Databases \(event \d+\)\.$/);
    await card(page, 'Databases').getByText('1 of 8 seats taken').waitFor();
    assert.equal(await card(page, 'Databases').locator('.seats .taken').count(), 1);
    assert.match(await option(page, 'course', 'Databases'), /7 left/);
    assert.match(await option(page, 'student', 'Grace'), /1 of 3 courses/);
    const newest = rows(page).first();
    await newest.getByText('EnrollmentCompleted').waitFor();
    assert.match(await newest.textContent(), /course_id:databases-.*student_id:grace-/);

    assert.equal(await enroll(page, 'Grace', 'Databases'), 'Grace already has a seat in Databases.');
    await card(page, 'Databases').getByText('1 of 8 seats taken').waitFor();
  }, { expected: /409/ }));

test('enrollment appears in other windows', () =>
  withPage(async (page, context) => {
    await offerCourses(page);
    const other = await context.newPage();
    await other.goto(server.url);
    await isLive(other);
    await enroll(other, 'Ada', 'Logic');
    await card(page, 'Logic').getByText('1 of 4 seats taken').waitFor();
    await other.getByRole('button', { name: 'Offer new courses' }).click();
    await card(page, 'Logic').getByText('0 of 4 seats taken').waitFor();
  }));

test('enrollment works by keyboard', () =>
  withPage(async (page) => {
    await offerCourses(page);
    await page.locator('h1').click();
    const focused = () => page.evaluate(() => document.activeElement.name ?? '');
    for (const name of ['student', 'course']) {
      await eventually(`Tab reaches ${name}`, async () => {
        await page.keyboard.press('Tab');
        return (await focused()) === name;
      });
      const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
      assert.equal(outline, 'solid', 'the focus is visible');
      await page.keyboard.type(name === 'student' ? 'Hedy' : 'Astr');
    }
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText(/^Hedy has a seat in Astronomy/).waitFor();
    await card(page, 'Astronomy').getByText('1 of 6 seats taken').waitFor();
  }));

test('rush is overbooked only without the condition', () =>
  withPage(async (page) => {
    await isLive(page);
    await page.getByLabel('Students').fill('80');
    await page.getByLabel('Seats').fill('7');
    await page.getByRole('button', { name: 'Start rush', exact: true }).click();
    await page.locator('#rushed', { hasText: '80 students, 7 seats' }).waitFor();

    const dcb = page.locator('#dcb');
    assert.equal(await dcb.locator('.verdict').textContent(), '7 students enrolled for 7 seats');
    assert.equal(await dcb.locator('.seats .taken').count(), 7);
    assert.equal(await dcb.locator('.seats .over').count(), 0);
    const number = async (side, name) =>
      Number(await side.locator('dl div', { hasText: name }).locator('dd').textContent());
    const conflicts = await number(dcb, 'Conflicts');
    assert.ok(conflicts > 0);
    assert.equal(await number(dcb, 'Attempted'), 7 + conflicts);
    assert.equal(await number(dcb, 'Rejected'), 73);

    const naive = page.locator('#naive');
    const verdict = await naive.locator('.verdict').textContent();
    const [, enrolled, over] = verdict.match(/^(\d+) students enrolled for 7 seats: overbooked by (\d+)$/);
    assert.equal(Number(enrolled), 7 + Number(over));
    assert.equal(await naive.locator('.seats .over').count(), Number(over));
    assert.equal(await number(naive, 'Conflicts'), 0);
    assert.match(await page.locator('#rushed').textContent(), /With it: 7 enrolled\. In a lane: 7 enrolled/);
  }));

test('warm decisions read once, cold ones each time', () =>
  withPage(async (page) => {
    await isLive(page);
    const form = page.getByRole('form', { name: 'Warm decisions' });
    await form.getByLabel('Tickets sold before').fill('300');
    await form.getByLabel('Decisions').fill('20');
    await form.getByRole('button', { name: 'Decide' }).click();
    await page.locator('#sold', { hasText: '20 decisions after 300 events' }).waitFor();
    const summary = await page.locator('#sold').textContent();
    assert.match(summary, /Cold: 20 reads\. Warm: 1 read\./);
    for (const side of ['#cold-side', '#warm-side']) {
      assert.match(await page.locator(`${side} .verdict`).textContent(), /^[\d,]+ decisions\/s$/);
    }
  }));

test('rush above the limits is not sent', () =>
  withPage(async (page) => {
    await isLive(page);
    await page.getByLabel('Students').fill('501');
    await page.getByRole('button', { name: 'Start rush', exact: true }).click();
    const invalid = await page.locator('#rush input:invalid').getAttribute('name');
    assert.equal(invalid, 'students');
    assert.equal(await page.locator('#rushed').textContent(), '');
  }));

test('filter applies to old and new events', () =>
  withPage(async (page) => {
    await offerCourses(page);
    await enroll(page, 'Alan', 'Algorithms');
    await page.getByLabel('Type').fill('CourseOffered');
    await page.getByRole('button', { name: 'Filter' }).click();
    const types = () => page.locator('#log .type').allTextContents();
    await eventually('only offers are shown', async () => {
      const shown = await types();
      return shown.length >= 6 && shown.every((type) => type === 'CourseOffered');
    });

    await page.getByLabel('Type').fill('');
    await page.getByLabel('Tags').fill(await tagOf(page, 'Algorithms'));
    await page.keyboard.press('Enter');
    await eventually('the offer and the enrollment are shown', async () =>
      (await types()).join() === 'EnrollmentCompleted,CourseOffered');
    await enroll(page, 'Barbara', 'Linear Algebra');
    await enroll(page, 'Barbara', 'Algorithms');
    await eventually('only the matching enrollment is added', async () =>
      (await types()).join() === 'EnrollmentCompleted,EnrollmentCompleted,CourseOffered');
    await card(page, 'Linear Algebra').getByText('1 of 10 seats taken').waitFor();

    await page.locator('#log .tags', { hasText: 'student_id:barbara' }).last().click();
    await eventually('only events of one student are shown', async () => {
      const shown = await rows(page).allTextContents();
      return shown.length === 3 && shown.every((text) => text.includes('barbara-'));
    });
    await page.getByRole('button', { name: 'All events' }).click();
    await eventually('all events are shown', async () => (await types()).includes('DemoStarted'));
  }));

/** The course's tag, as the log's data list suggests it. */
async function tagOf(page, course) {
  const id = await page.locator('#enroll [name=course] option', { hasText: course }).getAttribute('value');
  return `course_id:${id}`;
}

test('invalid filter is explained and can be reset', () =>
  withPage(async (page) => {
    await isLive(page);
    await page.getByLabel('Type').fill('x'.repeat(256));
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('Invalid filter').waitFor();
    await page.getByRole('button', { name: 'All events' }).click();
    await isLive(page);
    assert.ok(await page.locator('#notice').isHidden());
  }, { expected: /400/ }));

test('log is limited, shows event data and can be paused', () =>
  withPage(async (page) => {
    await isLive(page);
    await page.getByLabel('Students').fill('200');
    await page.getByRole('button', { name: 'Start rush', exact: true }).click();
    await page.locator('#rushed', { hasText: '200 students' }).waitFor();
    await eventually('100 events are shown', async () => (await rows(page).count()) === 100);
    const first = () => rows(page).first().getAttribute('data-position');

    await page.getByRole('button', { name: 'Pause' }).click();
    await rows(page).first().locator('summary').click();
    await rows(page).first().locator('pre').getByText('"studentId"').waitFor();
    const before = await first();
    await offerCourses(page);
    await page.waitForTimeout(500);
    assert.equal(await first(), before);
    await page.getByRole('button', { name: 'Pause' }).click();
    await eventually('the log continues', async () => (await first()) !== before);
    assert.equal(await rows(page).count(), 100);
  }));

test('charts show the server metrics', () =>
  withPage(async (page) => {
    await isLive(page);
    for (const chart of ['Throughput', 'Latency']) {
      const lines = page.locator('figure', { hasText: chart }).locator('path.line');
      await eventually(`${chart} has points`, async () => {
        const drawn = await lines.evaluateAll((paths) => paths.map((path) => path.getAttribute('d')));
        return drawn.length >= 2 && drawn.some((d) => /^M[\d.]+ [\d.]+L[\d.]+ [\d.]+/.test(d));
      });
      const label = await page.locator('figure', { hasText: chart }).getByRole('img').getAttribute('aria-label');
      assert.match(label, /Now: .*\d/);
    }
  }));

test('page reconnects to a restarted server', async () => {
  let other = await startServer();
  try {
    await withPage(async (page) => {
      await offerCourses(page);
      await other.stop();
      await page.locator('#status[data-state=lost]').waitFor();
      other = await startServer({ port: other.port });
      await page.locator('#no-courses').waitFor({ timeout: 20_000 });
      await isLive(page);
      await offerCourses(page);
    }, { at: other, expected: /Failed to load resource|ERR_/ });
  } finally {
    await other.stop();
  }
});

test('page sends the token from its URL', async () => {
  const other = await startServer({ options: ['--require-token', '--token', 'a-token-for-tests'] });
  try {
    await withPage(async (page) => {
      await page.getByRole('alert').getByText('requires a token').waitFor();
    }, { at: other, expected: /401/ });
    await withPage(offerCourses, { at: other, path: '/?token=a-token-for-tests' });
  } finally {
    await other.stop();
  }
});

test('page explains that a namespace token gives no access', async () => {
  const options = ['--require-token', '--token', 'default-token', '--admin-token', 'admin-token'];
  const other = await startServer({ options });
  try {
    const call = { method: 'POST', body: '["ns.create","tenant"]' };
    const headers = { authorization: 'Bearer admin-token' };
    const created = await fetch(`${other.url}/rpc`, { ...call, headers });
    const { token } = await created.json();
    await withPage(async (page) => {
      await page.getByRole('alert').getByText('this token is for messages only').waitFor();
      assert.equal(await page.locator('#status').textContent(), 'not connected');
    }, { at: other, path: `/?token=${token}`, expected: /403/ });
  } finally {
    await other.stop();
  }
});

/** Appends events, each given as type, data and tags. */
async function append(at, ...events) {
  const body = JSON.stringify({
    events: events.map(([type, data, ...tags]) => ({ type, data, tags })),
  });
  const response = await fetch(`${at.url}/dcb/append`, { method: 'POST', body });
  assert.equal(response.status, 200);
}

test('unreadable events appear in the log and change nothing else', async () => {
  const other = await startServer();
  try {
    await withPage(async (page) => {
      await offerCourses(page);
      const id = await page.locator('#enroll [name=course] option').first().getAttribute('value');
      const student = await page.locator('#enroll [name=student] option').first().getAttribute('value');
      const seat = ['EnrollmentCompleted', '{}', `course_id:${id}`, `student_id:${student}`];
      await append(
        other,
        ['DemoStarted', '{"courses":[],"students":[]}'],
        ['CourseOffered', 'no JSON', 'course_id:x-dcb', 'category:Rush'],
        ['CourseOffered', 'null', 'course_id:x-dcb', 'category:Rush'],
        ['CourseOffered', '{"capacity":3}', 'course_id:x-constructor', 'category:Rush'],
        seat,
        seat,
        ['Last', '{}'],
      );
      await rows(page).first().getByText('Last').waitFor();
      assert.equal(await page.locator('#log .type').first().textContent(), 'Last');
      assert.equal(await rows(page).count(), 19 + 7);
      await card(page, 'Algorithms').getByText('2 of 12 seats taken').waitFor();
      assert.match(await option(page, 'student', 'Ada'), /1 of 3 courses/);

      for (const data of ['no JSON', '{"courses":7,"students":[]}', '{"courses":[{}],"students":[]}']) {
        await append(other, ['DemoStarted', data, 'demo:page']);
        await page.locator('#no-courses').waitFor();
        await offerCourses(page);
      }
    }, { at: other });
  } finally {
    await other.stop();
  }
});

test('huge course is shown with a limited number of seats', async () => {
  const other = await startServer();
  try {
    await withPage(async (page) => {
      await isLive(page);
      const course = { id: 'c', name: 'Endless', category: 'All', capacity: 4_000_000_000 };
      const data = JSON.stringify({ courses: [course], students: [] });
      await append(other, ['DemoStarted', data, 'demo:page']);
      for (const again of [false, true]) {
        if (again) await page.reload();
        await card(page, 'Endless').getByText('0 of 4,000,000,000 seats taken').waitFor();
        assert.ok(await page.locator('#courses .seats i').count() <= 1000);
      }
      await offerCourses(page);
    }, { at: other });
  } finally {
    await other.stop();
  }
});

test('filter set before the board is loaded waits for it', () =>
  withPage(async (page) => {
    await offerCourses(page);
    let go;
    const held = new Promise((resolve) => { go = resolve; });
    await page.route(/demo\/state/, async (route) => {
      await held;
      await route.continue();
    });
    await page.reload();
    const followed = page.waitForRequest(/dcb\/subscribe/);
    await page.getByLabel('Type').fill('DemoStarted');
    await page.keyboard.press('Enter');
    await page.waitForTimeout(200);
    go();
    const after = new URL((await followed).url()).searchParams.get('after');
    assert.ok(Number(after) > 0, `subscribed after ${after}`);
    await card(page, 'Logic').waitFor();
  }));

test('reduced motion disables animations', () =>
  withPage(async (page) => {
    await offerCourses(page);
    const seat = page.locator('.seats i').first();
    const duration = await seat.evaluate((element) => getComputedStyle(element).transitionDuration);
    assert.equal(duration, '0s');
  }, { window: { reducedMotion: 'reduce' } }));

for (const colorScheme of ['light', 'dark']) {
  for (const [width, height] of [[1280, 900], [390, 844]]) {
    test(`page fits ${width} pixels, ${colorScheme}`, () =>
      withPage(async (page) => {
        await offerCourses(page);
        for (const student of ['Ada', 'Edsger', 'John']) await enroll(page, student, 'Algorithms');
        await page.getByRole('button', { name: 'Start rush', exact: true }).click();
        await page.locator('#rushed', { hasText: '100 students' }).waitFor();
        await page.getByRole('button', { name: 'Decide', exact: true }).click();
        await page.locator('#sold', { hasText: '100 decisions' }).waitFor();
        await page.locator('#charts svg').last().waitFor();
        await eventually('the log is drawn', async () => (await rows(page).count()) === 100);
        await checkFit(page, `${width}-${colorScheme}`);
      }, { window: { viewport: { width, height }, colorScheme } }));
  }
}
