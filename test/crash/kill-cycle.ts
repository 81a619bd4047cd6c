import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Dice } from '../sim/dice.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { underSeed } from '../support/seed.js';
import { openBeside } from '../support/test-store.js';

const WRITERS = 8;

interface Acknowledged {
  /** Ids whose store was acknowledged, with the content that was. */
  readonly stored: Map<string, string>;
  /** Ids whose delete was acknowledged. */
  readonly deleted: Set<string>;
  /** Deletes that were sent; the outcome of those without an answer is unknown. */
  readonly deleting: Set<string>;
}

export interface KillReport {
  readonly kills: number;
  readonly acknowledged: number;
  readonly deleted: number;
}

/**
 * Kills a daemon with SIGKILL at drawn moments while eight clients write to it, restarts it on the same file, and
 * checks after every kill that each acknowledged write is there and that rows and log agree. The delays and what each
 * client does follow from the seed; how far a real process comes within a delay does not.
 */
export const killCycles = (kills: number, onKill?: (done: number) => void): Promise<KillReport> =>
  underSeed((seed) => killsUnder(seed, kills, onKill));

async function killsUnder(seed: number, kills: number, onKill?: (done: number) => void): Promise<KillReport> {
  const home = temporaryFolder('crash');
  const db = join(home, 'mnemesh.db');
  const acknowledged: Acknowledged = { stored: new Map(), deleted: new Set(), deleting: new Set() };
  for (let kill = 1; kill <= kills; kill += 1) {
    const daemon = await startDaemonProcess(home, await freePort());
    let running = true;
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      const dice = new Dice(seed, `kill ${kill} writer ${writer}`);
      for (let row = 1; running; row += 1) {
        const title = `kill ${kill} writer ${writer} row ${row}`;
        await writeOne(daemon.base, title, dice.chance(0.1), acknowledged);
      }
    });
    const delayMs = new Dice(seed, `kill ${kill}`).between(30, 330);
    await new Promise((resume) => setTimeout(resume, delayMs));
    await daemon.end('SIGKILL');
    running = false;
    await Promise.all(writers);
    verify(db, acknowledged);
    onKill?.(kill);
  }
  // What survived is served, and the node still ends in good order.
  const last = await startDaemonProcess(home, await freePort());
  for (const [id, content] of [...acknowledged.stored].slice(-20)) {
    if (acknowledged.deleting.has(id)) continue;
    const response = await fetch(`${last.base}/memories/${id}`);
    const { memory } = (await response.json()) as { memory: { content: string } };
    assert.equal(memory.content, content);
  }
  assert.equal(await last.end('SIGTERM'), 0, last.errors());
  return { kills, acknowledged: acknowledged.stored.size, deleted: acknowledged.deleted.size };
}

/** Stores one memory, and deletes it again where that was drawn. */
async function writeOne(
  base: string,
  title: string,
  andDelete: boolean,
  acknowledged: Acknowledged,
): Promise<void> {
  const content = `content of ${title}`;
  try {
    const response = await fetch(`${base}/memories`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:crash' },
      body: JSON.stringify({ title, content }),
    });
    if (response.status !== 201) return;
    const { id } = (await response.json()) as { id: string };
    acknowledged.stored.set(id, content);
    if (!andDelete) return;
    acknowledged.deleting.add(id);
    const removal = await fetch(`${base}/memories/${id}`, {
      method: 'DELETE',
      headers: { 'x-agent-id': 'ai:crash' },
    });
    if (removal.status === 200) acknowledged.deleted.add(id);
  } catch {
    // The daemon was killed before it answered: the outcome is unknown, and nothing was promised.
  }
}

function verify(path: string, acknowledged: Acknowledged): void {
  assert.deepEqual(auditLog(path), []);
  const db = openBeside({ path });
  try {
    const read = db.prepare<[string], { content: string }>('SELECT content FROM memories WHERE id = ?');
    for (const [id, content] of acknowledged.stored) {
      const row = read.get(id);
      if (acknowledged.deleted.has(id)) assert.equal(row, undefined, `deleted row ${id} is back`);
      else if (!acknowledged.deleting.has(id)) assert.equal(row?.content, content, `row ${id} is lost`);
    }
  } finally {
    db.close();
  }
}
