// Starts servers for the tests.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Starts the executable in DEMO_SERVER, in test mode and in memory. */
export async function startServer({ port = 0, options = [] } = {}) {
  const { DATABASE_URL, ...env } = process.env;
  const child = spawn(
    process.env.DEMO_SERVER,
    ['--test-mode', '--port', String(port), ...options],
    { env, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const greeting = createInterface({ input: child.stdout });
  const [url] = await Promise.race([
    once(greeting, 'line'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the server ended with ${code}`);
    }),
  ]);
  const stop = async () => {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  };
  return { url, port: Number(new URL(url).port), stop };
}
