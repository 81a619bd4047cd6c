import { z } from 'zod';
import { isBlank } from '../../../protocol/base/ids.js';
import { READ_RECORDS_MAX, TAG_BYTES_MAX } from '../../../protocol/base/limits.js';
import { failed, ok } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import * as limits from '../../../protocol/transcripts/limits.js';
import { TURN_ROLES, transcriptId, transcriptKind } from '../../../protocol/transcripts/transcript-kind.js';
import { transcriptLife } from '../../config/transcript-life.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { given } from '../shared/hooked.js';
import { longText, sessionName } from './text-fields.js';
import { tellable } from './texts.js';
import { type Turn, turnCommand } from './turn-command.js';

const turnKey = {
  host_session_id: sessionName.describe('Session of the host'),
  host_turn_index: z.int().min(0).describe('Number of the turn in its session'),
};

const input = z.object({
  ...turnKey,
  host_kind: fields.words(limits.HOST_LENGTH_MAX).describe('Kind of the host'),
  namespace: fields.namespace.optional(),
  role: z.enum(TURN_ROLES),
  content: longText.refine((value) => !isBlank(value), 'must not be blank').describe('Text of the turn'),
  tool_calls: z
    .array(
      z.object({ tool: fields.words(TAG_BYTES_MAX), brief: z.string().max(limits.TOOL_BRIEF_LENGTH_MAX) }),
    )
    .max(limits.TOOL_CALLS_MAX)
    .default([])
    .describe('Tools that the turn calls'),
  created_at: fields.instant.optional(),
  ttl_secs: fields.ttlSecs.describe('How long the transcript is kept').optional(),
  transcript_path: z
    .string()
    .min(1)
    .refine(
      (value) => value.isWellFormed() && Buffer.byteLength(value) <= limits.LINE_PATH_BYTES_MAX,
      `must be valid Unicode text of at most ${limits.LINE_PATH_BYTES_MAX} bytes`,
    )
    .describe('The file in which it stands'),
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
  input,
  output: z.object({ memory_id: z.string(), created: z.boolean() }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  // The same line again is answered with its memory.
  repeatable: true,
  placed: async (call, asked) => placeOf(call, asked),
  hooks: aroundOperation({
    pre: [
      {
        event: 'pre_transcript_store',
        firings: (asked: Input, _seen, call) => [
          { namespace: placeOf(call, asked), payload: toldOf(call, asked) },
        ],
        apply: (asked, { namespace, content, ttl_secs }) => ({
          ...asked,
          ...given({ namespace, content, ttl_secs }),
        }),
      },
      {
        event: 'pre_store',
        firings: (asked, _seen, call) => [
          { namespace: placeOf(call, asked), payload: memoryOf(call, asked) },
        ],
        apply: (asked, { namespace, content }) => ({ ...asked, ...given({ namespace, content }) }),
      },
    ],
  }),
  run: async (call, asked) => {
    const stored = await call.services.store.execute(commandOf(call, asked));
    if (!stored.ok) return failed(stored.error);
    const { memoryId, created } = stored.value;
    return ok({ memory_id: memoryId, created });
  },
});

/** What a turn of an agent's user, of the agent itself, or of anything else is called. */
const CALLED: Readonly<Record<string, string>> = { user: 'operator-directive', assistant: 'agent-response' };

const placeOf = ({ services }: Pick<ReadCall, 'services'>, { namespace }: Input): string =>
  namespace ?? services.settings.defaultNamespace;

/** What hooks see of the transcript. */
function toldOf(call: ReadCall, asked: Input) {
  const namespace = placeOf(call, asked);
  const { ttlSeconds } = transcriptLife(call.services.settings, namespace);
  return { namespace, content: asked.content, ttl_secs: asked.ttl_secs ?? ttlSeconds };
}

/** What hooks see of the memory that tells the turn; they rewrite its text and its namespace. */
function memoryOf(call: ReadCall, asked: Input) {
  const content = tellable(asked.content);
  return { tier: 'long', namespace: placeOf(call, asked), content, confidence: 1, ...told(call, asked) };
}

/** A turn with a date ahead of this node's clock is dated now. */
function createdAt({ now, nowMs }: ReadCall, { created_at: at }: Input): string {
  return at === undefined || at > instantFromMs(nowMs + limits.TURN_AHEAD_MS) ? now : at;
}

function told(call: ReadCall, asked: Input): Turn['told'] {
  const { role, host_kind, transcript_path, line_sha256, tool_calls } = asked;
  const called = CALLED[role] ?? 'transcript-line';
  return {
    title: `L2 recovered ${role} turn ${line_sha256} @ ${createdAt(call, asked)}`,
    tags: ['captured-via-l2', 'recovered-from-transcript', `host:${host_kind}`, `role:${role}`, called],
    source: 'recover',
    priority: role === 'user' ? 6 : 5,
    metadata: { host_kind, transcript_path, line_sha256, role, capture_layer: 'L2', tool_calls },
  };
}

function commandOf(call: Call, asked: Input) {
  const { services, caller, now } = call;
  const { role, host_kind, tool_calls, content, host_session_id, host_turn_index } = asked;
  return turnCommand(
    {
      ...{ agentId: caller.agentId, namespace: placeOf(call, asked), content },
      ...{ host_session_id, host_turn_index, role, host_kind, host_version: null, layer: 'L2', tool_calls },
      ...{ attest_level: 'self_signed', host_signature: null, host_pubkey: null },
      ...{ createdAt: createdAt(call, asked), ttlSeconds: asked.ttl_secs ?? null },
      ...{ path: asked.transcript_path, lineSha256: asked.line_sha256, told: told(call, asked) },
    },
    { ...services, now, viewer: caller.viewer },
  );
}

/** Says which turns the caller's agent has already. Only commands of this machine call it. */
export const knownTurns = defineOperation({
  name: 'memory_known_turns',
  family: 'lifecycle',
  summary: 'Say which turns of a host are stored already.',
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
