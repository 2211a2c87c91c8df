// The browser of the tests in a file, and a server beside it.

import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before } from 'node:test';

import { chromium } from 'playwright-core';

import { startServer } from './server.js';

const FLAGS = [
  '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
];

/** The server of most tests. */
export let server;
let browser;

before(async () => {
  server = await startServer();
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
  browser = await chromium.launch({ executablePath, args: FLAGS });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/**
 * Runs `check` on the page in a new window. Fails on unexpected errors in the console and on requests
 * to other servers.
 */
export async function withPage(check, { at = server, path = '/', window = {}, expected = /^$/ } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...window });
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  const problems = [];
  const note = (problem) => expected.test(problem) || problems.push(problem);
  page.on('console', (message) => message.type() === 'error' && note(message.text()));
  page.on('pageerror', (failed) => note(String(failed)));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== at.url) problems.push(`a request to ${request.url()}`);
  });
  try {
    await page.goto(at.url + path);
    await check(page, context);
    assert.deepEqual(problems, []);
  } finally {
    await context.close();
  }
}

/** Repeats a check for up to 10 seconds. */
export async function eventually(description, check) {
  const deadline = Date.now() + 10_000;
  for (;;) {
    if (await check()) return;
    assert.ok(Date.now() < deadline, description);
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

/** The page is not wider than the window. With SCREENSHOTS=folder, saves a picture under this name. */
export async function checkFit(page, name) {
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(excess <= 0, `the page is ${excess} pixels too wide`);
  if (process.env.SCREENSHOTS) {
    await mkdir(process.env.SCREENSHOTS, { recursive: true });
    const path = join(process.env.SCREENSHOTS, `${name}.png`);
    await page.screenshot({ path, fullPage: true });
  }
}
