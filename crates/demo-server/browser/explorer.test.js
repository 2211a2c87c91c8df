// Tests of the explorer in a browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startServer } from './server.js';
import { checkFit, eventually, server, withPage } from './window.js';

const post = async (at, path, body, token) => {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(at.url + path, { method: 'POST', body: JSON.stringify(body), headers });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
};

let courses = 0;

/** Appends events about a course of its own, and returns its tag and the first position. */
async function appendEvents(number, at = server, token) {
  courses += 1;
  const tag = `course_id:c${courses}`;
  const event = (index) => ({
    type: index === 0 ? 'CourseOffered' : 'EnrollmentCompleted',
    data: JSON.stringify({ seats: index, note: '<b>not HTML</b>' }),
    tags: [tag, `student_id:s${index}`],
  });
  const events = Array.from({ length: number }, (_, index) => event(index));
  const { firstPosition } = await post(at, '/dcb/append', { events }, token);
  return { tag, first: firstPosition };
}

const rows = (page) => page.locator('#log > li');
const positions = async (page) => (await page.locator('#log .position').allTextContents()).map(Number);

async function filter(page, fields) {
  await page.getByRole('button', { name: 'All events' }).click();
  for (const [name, value] of Object.entries(fields)) {
    const field = page.locator(`#filter [name=${name}]`);
    if (name === 'order') await field.selectOption(value);
    else await field.fill(value);
  }
  await page.getByRole('button', { name: 'Show', exact: true }).first().click();
}

const found = (page, text) => page.locator('#found').getByText(text, { exact: true }).waitFor();

test('events are shown newest first, page by page', async () => {
  const { tag, first } = await appendEvents(120);
  await withPage(async (page) => {
    await filter(page, { tags: tag });
    await found(page, '50 events, and more');
    for (const text of ['100 events, and more', '120 events']) {
      await page.getByRole('button', { name: 'More', exact: true }).click();
      await found(page, text);
    }
    const expected = Array.from({ length: 120 }, (_, index) => first + 119 - index);
    assert.deepEqual(await positions(page), expected);
    assert.ok(await page.locator('#more').isHidden());
  }, { path: '/explorer/' });
});

test('events are found by type, tag, position and time', async () => {
  const { tag, first } = await appendEvents(5);
  await withPage(async (page) => {
    await filter(page, { tags: tag, order: 'oldest' });
    await found(page, '5 events');
    assert.deepEqual(await positions(page), [0, 1, 2, 3, 4].map((index) => first + index));
    await filter(page, { type: 'CourseOffered', tags: tag });
    await found(page, '1 event');
    await filter(page, { tags: tag, from: String(first + 2) });
    await found(page, '3 events');
    assert.deepEqual(await positions(page), [first + 2, first + 1, first]);
    await filter(page, { tags: tag, time: '2001-01-01T00:00:00' });
    await found(page, 'No event matches.');
    await filter(page, { tags: tag, time: '2001-01-01T00:00:00', order: 'oldest' });
    await found(page, '5 events');
    await filter(page, { tags: tag, time: '9000-01-01T00:00:00', order: 'oldest' });
    await found(page, 'No event matches.');
    await filter(page, { tags: tag, time: '9000-01-01T00:00:00' });
    await found(page, '5 events');
    // A click on a tag shows the events that have it.
    await rows(page).first().getByRole('button', { name: 'student_id:s4' }).click();
    await eventually('the tag is in the filter', async () =>
      (await page.locator('#filter [name=tags]').inputValue()) === 'student_id:s4');
    await page.getByText('<b>not HTML</b>').first().waitFor();
    assert.equal(await page.locator('#log b').count(), 0, 'data is text');
  }, { path: '/explorer/' });
});

test('a search by time finds the first event after a pause', async () => {
  const other = await startServer();
  try {
    await appendEvents(30, other);
    await new Promise((wake) => setTimeout(wake, 1100));
    const { first } = await appendEvents(30, other);
    const query = new URLSearchParams({
      query: '{"items":[]}', options: JSON.stringify({ from: first, limit: 1 }),
    });
    const [event] = await (await fetch(`${other.url}/dcb/read?${query}`)).json();
    await withPage(async (page) => {
      // The field takes the time of the browser's zone, which is UTC here.
      await filter(page, { time: event.recordedAt.slice(0, 19), order: 'oldest' });
      await found(page, '30 events');
      assert.equal((await positions(page))[0], first);
    }, { at: other, path: '/explorer/', window: { timezoneId: 'UTC' } });
  } finally {
    await other.stop();
  }
});

