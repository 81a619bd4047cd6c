import { z } from 'zod';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import { instantAfter } from '../../../protocol/base/time.js';
import { epochSeconds } from '../../../protocol/coordination/signed.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import { blobId } from '../../../protocol/transcripts/blob-kind.js';
import { TEXT_BYTES_MAX } from '../../../protocol/transcripts/limits.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { longText } from './text-fields.js';
import { packed, unpacked } from './texts.js';

const REF = /^ofl_[A-Z2-7]{13}$/;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The reference of a content: `ofl_` and the first eight bytes of its digest, in RFC 4648 base32 without padding. */
export function refOf(sha256: string): string {
  let bits = BigInt(`0x${sha256.slice(0, 16)}`) << 1n;
  let text = '';
  for (let at = 0; at < 13; at += 1) {
    text = ALPHABET[Number(bits & 31n)]! + text;
    bits >>= 5n;
  }
  return `ofl_${text}`;
}

/** Puts a content aside (reference-mcp-cli §6.10). */
export const memoryOffload = defineOperation({
  name: 'memory_offload',
  family: 'power',
  summary: 'Put a long content aside, to read it again by its reference.',
  input: z.object({
    content: z
      .string()
      .superRefine((value, context) => {
        const bytes = Buffer.byteLength(value, 'utf8');
        if (bytes <= TEXT_BYTES_MAX) return;
        const message = `offload blob ${bytes} bytes exceeds policy max ${TEXT_BYTES_MAX}`;
        context.addIssue({ code: 'custom', message, continue: false });
      })
      .pipe(longText)
      .describe('Content to put aside, up to 1 MiB'),
    namespace: z
      .union([z.literal('').transform(() => 'auto'), fields.ordinaryNamespace])
      .default('auto')
      .describe('Namespace in which it counts for the quota'),
    ttl_seconds: fields.ttlSecs.describe('Seconds until it is removed; for ever unless given').optional(),
  }),
  output: z.object({
    ref_id: z.string(),
    content_sha256: z.string(),
    stored_at: z.int().describe('Seconds since 1970'),
    namespace: z.string(),
  }),
  effect: 'write',
  guards: { attestation: 'by-name' },
  repeatable: true,
  mcp: {
    description:
      'Put a long text, such as a huge log, aside. Answers a short reference; memory_deref reads it back.',
  },
  run: async (call, { content, namespace, ttl_seconds: ttl }) => {
    const { services, caller, now } = call;
    const max = services.settings.transcriptDecompressedMax;
    const text = packed(content, services.crypto);
    if (text.size > max)
      return fail('VALIDATION_FAILED', `offload blob ${text.size} bytes exceeds policy max ${max}`, {
        ...{ fields: ['content'], max },
      });
    const { agentId } = caller;
    const offload = {
      ...{ ref_id: refOf(text.sha256), namespace, agent_id: agentId, content_sha256: text.sha256 },
      ...{ blob_id: blobId(namespace, text.sha256), size: text.size, stored_at: now },
      ...{ expires_at: ttl === undefined ? null : instantAfter(now, ttl), rest: NO_REST },
    };
    const { sha256, data, size } = text;
    const blob = { namespace, sha256, data, size, agent_id: agentId, rest: NO_REST };
    const command = { kind: 'offload-content', offload, blob, viewer: caller.viewer } as const;
    const stored = await services.store.execute(command);
    if (!stored.ok) return failed(stored.error);
    const { ref_id, content_sha256, stored_at, ...place } = stored.value.offload;
    return ok({ ref_id, content_sha256, stored_at: epochSeconds(stored_at), namespace: place.namespace });
  },
});

/** Reads a content that was put aside; its reading is recorded. */
export const memoryDeref = defineOperation({
  name: 'memory_deref',
  family: 'power',
  summary: 'Read a content that was put aside, by its reference.',
  input: z.object({
    ref_id: z
      .string()
      .regex(REF, 'must be a reference as memory_offload answers it')
      .describe('Its reference'),
  }),
  output: z.object({
    ref_id: z.string(),
    content: z.string(),
    stored_at: z.int().describe('Seconds since 1970'),
    sha256: z.string(),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  quorum: 'none',
  repeatable: true,
  mcp: { description: 'Read back a text that was put aside, by its reference.' },
  run: async (call, { ref_id: refId }) => {
    const { services, caller } = call;
    const command = {
      kind: 'deref-content',
      refId,
      by: caller.viewer.agentId ?? caller.agentId,
      viewer: caller.viewer,
    } as const;
    const found = await services.store.execute(command);
    if (!found.ok) return failed(found.error);
    const { offload, blob } = found.value;
    const bytesMax = services.settings.transcriptDecompressedMax;
    const text = unpacked(blob, offload.content_sha256, { crypto: services.crypto, bytesMax });
    if (!text.ok) return failed(text.error);
    const { ref_id, content_sha256: sha256, stored_at } = offload;
    return ok({ ref_id, content: text.value, stored_at: epochSeconds(stored_at), sha256 });
  },
});
