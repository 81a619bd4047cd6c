import { z } from 'zod';
import { QUERY_LENGTH_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import * as limits from '../../../protocol/base/rule-limits.js';
import { ACTION_KINDS, type Action, type ActionKind } from '../../../protocol/rules/action.js';
import { freeDiskGib } from '../../free-disk.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';

const path = z.string().max(limits.ACTION_PATH_LENGTH_MAX);
const word = z.string().max(limits.RULE_TEXT_LENGTH_MAX);

const input = z.object({
  kind: z
    .string()
    .max(64)
    .describe(`Kind of the action: ${ACTION_KINDS.join(', ')}`),
  command: z.string().max(limits.ACTION_TEXT_LENGTH_MAX).describe('For bash: the command').optional(),
  cwd: path.describe('For bash: the folder that it runs in').optional(),
  path: path.describe('For filesystem_write: the absolute path').optional(),
  byte_estimate: z.int().min(0).describe('For filesystem_write: how much is written').optional(),
  host: word.describe('For network_request: the host').optional(),
  scheme: word.describe('For network_request: https unless given').optional(),
  binary: path.describe('For process_spawn: the program').optional(),
  args: z
    .array(z.string().max(limits.ACTION_PATH_LENGTH_MAX))
    .max(limits.ACTION_ARGS_MAX)
    .describe('For process_spawn: its arguments')
    .optional(),
  custom_kind: word.describe('For custom: which, such as memory_write').optional(),
  payload: fields
    .jsonObject(limits.ACTION_PAYLOAD_BYTES_MAX)
    .describe('For custom: what it is about, such as {"namespace":"team","tier":"long","title":"…"}')
    .optional(),
  surface: word.describe('For read_action: where is read, such as recall').optional(),
  namespace: fields.namespace.describe('For read_action: the namespace').optional(),
  query: z.string().max(QUERY_LENGTH_MAX).describe('For read_action: the words').optional(),
  agent_id: fields.agentId.describe('Agent that is about to act; the caller unless given').optional(),
});

type Input = z.output<typeof input>;

/** The exit code of a check whose answer is no. */
const REFUSED = 4;

/**
 * Asks the rules about an action, and records that it was asked (interface §4.12, reference-mcp-cli §1.2). Only a
 * harness that asks before it acts is bound by the answer.
 */
export const memoryCheckAgentAction = defineOperation({
  name: 'memory_check_agent_action',
  family: 'power',
  summary: 'Ask the rules whether an agent may do something; the check is recorded.',
  input,
  output: z.object({
    decision: z.object({
      decision: z.enum(['allow', 'refuse', 'warn']),
      rule_id: z.string().nullable().optional(),
      reason: z.string().optional(),
    }),
    kind: z.string(),
    agent_id: z.string(),
  }),
  effect: 'write',
  // It asks about an action, which is not stored.
  screens: 'nothing',
  guards: {},
  quorum: 'none',
  http: [{ method: 'POST', path: '/memory_check_agent_action', fields: 'body' }],
  mcp: {
    description:
      'Ask whether you are allowed to run a command, write a file, call a host and so on. Answers the decision of the rules, and records it.',
  },
  cli: {
    command: 'governance check-action',
    view: 'message',
    message: said,
    exit: ({ decision }) => ((decision as { decision: string }).decision === 'refuse' ? REFUSED : 0),
    examples: [
      'governance check-action --kind bash --command "rm -rf /tmp/x"',
      'governance check-action --kind filesystem_write --path /tmp/x --json',
    ],
  },
  run: async (call, given) => {
    const { services, caller } = call;
    const action = await actionOf(given, () => freeDiskGib(services.settings.home));
    if (!action.ok) return failed(action.error);
    const agentId = given.agent_id ?? caller.agentId;
    const checked = await services.store.execute({ kind: 'check-action', action: action.value, agentId });
    if (!checked.ok) return failed(checked.error);
    const { decision, rule_id, reason } = checked.value.said;
    const named = decision === 'allow' ? {} : { rule_id, reason: reason ?? '' };
    return ok({ decision: { decision, ...named }, kind: given.kind, agent_id: agentId });
  },
});

function said({ decision, kind }: Record<string, unknown>): string {
  const { decision: word, rule_id, reason } = decision as Record<string, unknown>;
  return word === 'allow' ? `allow: ${kind}` : `${word}: ${rule_id ?? 'rules'}: ${reason}`;
}

/** The action that the fields of a call describe. VALIDATION_FAILED names the field that its kind needs. */
async function actionOf(given: Input, freeDisk: () => Promise<number | null>): Promise<Result<Action>> {
  const kind = ACTION_KINDS.find((known) => known === given.kind);
  if (kind === undefined) {
    const message = `unknown kind "${given.kind}": it is one of ${ACTION_KINDS.join(', ')}`;
    return fail('VALIDATION_FAILED', message, { fields: ['kind'] });
  }
  const needed = NEEDED[kind];
  if (needed !== null && given[needed] === undefined) {
    return fail('VALIDATION_FAILED', `${kind} kind requires "${needed}"`, { fields: [needed] });
  }
  const { command = '', path: target = '', host = '', binary = '', custom_kind = '' } = given;
  switch (kind) {
    case 'bash':
      return ok({ kind, command, cwd: given.cwd ?? null });
    case 'filesystem_write':
      return ok({ kind, path: target, byte_estimate: given.byte_estimate ?? null });
    case 'network_request':
      return ok({ kind, host, scheme: given.scheme ?? 'https' });
    case 'process_spawn':
      return ok({ kind, binary, args: given.args ?? [], disk_free_gib: await freeDisk() });
    case 'custom':
      return ok({ kind, custom_kind, payload: given.payload ?? {} });
    case 'read_action': {
      const { surface = null, namespace = null, query = null } = given;
      return ok({ kind, surface, namespace, query });
    }
  }
}

/** The field without which an action of a kind says nothing. */
const NEEDED: Readonly<Record<ActionKind, keyof Input | null>> = {
  bash: 'command',
  filesystem_write: 'path',
  network_request: 'host',
  process_spawn: 'binary',
  custom: 'custom_kind',
  read_action: null,
};
