import { z } from 'zod';
import { memoryIdProblem, namespaceProblem } from '../../../protocol/ids.js';
import { linkId, RELATIONS } from '../../../protocol/link.js';
import { KINDS, TIERS } from '../../../protocol/memory.js';
import type { WireOperation } from '../../../protocol/mesh/wire.js';

/**
 * What payloads must be made of to be kept. The limits are wider than those of writes: whatever some release of this
 * node has taken must pass at all others, or replicas would differ.
 */
const LENIENT = { title: 4096, content: 1024 * 1024, text: 65_536 } as const;

const text = z.string().max(LENIENT.text);
const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const id = z.string().refine((value) => memoryIdProblem(value) === null);
const namespace = z.string().refine((value) => namespaceProblem(value) === null);
const integer = z.int();
const object = z.record(z.string(), z.unknown());

const memory = z.object({
  id,
  tier: z.enum(TIERS),
  namespace,
  title: z.string().min(1).max(LENIENT.title),
  content: z.string().max(LENIENT.content),
  tags: z.array(text).max(1000),
  priority: integer,
  confidence: z.number(),
  source: text,
  created_at: instant,
  updated_at: instant,
  expires_at: instant.nullable(),
  metadata: object,
  kind: z.enum(KINDS),
  reflection_depth: integer,
  atomised_into: integer.nullable(),
  atom_of: text.nullable(),
  entity_id: text.nullable(),
  persona_version: integer.nullable(),
  citations: z.array(object).max(1000),
  source_uri: text.nullable(),
  source_span: object.nullable(),
  confidence_source: text,
  confidence_signals: object.nullable(),
  confidence_decayed_at: instant.nullable(),
  mentioned_entity_id: text.nullable(),
  version: integer.min(1),
  write_signature: z
    .object({
      signature: z.string().max(128),
      created_at: z.string().max(64),
      public_key: z.string().max(64),
    })
    .nullable(),
  created_hlc: z.string().max(32),
});

const removal = z.object({ id, namespace });

const link = z.object({
  source_id: id,
  target_id: id,
  relation: z.enum(RELATIONS),
  created_at: instant,
  valid_from: text.nullable(),
  valid_until: text.nullable(),
  observed_by: text.nullable(),
  signature: text.nullable(),
  attest_level: text,
  signed_at: text.nullable(),
});

/** The memory that a payload of these kinds is the image of. */
export type PayloadImage = z.output<typeof memory>;

export type ReadPayload =
  | { readonly kind: 'memory'; readonly image: PayloadImage }
  | { readonly kind: 'other' }
  | { readonly kind: 'invalid' };

const INVALID: ReadPayload = { kind: 'invalid' };

/**
 * Reads the payload of an operation of a known kind: `invalid` when it has another shape, or speaks of another subject
 * or namespace than its header, by which scopes are judged.
 */
export function readPayload(operation: WireOperation, payload: string): ReadPayload {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return INVALID;
  }
  switch (operation.kind) {
    case 'store':
    case 'update':
    case 'promote':
    case 'life':
    case 'restore': {
      const parsed = memory.safeParse(value);
      return parsed.success && fits(operation, parsed.data)
        ? { kind: 'memory', image: parsed.data }
        : INVALID;
    }
    case 'delete':
    case 'expire':
    case 'archive':
    case 'purge': {
      const parsed = removal.safeParse(value);
      return parsed.success && fits(operation, parsed.data) ? { kind: 'other' } : INVALID;
    }
    case 'link': {
      const parsed = link.safeParse(value);
      return parsed.success && linkId(parsed.data) === operation.subject ? { kind: 'other' } : INVALID;
    }
    default:
      return { kind: 'other' };
  }
}

function fits(operation: WireOperation, row: { readonly id: string; readonly namespace: string }): boolean {
  return row.id === operation.subject && row.namespace === operation.namespace;
}
