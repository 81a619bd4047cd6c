import assert from 'node:assert/strict';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';

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
 * Kills a daemon with SIGKILL at random moments while eight clients write to it, restarts it on the same file, and
 * checks after every kill that each acknowledged write is there and that rows and log agree.
 */
export async function killCycles(kills: number, onKill?: (done: number) => void): Promise<KillReport> {
  const home = temporaryFolder('crash');
  const db = join(home, 'mnemesh.db');
  const acknowledged: Acknowledged = { stored: new Map(), deleted: new Set(), deleting: new Set() };
  let number = 0;
  for (let kill = 1; kill <= kills; kill += 1) {
    const daemon = await startDaemonProcess(home, await freePort());
    let running = true;
    const writers = Array.from({ length: WRITERS }, async (_, writer) => {
      while (running) {
        number += 1;
        await writeOne(daemon.base, `writer ${writer} row ${number}`, acknowledged);
      }
    });
    await new Promise((resume) => setTimeout(resume, 30 + Math.random() * 300));
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

async function writeOne(base: string, title: string, acknowledged: Acknowledged): Promise<void> {
  const content = `${title} content ${Math.random()}`;
  try {
    const response = await fetch(`${base}/memories`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:crash' },
      body: JSON.stringify({ title, content }),
    });
    if (response.status !== 201) return;
    const { id } = (await response.json()) as { id: string };
    acknowledged.stored.set(id, content);
    if (Math.random() > 0.1) return;
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
  const db = new Database(path, { readonly: true });
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
