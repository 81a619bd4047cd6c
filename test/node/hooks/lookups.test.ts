import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { HOOK_LOOKUPS_AT_ONCE } from '../../../actors/hooks/limits.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import type { ErrorCode } from '../../../protocol/base/errors.js';
import { fail, type Result } from '../../../protocol/base/result.js';
import type { Store } from '../../../storage/port.js';
import { CALLER, type HookedNode, openHookedNode } from '../../support/hooked-node.js';
import { HookHome } from '../../support/hooks.js';
import { storing } from '../../support/memories.js';

/** A store that counts how many lookups are under way, of one memory or of an action, and can fail them and nothing else. */
class SlowLookups implements Store {
  under = 0;
  most = 0;

  constructor(
    private readonly store: Store,
    private readonly code: ErrorCode | null,
  ) {}

  readonly query: Store['query'] = async (query, options) =>
    query.kind === 'get-memory'
      ? this.#slowly(() => this.store.query(query, options))
      : this.store.query(query, options);
  readonly execute: Store['execute'] = async (command, options) =>
    command.kind === 'look-at-action'
      ? this.#slowly(() => this.store.execute(command, options))
      : this.store.execute(command, options);

  async #slowly<T>(lookup: () => Promise<Result<T>>): Promise<Result<T>> {
    if (this.code !== null) return fail(this.code, 'the lookup failed');
    this.under += 1;
    this.most = Math.max(this.most, this.under);
    // Lets every lookup begin that is not held back.
    await new Promise(setImmediate);
    this.under -= 1;
    return lookup();
  }

  readonly selfCheck: Store['selfCheck'] = (cursor, options) => this.store.selfCheck(cursor, options);
  readonly close: Store['close'] = () => this.store.close();
}

const DENY = JSON.stringify({ action: 'deny', reason: 'closed', code: 403 });

for (const event of ['pre_archive', 'pre_governance_decision'] as const) {
  describe(`a lookup for ${event}`, { timeout: 60_000 }, () => {
    const home = new HookHome();
    let node: HookedNode;
    before(async () => {
      home.register({ event, command: home.noting(DENY).command, namespace: 'secret' });
      node = await openHookedNode(home);
    });
    after(() => node.close());

    const archive = (store: Store, ids: readonly string[]) =>
      runOperation(
        OPERATIONS.find(({ name }) => name === 'memory_archive')!,
        { surface: 'http', caller: CALLER, input: { ids }, unknownFields: 'refuse' },
        { ...node.services, store },
      );

    const stored = async (namespace: string): Promise<string> => {
      const command = storing({ namespace, title: randomUUID() });
      const result = await node.services.store.execute(command);
      assert.ok(result.ok, JSON.stringify(result));
      return command.memory.id;
    };

    for (const code of ['OVERLOADED', 'ACTOR_RESTARTED', 'DATABASE_ERROR'] as const) {
      it(`answers the call when it fails with ${code}, and the memory stays`, async () => {
        const id = await stored('secret');
        const answer = await archive(new SlowLookups(node.services.store, code), [id]);
        assert.equal(answer.ok ? 'archived' : answer.error.code, code);
        await node.run('memory_get', { id });
      });
    }

    it('is one of a few at a time', async () => {
      const ids: string[] = [];
      for (let n = 0; n < 3 * HOOK_LOOKUPS_AT_ONCE; n += 1) ids.push(await stored('open'));
      const store = new SlowLookups(node.services.store, null);
      const answer = await archive(store, ids);
      assert.ok(answer.ok, JSON.stringify(answer));
      assert.equal(answer.value['count'], ids.length);
      // What an action would do is one question, however many memories it is about.
      assert.equal(store.most, event === 'pre_archive' ? HOOK_LOOKUPS_AT_ONCE : 1);
    });
  });
}
