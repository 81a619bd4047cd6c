// Runs alone: it fills a disk.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { smallDisk } from '../../support/small-disk.js';
import { ClientHistory } from './client-history.js';
import { assertKept } from './fault-run.js';
import { ProcessMesh } from './process-mesh.js';

const BALLAST_BYTES = 6 * 1024 * 1024;
const PADDING = 30_000;

it('goes on beside a node whose disk is full, which catches up when there is space', async (context) => {
  const disk = temporaryFolder('mesh-disk');
  const unmount = smallDisk(disk, 16);
  if (unmount === null) {
    context.skip('mounting a small disk takes privileges that this run does not have');
    return;
  }
  const ballast = join(disk, 'ballast');
  writeFileSync(ballast, Buffer.alloc(BALLAST_BYTES));
  let mesh: ProcessMesh | null = null;
  try {
    mesh = await ProcessMesh.form(3, { 2: { db: join(disk, 'mnemesh.db') } });
    const [first, second, full] = mesh.nodes;
    const history = new ClientHistory();
    const outcomes: string[] = [];
    for (let n = 0; outcomes.at(-1) !== 'refused'; n += 1) {
      assert.ok(n < 600, 'the disk does not become full');
      const row = await history.store(full!, `filling ${n}`, PADDING);
      outcomes.push(row.edits[0]!.outcome);
    }
    assert.ok(outcomes.length > 20, `only ${outcomes.length} writes until the disk was full`);
    // Nobody waits for it: the two others are enough.
    for (let n = 0; n < 60; n += 1) {
      const row = await history.store(n % 2 === 0 ? first! : second!, `beside ${n}`, PADDING);
      assert.equal(row.edits[0]!.outcome, 'replicated', `write ${n}`);
    }
    assert.equal((await fetch(`${full!.base}/health`)).status, 200, 'a full node still answers');
    rmSync(ballast);
    const tookMs = await mesh.drain(30_000);
    assertKept(mesh, history);
    context.diagnostic(`drained in ${tookMs} ms: ${JSON.stringify(history.tally)}`);
    const again = await history.store(full!, 'with space again');
    assert.equal(again.edits[0]!.outcome, 'replicated');
    await mesh.end();
  } finally {
    await mesh?.close();
    unmount();
  }
});
