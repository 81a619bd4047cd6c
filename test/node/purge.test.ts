import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Caller } from '../../node/identity/caller.js';
import { memoryArchivePurge } from '../../node/operations/archive/archive.js';
import { memoryStore } from '../../node/operations/core/memory-store.js';
import type { Services } from '../../node/pipeline/call.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { REMOVE_BATCH_MAX } from '../../protocol/base/limits.js';
import type { Store } from '../../storage/port.js';
import { openTestNode } from '../support/test-node.js';

const HOUR_MS = 3_600_000;
const caller: Caller = {
  agentId: 'ai:operator',
  claimed: 'explicit',
  viewer: { all: true, agentId: null, asNamespace: null },
  admin: false,
  local: true,
};

const ask = (operation: typeof memoryStore | typeof memoryArchivePurge, input: object, services: Services) =>
  runOperation(operation, { surface: 'cli', caller, input: { ...input }, unknownFields: 'refuse' }, services);

async function archive(services: Services, titles: readonly string[]): Promise<void> {
  const ids: string[] = [];
  for (const title of titles) {
    const stored = await ask(memoryStore, { title, content: 'x' }, services);
    assert.ok(stored.ok);
    ids.push(String(stored.value['id']));
  }
  const result = await services.store.execute({
    kind: 'archive-memories',
    ids,
    reason: 'archive',
    viewer: caller.viewer,
  });
  assert.ok(result.ok);
}

const titlesFrom = (count: number) => Array.from({ length: count }, (_, n) => `row ${n}`);

describe('a purge without an age', () => {
  it('leaves what is archived while it runs', async () => {
    const { services, close } = await openTestNode();
    await archive(services, titlesFrom(REMOVE_BATCH_MAX + 1));
    const { store } = services;
    let batches = 0;
    const busy = new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name !== 'execute') return target[name].bind(target);
        return async (...given: Parameters<Store['execute']>) => {
          const result = await target.execute(...given);
          if (given[0].kind === 'purge-archive') {
            batches += 1;
            await archive(services, [`meanwhile ${batches}`]);
          }
          return result;
        };
      },
    });
    const purged = await ask(memoryArchivePurge, {}, { ...services, store: busy });
    assert.deepEqual(purged, { ok: true, value: { purged: REMOVE_BATCH_MAX + 1, owner_scope: 'admin' } });
    assert.equal(batches, 2);
    const left = await store.query({
      kind: 'list-archive',
      namespace: null,
      viewer: caller.viewer,
      limit: 10,
      offset: 0,
    });
    assert.ok(left.ok);
    assert.deepEqual(left.value.archived.map(({ memory }) => memory.title).sort(), [
      'meanwhile 1',
      'meanwhile 2',
    ]);
    await close();
  });

  it('takes what a clock that was set back has dated later than now', async () => {
    const { services, close } = await openTestNode();
    await archive(services, ['from the future']);
    const clock = { ...services.clock, nowMs: () => services.clock.nowMs() - HOUR_MS };
    const purged = await ask(memoryArchivePurge, {}, { ...services, clock });
    assert.deepEqual(purged, { ok: true, value: { purged: 1, owner_scope: 'admin' } });
    await close();
  });
});
