import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { describe, it } from 'node:test';
import { memoryStore } from '../../../node/operations/core/memory-store.js';
import type { Services } from '../../../node/pipeline/call.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { startDaemon } from '../../../node/runtime/daemon.js';
import { openInlineNode } from '../../../node/runtime/inline-node.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { OPERATOR } from '../../support/memories.js';
import { onPostgres } from '../../support/test-store.js';
import { until } from '../../support/wait.js';
import { ask, BesideDatabase, settingsFor } from './support.js';

const caller = {
  agentId: 'ai:me',
  claimed: 'explicit',
  viewer: OPERATOR,
  admin: false,
  local: true,
} as const;

/** Stores memories one after the other, with the pause that follows each commit; answers the id of the last. */
async function storeSome(services: Services, surface: 'mcp' | 'cli', count: number): Promise<string> {
  let id = '';
  for (let n = 0; n < count; n += 1) {
    const input = { title: `t${n}`, content: 'c' };
    const request = { surface, caller, input, unknownFields: 'refuse' } as const;
    const stored = await runOperation(memoryStore, request, services);
    assert.ok(stored.ok);
    id = stored.value['id'] as string;
  }
  return id;
}

describe('an MCP process', () => {
  it('owns the database while it is alone, a second does not, a daemon takes over, and each gives it back', async () => {
    const home = temporaryFolder('inline');
    const settings = settingsFor(home);
    const first = await openInlineNode(settings, 'mcp');
    const beside = new BesideDatabase(home);
    await until('the first owns it', () => beside.livingRole() === 'mcp');
    const alone = beside.owner()!;
    assert.match(alone.holder, new RegExp(`^mcp:${process.pid}:`));
    assert.equal(alone.fencing, 1);

    const second = await openInlineNode(settings, 'mcp');
    // By then its first claim has been written or refused: it was due before the second of these.
    const id = await storeSome(second.services, 'mcp', 5);
    assert.equal(beside.owner()!.holder, alone.holder);
    await second.close();
    assert.equal(beside.owner()!.holder, alone.holder, 'who does not own it cannot give it back');
    assert.equal(beside.livingRole(), 'mcp');

    const daemon = await startDaemon(settings);
    await until('the daemon owns it', () => beside.livingRole() === 'daemon');
    assert.equal(beside.owner()!.fencing, 2);
    const read = await ask(daemon.address.port, 'GET', `/memories/${id}`);
    assert.equal(read.status, 200, 'what an MCP process wrote, the daemon serves');
    await first.close();
    assert.equal(beside.livingRole(), 'daemon');
    await daemon.stop();
    assert.equal(beside.livingRole(), null);
    assert.equal(beside.owner()!.fencing, 2);
    beside.close();
  });

  it('writes its touches when it closes', async () => {
    const home = temporaryFolder('inline');
    const node = await openInlineNode(settingsFor(home), 'mcp');
    const id = await storeSome(node.services, 'mcp', 1);
    node.services.touches.touch([id, id], '2026-01-01T00:00:00.000Z');
    await node.close();
    const beside = new BesideDatabase(home);
    assert.equal(beside.accessCount(id), 2);
    beside.close();
    assert.deepEqual(
      readdirSync(home).filter((name) => name.endsWith('.sock')),
      [],
    );
  });
});

describe('a one-shot command', () => {
  it('never owns the database', async () => {
    const home = temporaryFolder('inline');
    const node = await openInlineNode(settingsFor(home), 'cli');
    await storeSome(node.services, 'cli', 5);
    const beside = new BesideDatabase(home);
    assert.equal(beside.owner(), null);
    beside.close();
    await node.close();
    assert.ok(onPostgres || existsSync(settingsFor(home).dbPath));
  });
});
