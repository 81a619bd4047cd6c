import { z } from 'zod';
import { READ_RECORDS_MAX } from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import {
  HOST_LENGTH_MAX,
  HOST_SESSION_LENGTH_MAX,
  LINE_PATH_BYTES_MAX,
  TEXT_BYTES_MAX,
  TOOL_BRIEF_LENGTH_MAX,
  TOOL_CALLS_MAX,
  TURN_AHEAD_MS,
} from '../../../protocol/transcripts/limits.js';
import { TURN_ROLES, transcriptId, transcriptKind } from '../../../protocol/transcripts/transcript-kind.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { turnCommand } from './turn-command.js';

const word = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .refine((value) => value.isWellFormed(), 'must be valid Unicode text');

const turnKey = {
  host_session_id: word(HOST_SESSION_LENGTH_MAX).describe('Session of the host'),
  host_turn_index: z.int().min(0).describe('Number of the turn in its session'),
};

const input = z.object({
  ...turnKey,
  host_kind: word(HOST_LENGTH_MAX).describe('Kind of the host'),
  namespace: fields.namespace.optional(),
  role: z.enum(TURN_ROLES),
  content: word(TEXT_BYTES_MAX).refine(
    (value) => Buffer.byteLength(value) <= TEXT_BYTES_MAX,
    `must be at most ${TEXT_BYTES_MAX} bytes`,
  ),
  tool_calls: z
    .array(z.object({ tool: word(HOST_SESSION_LENGTH_MAX), brief: z.string().max(TOOL_BRIEF_LENGTH_MAX) }))
    .max(TOOL_CALLS_MAX)
    .default([]),
  created_at: fields.instant.optional(),
  transcript_path: word(LINE_PATH_BYTES_MAX).describe('The file in which it stands'),
  line_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe('What the line is known by'),
});

type Input = z.output<typeof input>;

/** Stores a turn that was found in a file of its host, once. Only commands of this machine call it. */
export const recoverTurn = defineOperation({
  name: 'memory_recover_turn',
  family: 'lifecycle',
  summary: 'Store a turn that was found in a file of its host, once.',
  core: false,
  input,
  output: z.object({ memory_id: z.string(), created: z.boolean() }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  // The same line again is answered with its memory.
  repeatable: () => true,
  run: async (call, asked) => {
    const stored = await call.services.store.execute(commandOf(call, asked));
    if (!stored.ok) return failed(stored.error);
    const { memoryId, created } = stored.value;
    return ok({ memory_id: memoryId, created });
  },
});

/** What a turn of an agent's user, of the agent itself, or of anything else is called. */
const CALLED: Readonly<Record<string, string>> = { user: 'operator-directive', assistant: 'agent-response' };

function commandOf(call: Call, asked: Input) {
  const { services, caller, now, nowMs } = call;
  const { role, host_kind, transcript_path, line_sha256, tool_calls } = asked;
  const latest = instantFromMs(nowMs + TURN_AHEAD_MS);
  const createdAt = asked.created_at === undefined || asked.created_at > latest ? now : asked.created_at;
  const called = CALLED[role] ?? 'transcript-line';
  return turnCommand(
    {
      ...{ agentId: caller.agentId, namespace: asked.namespace ?? services.settings.defaultNamespace },
      ...{ host_session_id: asked.host_session_id, host_turn_index: asked.host_turn_index },
      ...{ role, host_kind, host_version: null, layer: 'L2', tool_calls, attest_level: 'self_signed' },
      ...{ host_signature: null, host_pubkey: null, content: asked.content, createdAt },
      ...{ ttlSeconds: null, path: transcript_path, lineSha256: line_sha256 },
      told: {
        title: `L2 recovered ${role} turn ${line_sha256} @ ${createdAt}`,
        tags: ['captured-via-l2', 'recovered-from-transcript', `host:${host_kind}`, `role:${role}`, called],
        source: 'recover',
        priority: role === 'user' ? 6 : 5,
        metadata: { host_kind, transcript_path, line_sha256, role, capture_layer: 'L2', tool_calls },
      },
    },
    { ...services, now, viewer: caller.viewer },
  );
}

/** Says which turns the caller's agent has already. Only commands of this machine call it. */
export const knownTurns = defineOperation({
  name: 'memory_known_turns',
  family: 'lifecycle',
  summary: 'Say which turns of a host are stored already.',
  core: false,
  input: z.object({ turns: z.array(z.object(turnKey)).max(READ_RECORDS_MAX) }),
  output: z.object({ known: z.array(z.int()).describe('Places of the turns in the list') }),
  effect: 'read',
  guards: {},
  run: async (call, { turns }) => {
    const { agentId } = call.caller;
    const ids = turns.map((turn) => transcriptId({ agent_id: agentId, ...turn }));
    const found = await call.services.store.query({ kind: 'read-records', of: transcriptKind.name, ids });
    if (!found.ok) return failed(found.error);
    const stored = new Set(found.value.records.map(({ id }) => id));
    return ok({ known: ids.flatMap((id, index) => (stored.has(id) ? [index] : [])) });
  },
});
