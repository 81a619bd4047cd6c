import assert from 'node:assert/strict';
import type { SettingFlags } from '../../node/config/load-settings.js';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Services } from '../../node/pipeline/call.js';
import { type Request, runOperation } from '../../node/pipeline/pipeline.js';
import type { Failure } from '../../protocol/base/result.js';
import type { ModelServer } from './model-server.js';
import { openTestNode } from './test-node.js';

type Fields = Readonly<Record<string, unknown>>;

/** An agent over HTTP. */
export const agent = (agentId: string): Caller => ({
  ...{ agentId, claimed: 'explicit', viewer: { all: false, agentId, asNamespace: null } },
  ...{ admin: false, local: false },
});

/** The operator on this machine. */
export const OPERATOR: Caller = {
  ...{ agentId: 'ai:operator', claimed: 'explicit', viewer: { all: true, agentId: null, asNamespace: null } },
  ...{ admin: true, local: true },
};

/** A node in memory that asks a scripted model. */
export interface AskingNode {
  readonly services: Services;
  call(operation: string, input: Fields, caller?: Caller, more?: Partial<Request>): Promise<Answer>;
  /** The answer of a call that must succeed. */
  run(operation: string, input: Fields, caller?: Caller): Promise<Record<string, unknown>>;
  /** The failure of a call that must fail. */
  refused(operation: string, input: Fields, caller?: Caller): Promise<Failure>;
  close(): Promise<void>;
}

export async function openAskingNode(
  server: ModelServer | null,
  settings: SettingFlags = {},
): Promise<AskingNode> {
  const model: SettingFlags =
    server === null ? {} : { llmBackend: 'local-native', llmBaseUrl: server.url, llmModel: 'scripted' };
  const node = await openTestNode({ requireAttestation: false, ...model, ...settings });
  const call: AskingNode['call'] = (name, input, caller = agent('ai:alice'), more = {}) => {
    const operation = OPERATIONS.find((known) => known.name === name)!;
    const request: Request = { surface: 'mcp', caller, input, unknownFields: 'refuse', ...more };
    return runOperation(operation, request, node.services);
  };
  return {
    services: node.services,
    call,
    run: async (name, input, caller) => {
      const answer = await call(name, input, caller);
      assert.ok(answer.ok, JSON.stringify(answer));
      return answer.value;
    },
    refused: async (name, input, caller) => {
      const answer = await call(name, input, caller);
      assert.ok(!answer.ok, JSON.stringify(answer));
      return answer.error;
    },
    close: () => node.close(),
  };
}
