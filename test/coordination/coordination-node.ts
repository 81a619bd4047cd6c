import assert from 'node:assert/strict';
import type { SettingFlags } from '../../node/config/load-settings.js';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Services } from '../../node/pipeline/call.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import type { Failure } from '../../protocol/base/result.js';
import { openTestNode } from '../support/test-node.js';

export type Fields = Readonly<Record<string, unknown>>;

/** A local agent. */
export const agent = (agentId: string): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: false, local: true },
  viewer: { all: false, agentId, asNamespace: null },
});

/** The operator of the machine. */
export const OPERATOR_CALLER: Caller = {
  ...{ agentId: 'ai:operator', claimed: 'explicit', admin: true, local: true },
  viewer: { all: true, agentId: null, asNamespace: null },
};

/** What one caller does over MCP. */
export interface Session {
  call(tool: string, input: Fields): Promise<Answer>;
  /** The answer of a call that must succeed. */
  run(tool: string, input: Fields): Promise<Fields>;
  /** The failure of a call that must fail. */
  refused(tool: string, input: Fields): Promise<Failure>;
}

/** The tools of a node, as one caller has them. */
export function sessionOf(services: Services, caller: Caller): Session {
  const call: Session['call'] = (name, input) => {
    const operation = OPERATIONS.find((known) => known.name === name);
    assert.ok(operation?.mcp !== undefined, `${name} is no tool`);
    return runOperation(operation, { surface: 'mcp', caller, input, unknownFields: 'ignore' }, services);
  };
  return {
    call,
    run: async (name, input) => {
      const answer = await call(name, input);
      assert.ok(answer.ok, JSON.stringify(answer));
      return answer.value;
    },
    refused: async (name, input) => {
      const answer = await call(name, input);
      assert.ok(!answer.ok, `${name} succeeded: ${JSON.stringify(answer)}`);
      return answer.error;
    },
  };
}

export interface CoordinationNode {
  readonly services: Services;
  as(agentId: string): Session;
  readonly operator: Session;
  close(): Promise<void>;
}

/** A node in memory. */
export async function openCoordinationNode(settings: SettingFlags = {}): Promise<CoordinationNode> {
  const node = await openTestNode({ requireAttestation: false, ...settings });
  return {
    services: node.services,
    as: (agentId) => sessionOf(node.services, agent(agentId)),
    operator: sessionOf(node.services, OPERATOR_CALLER),
    close: () => node.close(),
  };
}
