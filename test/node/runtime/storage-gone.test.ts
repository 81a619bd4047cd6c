import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { cleanEnvironment, freePort, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { event } from '../../support/wait.js';

it('ends with exit code 70 and a reason, promptly, when its storage threads cannot be started', async () => {
  const home = temporaryFolder('storage-gone');
  const preload = join(home, 'preload.mjs');
  // Threads inherit the preload and fail; the main thread does not.
  writeFileSync(
    preload,
    `import { isMainThread } from 'node:worker_threads'; if (!isMainThread) throw new Error('no thread today');`,
  );
  const begun = performance.now();
  const child = spawn(
    process.execPath,
    ['--import', preload, MAIN, 'serve', '--port', String(await freePort())],
    {
      env: cleanEnvironment(home),
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [code] = await event('the daemon ends', child, 'exit', { withinMs: 60_000 });
  assert.equal(code, 70, errors);
  assert.match(errors, /no thread today/);
  assert.ok(performance.now() - begun < 20_000);
});
