import { z } from 'zod';
import { isBlank } from '../../../protocol/base/ids.js';
import { TAG_BYTES_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import * as limits from '../../../protocol/transcripts/limits.js';
import { TURN_ATTEST_LEVELS, TURN_ROLES } from '../../../protocol/transcripts/transcript-kind.js';
import { transcriptLife } from '../../config/transcript-life.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { given } from '../shared/hooked.js';
import { callersMetadata, ownerByMetadata } from '../shared/metadata-owner.js';
import { hostAttestation } from './host-signature.js';
import { longText, sessionName } from './text-fields.js';
import { tellable } from './texts.js';
import { type Turn, turnCommand } from './turn-command.js';

const input = z.object({
  host_session_id: sessionName.describe('Session of the host'),
  host_turn_index: z.int().min(0).describe('Number of the turn in its session, from 0'),
  role: z.enum(TURN_ROLES).describe('Whose turn it is'),
  content: longText
    .refine((value) => !isBlank(value), 'must not be blank')
    .describe('Text of the turn, up to 1 MiB'),
  host_kind: fields.words(limits.HOST_LENGTH_MAX).default('unknown').describe('Program that sends the turn'),
  host_version: fields.words(limits.HOST_LENGTH_MAX).describe('Version of that program').optional(),
  tool_calls: z
    .array(
      z.object({
        tool: fields.words(TAG_BYTES_MAX),
        brief: z.string().max(limits.TOOL_BRIEF_LENGTH_MAX).default(''),
      }),
    )
    .max(limits.TOOL_CALLS_MAX)
    .default([])
    .describe('Tools that the turn calls'),
  timestamp_iso: fields.pastInstant.describe('When the turn was; now unless given').optional(),
  host_signature_b64: z.string().describe('Ed25519 signature of the host, standard base64').optional(),
  host_pubkey_b64: z.string().describe('Public key of the host, base64').optional(),
  namespace: fields.namespace.optional(),
  metadata: fields.metadata.default({}),
  ttl_secs: fields.ttlSecs.describe('How long the transcript is kept').optional(),
});

const output = z.object({
  memory_id: z.string(),
  dedup_hit: z.boolean(),
  layer: z.literal('L4'),
  attest_level: z
    .enum(TURN_ATTEST_LEVELS)
    .describe('signed_by_peer where a host signed it that the operator trusts')
    .optional(),
  elapsed_ms: z.number(),
});

type Input = z.output<typeof input>;

/** Stores a turn of a session once (interface §4.12, POST /capture_turn; reference-mcp-cli §6.7). */
export const memoryCaptureTurn = defineOperation({
  name: 'memory_capture_turn',
  family: 'lifecycle',
  summary: 'Store one turn of a session, once.',
  input,
  output,
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  repeatable: true,
  placed: async (call, asked) => placeOf(call, asked),
  http: [
    {
      ...{ method: 'POST', path: '/capture_turn', fields: 'body' },
      status: { among: [200, 201], of: ({ dedup_hit }) => (dedup_hit === true ? 200 : 201) },
      shape: ({ elapsed_ms: _elapsed, ...answer }) => answer,
      output: output.omit({ elapsed_ms: true }),
    },
  ],
  mcp: { description: 'Record one turn of a chat, once; for hosts that log their sessions.' },
  hooks: aroundOperation({
    pre: [
      {
        event: 'pre_transcript_store',
        firings: (asked: Input, _seen, call) => [
          { namespace: placeOf(call, asked), payload: toldOf(call, asked) },
        ],
        apply: (asked, delta) => rewritten(asked, given(delta)),
      },
      {
        event: 'pre_store',
        firings: (asked, _seen, call) => [
          { namespace: placeOf(call, asked), payload: memoryOf(call, asked) },
        ],
        apply: (asked, { content, namespace, metadata }) =>
          rewritten(asked, given({ content, namespace, metadata })),
      },
    ],
  }),
  run: captureTurn,
});

const placeOf = ({ services }: Pick<ReadCall, 'services'>, { namespace }: Input): string =>
  namespace ?? services.settings.defaultNamespace;

const toldOf = (
  call: ReadCall,
  { content, ttl_secs, ...asked }: Input & { readonly namespace?: string | undefined },
) => {
  const namespace = asked.namespace ?? call.services.settings.defaultNamespace;
  return {
    ...{ namespace, content },
    ttl_secs: ttl_secs ?? transcriptLife(call.services.settings, namespace).ttlSeconds,
  };
};

/** A host has not signed what a hook wrote, so such a turn is one without a signature. */
function rewritten(asked: Readonly<Record<string, unknown>>, delta: Readonly<Record<string, unknown>>) {
  if (delta['content'] === undefined || delta['content'] === asked['content']) return { ...asked, ...delta };
  const { host_signature_b64: _signature, host_pubkey_b64: _key, ...unsigned } = asked;
  return { ...unsigned, ...delta };
}

/** What hooks see of the memory that tells the turn; they rewrite its text, its namespace and its metadata. */
function memoryOf(call: ReadCall, asked: Input) {
  const { title, tags, source, priority } = told(asked, 'self_signed');
  return {
    ...{ tier: 'long', namespace: placeOf(call, asked), title, content: tellable(asked.content), tags },
    ...{ priority, confidence: 1, source, metadata: asked.metadata },
  };
}

function told(asked: Input, attestLevel: (typeof TURN_ATTEST_LEVELS)[number]): Turn['told'] {
  const { host_kind: kind, host_session_id: session, host_turn_index: turn, role, host_version } = asked;
  return {
    title: `L4 capture ${kind} ${session} turn ${turn} (${role})`,
    tags: [
      ...['captured-via-l4', `host:${kind}`, `role:${role}`, `attest:${attestLevel}`],
      ...(host_version === undefined ? [] : [`host-version:${host_version}`]),
    ],
    ...{ source: 'host', priority: 5, metadata: callersMetadata(asked.metadata) },
  };
}

async function captureTurn(call: Call, asked: Input): Promise<Result<z.input<typeof output>>> {
  const { services, caller, now } = call;
  const { settings, crypto, random, peerId, clock } = services;
  const begun = clock.monotonicMs();
  const owner = ownerByMetadata(call, asked.metadata);
  if (!owner.ok) return failed(owner.error);
  const createdAt = asked.timestamp_iso ?? now;
  if (createdAt > instantFromMs(call.nowMs + limits.TURN_AHEAD_MS))
    return fail('VALIDATION_FAILED', 'timestamp_iso lies in the future', { fields: ['timestamp_iso'] });
  const max = settings.transcriptDecompressedMax;
  if (Buffer.byteLength(asked.content, 'utf8') > max)
    return fail('VALIDATION_FAILED', `content: must be at most ${max} bytes`, { fields: ['content'], max });
  const attested = await hostAttestation(asked, asked.content, asked, {
    trusted: settings.hostPubkeys,
    crypto,
  });
  if (!attested.ok) return failed(attested.error);
  const { host_session_id, host_turn_index, role, host_kind, tool_calls, content } = asked;
  const turn: Turn = {
    ...{ agentId: owner.value, namespace: placeOf(call, asked), content, createdAt, path: null },
    ...{ host_session_id, host_turn_index, role, host_kind, host_version: asked.host_version ?? null },
    ...{ layer: 'L4', tool_calls, ...attested.value, lineSha256: null },
    ttlSeconds: asked.ttl_secs ?? null,
    told: told(asked, attested.value.attest_level),
  };
  const parts = { now, viewer: caller.viewer, random, crypto, peerId, settings };
  const captured = await services.store.execute(turnCommand(turn, parts));
  if (!captured.ok) return failed(captured.error);
  const { memoryId, created } = captured.value;
  return ok({
    ...{ memory_id: memoryId, dedup_hit: !created, layer: 'L4' as const },
    ...(created ? { attest_level: attested.value.attest_level } : {}),
    elapsed_ms: Math.round(clock.monotonicMs() - begun),
  });
}