test('the event is shown because of which an append was refused', async () => {
  const { tag, first } = await appendEvents(3);
  const offered = { type: 'CourseOffered', data: '{}', tags: [tag] };
  const failIfEventsMatch = { items: [{ types: ['CourseOffered'], tags: [tag] }] };
  const refused = await post(server, '/dcb/append', { events: offered, condition: { failIfEventsMatch } });
  assert.equal(refused.appendConditionFailed, true);
  await withPage(async (page) => {
    const look = async (after) => {
      for (const [name, value] of [['types', 'CourseOffered'], ['tags', tag], ['after', String(after)]]) {
        await page.locator(`#condition [name=${name}]`).fill(value);
      }
      await page.getByRole('button', { name: 'Look for the conflict' }).click();
    };
    await look(0);
    await page.getByText(`Refused: the event at position ${first} matches.`).waitFor();
    assert.match(await page.locator('#conflict li').textContent(), /CourseOffered/);
    await look(first);
    await page.getByText('Not refused: no event matches after this position.').waitFor();
    assert.equal(await page.locator('#conflict li').count(), 0);
  }, { path: '/explorer/' });
});

/** Fills in the form of states and sends it. */
async function askState(page, { name = 'course', key, at = '' }) {
  await page.getByLabel('Projection').selectOption(name);
  await page.getByLabel('Key').fill(key);
  await page.getByLabel('At position', { exact: true }).fill(String(at));
  await page.getByRole('button', { name: 'Show the state' }).click();
}

test('the state at a position is shown, and moved event by event', async () => {
  courses += 1;
  const [course, other] = [`c${courses}`, `c${courses}-other`];
  const event = (type, id, data) => ({ type, data: JSON.stringify(data), tags: [`course_id:${id}`] });
  const offered = {
    id: course, name: 'Logic', instructor: 'Ada', capacity: 30, category: 'Philosophy', popularity: 0.5,
  };
  const taken = (id) => event('EnrollmentCompleted', id, {});
  const events = [event('CourseOffered', course, offered), taken(course), taken(other), taken(course), taken(other)];
  const { firstPosition: first } = await post(server, '/dcb/append', { events });
  await withPage(async (page) => {
    const state = async (position, count, last, capacity, seatsTaken) => {
      const text = `At position ${position}, from ${count} event${count === 1 ? '' : 's'}`
        + `${last ? `, the last at position ${last}` : ''}.`;
      await page.locator('#state-of').getByText(text, { exact: true }).waitFor();
      const json = JSON.parse(await page.locator('#state-json').textContent());
      assert.deepEqual(json, { capacity, seatsTaken });
    };
    const earlier = page.getByRole('button', { name: 'Before this event' });
    const later = page.getByRole('button', { name: 'After the next event' });
    await askState(page, { key: course, at: first + 4 });
    await state(first + 4, 3, first + 3, 30, 2);
    assert.ok(await later.isDisabled());
    await earlier.click();
    await state(first + 2, 2, first + 1, 30, 1);
    await earlier.click();
    await state(first, 1, first, 30, 0);
    await earlier.click();
    await state(first - 1, 0, 0, null, 0);
    assert.ok(await earlier.isDisabled());
    await later.click();
    await state(first, 1, first, 30, 0);
    // Changes in the form do not change what the buttons move.
    await page.getByLabel('Key').fill(other);
    await later.click();
    await state(first + 1, 2, first + 1, 30, 1);
    await askState(page, { name: 'student', key: 'nobody' });
    await eventually('the state of nobody', async () =>
      /"coursesTaken": 0/.test(await page.locator('#state-json').textContent()));
    await askState(page, { key: course, at: 1_000_000_000 });
    await page.getByRole('alert').getByText('is beyond the head').waitFor();
    assert.ok(await page.locator('#state').isHidden());
  }, { path: '/explorer/', expected: /409/ });
});

