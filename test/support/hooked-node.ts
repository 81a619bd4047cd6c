import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Services } from '../../node/pipeline/call.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import type { Failure } from '../../protocol/base/result.js';
import type { HookHome } from './hooks.js';
import { openTestNode } from './test-node.js';

export type Fields = Readonly<Record<string, unknown>>;

/** The operator on this machine. */
export const CALLER: Caller = {
  agentId: 'ai:hooked',
  claimed: 'explicit',
  viewer: { all: true, agentId: null, asNamespace: null },
  admin: true,
  local: true,
};

/** A node in memory with the hooks of a home. */
export interface HookedNode {
  readonly services: Services;
  call(operation: string, input: Fields, caller?: Caller): Promise<Answer>;
  /** The answer of a call that must succeed. */
  run(operation: string, input: Fields): Promise<Fields>;
  /** The failure of a call that must fail. */
  refused(operation: string, input: Fields): Promise<Failure>;
  close(): Promise<void>;
}

export async function openHookedNode(home: HookHome): Promise<HookedNode> {
  const node = await openTestNode({
    home: home.home,
    dbPath: join(home.home, 'mnemesh.db'),
    requireAttestation: false,
  });
  const call: HookedNode['call'] = (name, input, caller = CALLER) => {
    const operation = OPERATIONS.find((known) => known.name === name)!;
    return runOperation(operation, { surface: 'cli', caller, input, unknownFields: 'refuse' }, node.services);
  };
  return {
    services: node.services,
    call,
    run: async (name, input) => {
      const answer = await call(name, input);
      assert.ok(answer.ok, JSON.stringify(answer));
      return answer.value;
    },
    refused: async (name, input) => {
      const answer = await call(name, input);
      assert.ok(!answer.ok, JSON.stringify(answer));
      return answer.error;
    },
    close: () => node.close(),
  };
}
