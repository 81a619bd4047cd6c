import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { run } from '../surface/cli/cli-process.js';

type Body = Record<string, unknown>;
const UNDOERS = 6;

describe('undo-edit from several processes at once', { timeout: 120_000 }, () => {
  it('happens one after the other: each takes back what the one before did', async () => {
    const home = temporaryFolder('undo-race');
    const stored = await run(home, ['store', '-T', 'plan', '-c', 'first', '--json']);
    const { id } = JSON.parse(stored.out) as { id: string };
    assert.equal((await run(home, ['update', id, '-c', 'second'])).code, 0);
    const answers = await Promise.all(
      Array.from({ length: UNDOERS }, () => run(home, ['undo-edit', id, '--json'])),
    );
    for (const { code, err } of answers) assert.equal(code, 0, err);
    const got = await run(home, ['get', id, '--json']);
    const { memory } = JSON.parse(got.out) as { memory: { version: number; content: string } };
    assert.deepEqual([memory.version, memory.content], [2 + UNDOERS, 'second'], 'an even number of undoings');
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });

  it('beside edits, renames and a taken title of a running node, loses nothing and mixes no two edits', async () => {
    const home = temporaryFolder('undo-race-http');
    const daemon = await startDaemonProcess(home, await freePort());
    const ask = async (method: string, path: string, body?: Body) => {
      const response = await fetch(`${daemon.base}${path}`, {
        method,
        headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:racer' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return { status: response.status, body: (await response.json()) as Body };
    };
    try {
      const { body } = await ask('POST', '/memories', { title: 'edit 0', content: 'text 0' });
      const id = String(body['id']);
      let changes = 0;
      const editing = (async () => {
        for (let n = 1; n <= 40; n += 1) {
          // The title and the text of one edit belong together.
          const edited = await ask('PUT', `/memories/${id}`, { title: `edit ${n}`, content: `text ${n}` });
          assert.equal(edited.status, 200, JSON.stringify(edited.body));
          changes += 1;
          // Whoever takes the old title stands in the way of the undoing.
          if (n % 10 === 0) await ask('POST', '/memories', { title: `edit ${n - 1}`, content: 'taken' });
        }
      })();
      const undoing = Array.from({ length: 2 }, async () => {
        for (let n = 0; n < 4; n += 1) {
          const { code, err } = await run(home, ['undo-edit', id, '--json']);
          if (code === 0) changes += 1;
          else {
            const refusal = (JSON.parse(err) as { code: string }).code;
            assert.ok(['CONFLICT', 'NOT_FOUND', 'VERSION_CONFLICT'].includes(refusal), err);
          }
        }
      });
      await Promise.all([editing, ...undoing]);
      const { body: got } = await ask('GET', `/memories/${id}`);
      const memory = got['memory'] as { version: number; title: string; content: string };
      assert.equal(memory.version, 1 + changes, 'each success is a version, each refusal none');
      assert.equal(memory.content, memory.title.replace('edit', 'text'));
    } finally {
      assert.equal(await daemon.end('SIGTERM'), 0, daemon.errors());
    }
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });
});
