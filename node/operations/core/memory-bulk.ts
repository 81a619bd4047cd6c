import { z } from 'zod';
import { HOOK_CHILDREN_MAX } from '../../../actors/hooks/limits.js';
import { ERRORS } from '../../../protocol/base/errors.js';
import { agentIdProblem } from '../../../protocol/base/ids.js';
import { BATCH_COMMANDS_MAX } from '../../../protocol/base/limits.js';
import { type Failure, fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { collectInput } from '../../bindings/collect-input.js';
import { operationRoutes } from '../../bindings/operation-route.js';
import type { Caller } from '../../identity/caller.js';
import type { Claim } from '../../identity/http-caller.js';
import type { Answer } from '../../pipeline/answer.js';
import type { Call, Services } from '../../pipeline/call.js';
import { defineOperation } from '../../pipeline/operation.js';
import { runOperation } from '../../pipeline/pipeline.js';
import { memoryStore } from './memory-store.js';

const input = z.object({
  memories: z.array(z.unknown()).describe('Bodies of POST /memories; at most the page cap of the node'),
});

const result = z.looseObject({
  index: z.int(),
  id: z.string().optional(),
  code: z.string().optional(),
  error: z.string().optional(),
});

type RowResult = z.input<typeof result>;

/**
 * Stores many memories in one request (interface §4.2, POST /memories/bulk). Every row is handled like POST /memories
 * and has its own result; a failing row does not affect the others. A node that cannot store at all fails as for one memory.
 */
export const memoryBulk = defineOperation({
  name: 'memory_store_bulk',
  family: 'core',
  summary: 'Store many memories, each with its own result.',
  input,
  output: z.object({
    created: z.int().describe('Memories that are new'),
    errors: z.array(z.string()).describe('One sentence for each row that failed'),
    results: z.array(result).describe('One for each row, in order'),
  }),
  effect: 'write',
  // Each row is checked, and reports its events, by itself.
  guards: {},
  delegable: 'by-namespace',
  ofRows: true,
  screens: 'rows',
  http: [{ method: 'POST', path: '/memories/bulk', fields: 'body', arrayBody: 'memories' }],
  run: async (call, { memories }) => {
    const cap = call.services.settings.pageSizeMax;
    if (memories.length > cap) {
      return fail('VALIDATION_FAILED', `at most ${cap} memories can be stored at once`, {
        fields: ['memories'],
        max: cap,
        count: memories.length,
      });
    }
    const answers = await storeRows(call, memories);
    const failure = failureOfNode(answers);
    if (failure !== null) return failed(failure);
    const results = answers.map(rowResult);
    return ok({
      created: results.filter((row) => row.code === undefined && row['duplicate'] !== true && row.id).length,
      errors: results.filter((row) => row.code !== undefined).map((row) => `${row.index}: ${row.error}`),
      results,
    });
  },
});

/**
 * Runs the rows in order: a row reaches the store after the one before it, whatever either waits for. One batch is
 * under way at a time, so that rows share commits and leave room for other callers.
 */
async function storeRows(call: Call, rows: readonly unknown[]): Promise<Answer[]> {
  const answers: Promise<Answer>[] = [];
  // Rows that a hook looks at leave places to the rows of others.
  const atOnce = call.services.hooks?.has('pre_store') === true ? HOOKED_ROWS_AT_ONCE : BATCH_COMMANDS_MAX;
  let before = Promise.resolve();
  for (const [index, row] of rows.entries()) {
    await answers[index - atOnce];
    const turn = inTurn(call.services, before);
    answers.push(storeRow(call, row, turn.services).finally(turn.pass));
    before = turn.passed;
  }
  return Promise.all(answers);
}

/** The failure of the whole bulk: the node, and no row, is the reason that nothing was stored. Null for any other outcome. */
function failureOfNode(answers: readonly Answer[]): Failure | null {
  const [first] = answers;
  if (first === undefined || first.ok || ERRORS[first.error.code].http < 500) return null;
  const { code } = first.error;
  return answers.every((answer) => !answer.ok && answer.error.code === code) ? first.error : null;
}

/** Services whose store takes its first command after `before` has resolved; `passed` resolves when it was taken. */
function inTurn(services: Services, before: Promise<void>) {
  const { store } = services;
  let pass!: () => void;
  const passed = new Promise<void>((resolve) => {
    pass = resolve;
  });
  const turn: Services['store'] = {
    query: (query, options) => store.query(query, options),
    selfCheck: (cursor, options) => store.selfCheck(cursor, options),
    close: () => store.close(),
    execute: async (command, options) => {
      // Hooks look at what the row would do, before its turn.
      if (command.kind === 'look-at-action') return store.execute(command, options);
      await before;
      const outcome = store.execute(command, options);
      pass();
      return outcome;
    },
  };
  return { services: { ...services, store: turn }, pass: () => void before.then(pass), passed };
}

/** Rows of one call that hooks look at together. */
const HOOKED_ROWS_AT_ONCE = HOOK_CHILDREN_MAX / 2;

const [storeRoute] = operationRoutes([memoryStore]);

async function storeRow(call: Call, row: unknown, services: Services): Promise<Answer> {
  if (typeof row !== 'object' || row === null || Array.isArray(row)) {
    return fail('VALIDATION_FAILED', 'a row must be a JSON object');
  }
  const body = row as Record<string, unknown>;
  const collected = collectInput(storeRoute!, { params: [], query: new Map(), body, headers: {} });
  if (!collected.ok) return failed(collected.error);
  const caller = callerOf(call.caller, collected.value.claim);
  if (!caller.ok) return failed(caller.error);
  return runOperation(
    memoryStore,
    {
      surface: call.surface,
      caller: caller.value,
      // Results of many rows carry no advice, and no row waits for a comparison.
      input: { ...collected.value.input, force: true, detect_conflicts: false },
      unknownFields: 'refuse',
      ...(call.deadlineMs === undefined ? {} : { deadlineMs: call.deadlineMs }),
    },
    services,
  );
}

/**
 * A row's `agent_id` must be the request's. Where the request names no agent, a row names its own, as in a separate
 * request, and this has no effect on the other rows.
 */
function callerOf(caller: Caller, claim: Claim | null): Result<Caller> {
  if (claim === null || claim.value === caller.agentId) return ok(caller);
  const { value } = claim;
  if (typeof value !== 'string') {
    return fail('VALIDATION_FAILED', 'agent_id must be a text', { fields: ['agent_id'] });
  }
  if (caller.claimed !== 'made') {
    return fail('agent_id_body_header_mismatch', 'agent_id of the row does not match X-Agent-Id');
  }
  const problem = agentIdProblem(value);
  if (problem !== null) return fail('VALIDATION_FAILED', problem, { fields: ['agent_id'] });
  return ok({
    agentId: value,
    claimed: 'explicit',
    viewer: { ...caller.viewer, all: false, agentId: value },
    admin: false,
    local: false,
  });
}

/** The fields of a stored row's answer that its result keeps, and of one that waits. */
const KEPT = ['id', 'expires_at', 'duplicate', 'secrets_found'] as const;
const KEPT_WAITING = ['status', 'pending_id'] as const;

function rowResult(answer: Answer, index: number): RowResult {
  if (!answer.ok) return failedRow(index, answer.error);
  const fields = answer.waits === true ? KEPT_WAITING : KEPT;
  const kept = fields.flatMap((key) => (answer.value[key] === undefined ? [] : [[key, answer.value[key]]]));
  return { index, ...Object.fromEntries(kept) };
}

function failedRow(index: number, { code, message, details }: Failure): RowResult {
  return { ...details, index, code, error: message };
}
