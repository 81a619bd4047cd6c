import { z } from 'zod';
import * as limits from '../../protocol/base/limits.js';
import { isBase64OrNull } from '../../protocol/kinds/payload.js';
import { RELATIONS } from '../../protocol/links/link.js';
import * as fields from '../pipeline/fields.js';
import { spoken } from '../pipeline/spoken-fields.js';

const count = z.int().min(0).max(limits.ACCESS_COUNT_MAX);
const name = z.string().min(1).max(limits.ID_LENGTH_MAX);
const base64 = z
  .string()
  .max(limits.ID_LENGTH_MAX)
  .refine((text) => text !== '' && isBase64OrNull(text), 'must be standard base64 with its padding');

/** A memory of an export, or one written by hand: a title and content are enough. */
export const importedMemory = {
  input: z.object({
    id: fields.memoryId.optional(),
    tier: fields.tier.default('mid'),
    namespace: fields.namespace.optional(),
    title: fields.title,
    content: fields.content,
    tags: fields.tags.default([]),
    priority: fields.priority.default(5),
    confidence: fields.confidence.default(1),
    source: fields.source.default('import'),
    access_count: count.default(0),
    created_at: fields.instant.optional(),
    updated_at: fields.instant.optional(),
    last_accessed_at: fields.instant.optional(),
    expires_at: fields.instant.optional(),
    valid_from: fields.instant.optional(),
    valid_until: fields.instant.optional(),
    ...spoken,
    metadata: fields.metadata.default({}),
    kind: fields.kind.default('observation'),
    reflection_depth: count.default(0),
    atomised_into: count.optional(),
    atom_of: fields.memoryId.optional(),
    entity_id: name.optional(),
    persona_version: count.optional(),
    citations: fields.citations.default([]),
    source_uri: fields.sourceUri.optional(),
    source_span: fields.sourceSpan.optional(),
    confidence_source: z
      .string()
      .regex(/^[a-z_]{1,64}$/)
      .default('caller_provided'),
    confidence_signals: fields.metadata.optional(),
    confidence_decayed_at: fields.instant.optional(),
    mentioned_entity_id: name.optional(),
    version: z.int().min(1).max(limits.IMPORT_VERSION_MAX).default(1),
    write_signature: z
      .strictObject({ signature: base64, created_at: z.string().max(64), public_key: base64 })
      .optional(),
    rest: fields.unknownMembers.optional(),
  }),
};

const earlierPeriod = z.strictObject({
  created_at: fields.instant,
  valid_from: fields.instant.nullable(),
  valid_until: fields.instant.nullable(),
  observed_by: fields.agentId.nullable(),
  believed_from: fields.instant,
  believed_to: fields.instant.nullable(),
});

/** A link of an export. */
export const importedLink = {
  input: z.object({
    source_id: fields.memoryId,
    target_id: fields.memoryId,
    relation: z.enum(RELATIONS),
    created_at: fields.instant.optional(),
    valid_from: fields.instant.optional(),
    valid_until: fields.instant.optional(),
    observed_by: fields.agentId.optional(),
    signature: base64.optional(),
    attest_level: z
      .string()
      .regex(/^[a-z_]{1,64}$/)
      .default('unsigned'),
    signed_at: fields.instant.optional(),
    public_key: base64.optional(),
    retired_at: fields.instant.optional(),
    believed_until: fields.instant.optional(),
    believed_from: fields.instant.optional(),
    earlier: z.array(earlierPeriod).max(limits.REPLICATED_EARLIER_PERIODS_MAX).optional(),
    rest: fields.unknownMembers.optional(),
  }),
};

/** Names that other releases give to fields. */
export const MEMORY_ALIASES: Readonly<Record<string, string>> = { memory_kind: 'kind' };