test('categories, streams and their messages are shown', async () => {
  for (let index = 0; index < 60; index += 1) {
    await post(server, '/rpc', ['stream.write', 'order-7', { type: 'Placed', data: { index } }]);
  }
  await post(server, '/rpc', ['stream.write', 'account-1', { type: 'Opened', data: null }]);
  await withPage(async (page) => {
    await page.getByRole('row', { name: 'order 1 60' }).waitFor();
    await page.getByRole('button', { name: 'order', exact: true }).click();
    await eventually('one stream', async () => (await page.locator('#streams tr').count()) === 1);
    await page.getByRole('button', { name: 'order-7' }).click();
    const messages = page.locator('#stream > li');
    await eventually('a page of messages', async () => (await messages.count()) === 50);
    assert.equal(await messages.first().locator('.position').textContent(), '59');
    await page.locator('#more-messages').click();
    await eventually('all messages', async () => (await messages.count()) === 60);
    assert.ok(await page.locator('#more-messages').isHidden());
    assert.match(await messages.last().textContent(), /Placed.*"index":0/);
  }, { path: '/explorer/#messages' });
});

test('series are drawn with the samples of this second', async () => {
  await withPage(async (page) => {
    await page.getByText(/names? of series\./).waitFor();
    await page.getByLabel('PromQL').fill('opened');
    const timestamp = Math.floor(Date.now() / 1000) * 1000 + 999;
    await page.clock.setFixedTime(timestamp);
    await post(server, '/series/write', { metric: 'opened', timestamp, value: 7 });
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByText('1 series.').waitFor();
    assert.match(await page.locator('#legend').textContent(), /opened\s*7/);
    assert.match(await page.locator('#chart path').getAttribute('d'), /^M[\d. ]+/);
    await page.getByLabel('PromQL').fill('opened[');
    await page.getByRole('button', { name: 'Draw' }).click();
    await page.getByRole('alert').getByText(/The store refuses/).waitFor();
  }, { path: '/explorer/#series', expected: /400/ });
});

test('the page needs a token where the server does, and sends nothing but reads', async () => {
  const token = 'a-token-for-tests';
  const other = await startServer({ options: ['--require-token', '--token', token] });
  try {
    await appendEvents(1, other, token);
    await withPage(async (page) => {
      await page.getByRole('alert').getByText('A token is needed').waitFor();
    }, { at: other, path: '/explorer/', expected: /401/ });
    await withPage(async (page) => {
      const written = [];
      page.on('request', (request) => {
        const body = request.postData() ?? '';
        if (request.method() !== 'GET' && !/^\["(ns\.(categories|checkpoints|streams)|stream\.get)"/.test(body)) {
          written.push(`${request.method()} ${request.url()} ${body}`);
        }
      });
      await found(page, '1 event');
      for (const store of ['Messages', 'Series', 'Events']) {
        await page.getByRole('link', { name: store }).click();
        await page.getByRole('heading', { name: store, level: 2 }).waitFor();
      }
      await page.waitForLoadState('networkidle');
      assert.ok(await page.getByRole('alert').isHidden());
      assert.deepEqual(written, []);
    }, { at: other, path: `/explorer?token=${token}` });
  } finally {
    await other.stop();
  }
});

for (const colorScheme of ['light', 'dark']) {
  for (const [width, height] of [[1280, 900], [390, 844]]) {
    test(`explorer fits ${width} pixels, ${colorScheme}`, async () => {
      const { tag } = await appendEvents(8);
      await post(server, '/rpc', ['stream.write', 'account-1', { type: 'Opened', data: { owner: 'Ada' } }]);
      await withPage(async (page) => {
        await filter(page, { tags: tag });
        await found(page, '8 events');
        await page.locator('#log details.more').first().click();
        await askState(page, { name: 'student', key: 's7' });
        await page.locator('#state').waitFor();
        await checkFit(page, `explorer-events-${width}-${colorScheme}`);
        await page.getByRole('link', { name: 'Messages' }).click();
        await page.getByRole('button', { name: 'account-1' }).click();
        await page.locator('#stream > li').first().waitFor();
        await checkFit(page, `explorer-messages-${width}-${colorScheme}`);
        await page.getByRole('link', { name: 'Series' }).click();
        await page.getByLabel('PromQL').fill('{__name__=~".+"}');
        await page.getByRole('button', { name: 'Draw' }).click();
        await page.locator('#chart svg').waitFor();
        await checkFit(page, `explorer-series-${width}-${colorScheme}`);
      }, { path: '/explorer/', window: { viewport: { width, height }, colorScheme } });
    });
  }
}
