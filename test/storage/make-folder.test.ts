import assert from 'node:assert/strict';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { makeFolder } from '../../storage/make-folder.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { event } from '../support/wait.js';

it('makes folders at once with others, and names what is no folder', async () => {
  const home = temporaryFolder('make-folder');
  try {
    const module = new URL('../../storage/make-folder.js', import.meta.url).href;
    const gate = new SharedArrayBuffer(4);
    const source = `
      const { workerData, parentPort } = require('node:worker_threads');
      import(${JSON.stringify(module)}).then(({ makeFolder }) => {
        parentPort.postMessage('ready');
        Atomics.wait(new Int32Array(workerData.gate), 0, 0);
        for (let n = 0; n < 300; n += 1) makeFolder(workerData.home + '/' + n + '/a/b/c');
      });`;
    const workers = Array.from(
      { length: 4 },
      () => new Worker(source, { eval: true, workerData: { home, gate } }),
    );
    const ended = workers.map((worker) => event('a thread ends', worker, 'exit').then(([code]) => code));
    await Promise.all(workers.map((worker) => event('a thread is ready', worker, 'message')));
    Atomics.store(new Int32Array(gate), 0, 1);
    Atomics.notify(new Int32Array(gate), 0);
    assert.deepEqual(await Promise.all(ended), [0, 0, 0, 0]);
    assert.equal(statSync(join(home, '299/a/b/c')).mode & 0o777, 0o700);
    writeFileSync(join(home, 'file'), '');
    assert.throws(() => makeFolder(join(home, 'file')), /EEXIST/);
    assert.throws(() => makeFolder(join(home, 'file/below')), /ENOTDIR/);
    assert.throws(() => makeFolder('/proc/none/below'), /ENOENT/);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});
