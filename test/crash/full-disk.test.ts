// Runs alone: it fills a disk.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { smallDisk } from '../support/small-disk.js';

it('answers a full disk with a clear error, loses nothing, and goes on when there is space', async (context) => {
  const home = temporaryFolder('full-disk');
  const disk = join(home, 'disk');
  const unmount = smallDisk(disk, 6);
  if (unmount === null) {
    context.skip('mounting a small disk takes privileges that this run does not have');
    return;
  }
  try {
    const db = join(disk, 'mnemesh.db');
    const ballast = join(disk, 'ballast');
    writeFileSync(ballast, Buffer.alloc(2 * 1024 * 1024));
    const daemon = await startDaemonProcess(home, await freePort(), {}, ['--db', db]);
    const store = async (n: number) => {
      const response = await fetch(`${daemon.base}/memories`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:disk' },
        body: JSON.stringify({ title: `row ${n}`, content: `${n} `.repeat(2000) }),
      });
      return { status: response.status, body: (await response.json()) as { id?: string; code?: string } };
    };
    const kept: string[] = [];
    let n = 0;
    let refusal: Awaited<ReturnType<typeof store>> | null = null;
    while (refusal === null && n < 5000) {
      n += 1;
      const answer = await store(n);
      if (answer.status === 201) kept.push(answer.body.id!);
      else refusal = answer;
    }
    assert.equal(refusal?.status, 507);
    assert.equal(refusal?.body.code, 'STORAGE_FULL');
    assert.ok(kept.length > 10);
    for (const id of kept) {
      assert.equal((await fetch(`${daemon.base}/memories/${id}`)).status, 200, `row ${id} is readable`);
    }
    rmSync(ballast);
    const after = await store(n + 1);
    assert.equal(after.status, 201, JSON.stringify(after));
    kept.push(after.body.id!);
    // What the write-ahead log took of the disk is given back: as much again would not fit beside it.
    await new Promise((resume) => setTimeout(resume, 1100));
    const more = Math.floor(kept.length / 2);
    for (let each = 0; each < more; each += 1)
      assert.equal((await store(n + 2 + each)).status, 201, `${each} of ${more}`);
    assert.equal(await daemon.end('SIGTERM'), 0, daemon.errors());
    assert.deepEqual(auditLog(db), []);
  } finally {
    unmount();
  }
});
