import type { z } from 'zod';
import { agentIdProblem, RESERVED_PRINCIPALS } from '../../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { NO_REST } from '../../protocol/kinds/payload.js';
import type { Link } from '../../protocol/links/link.js';
import { linkKind } from '../../protocol/links/link-kind.js';
import type { Memory } from '../../protocol/memory/memory.js';
import { memoryKind } from '../../protocol/memory/memory-kind.js';
import { validityProblem } from '../../protocol/memory/validity.js';
import type { ReadCall } from '../pipeline/call.js';
import { parseInput } from '../pipeline/parse.js';
import { importedLink, importedMemory, MEMORY_ALIASES } from './import-row.js';
import { keySpeaksFor, signatureCovers } from './imported-attestation.js';
import { withKnownMembers } from './unknown-members.js';

/** A row that is ready for the store. */
export interface ReadyMemory {
  readonly memory: Memory;
  /** The row now belongs to the importing agent, and belonged to another. */
  readonly restamped: boolean;
  /** False for a row without dates. */
  readonly dated: boolean;
}

/**
 * Makes a memory from an imported row (interface §4.10, decisions "Identity and attestation"). It belongs to the
 * importing agent unless its signature proves its author, or the source is trusted. It is attested only by a signature
 * of a key that speaks for its author here.
 */
export async function readyMemory(
  call: ReadCall,
  raw: unknown,
  trusted: boolean,
  unknownFields: 'refuse' | 'ignore' = 'refuse',
): Promise<Result<ReadyMemory>> {
  const object = withoutNulls(raw);
  if (!object.ok) return failed(object.error);
  const read = withKnownMembers(object.value, memoryKind, importedMemory, unknownFields);
  const parsed = parseInput(importedMemory, read, unknownFields);
  if (!parsed.ok) return failed(parsed.error);
  const row = parsed.value;
  if (row.expires_at !== undefined && row.expires_at <= call.now) {
    return fail('VALIDATION_FAILED', 'expires_at lies in the past', { fields: ['expires_at'] });
  }
  const invalid = validityProblem({
    valid_from: row.valid_from ?? null,
    valid_until: row.valid_until ?? null,
  });
  if (invalid !== null) return failed(invalid);
  const problem = identityProblem(row.metadata);
  if (problem !== null) return fail('VALIDATION_FAILED', problem, { fields: ['metadata'] });
  const dated = row.updated_at !== undefined || row.created_at !== undefined;
  return ok({ ...(await stamped(call, memoryOf(call, row), trusted)), dated });
}

/**
 * Checks the ids in metadata that name a present or former owner; the service's own ids are checked with the stamps.
 */
function identityProblem(metadata: Readonly<Record<string, unknown>>): string | null {
  for (const key of ['agent_id', 'imported_from_agent_id']) {
    const id = metadata[key];
    if (id === undefined || (typeof id === 'string' && RESERVED_PRINCIPALS.has(id))) continue;
    const problem = typeof id === 'string' ? agentIdProblem(id) : 'must be text';
    if (problem !== null) return `metadata.${key}: ${problem}`;
  }
  return null;
}

/** Changes members in place, so that the others do not move. */
async function stamped(
  call: ReadCall,
  memory: Memory,
  trusted: boolean,
): Promise<Pick<ReadyMemory, 'memory' | 'restamped'>> {
  const metadata: Record<string, unknown> = { ...memory.metadata };
  const original = metadata['agent_id'] as string | undefined;
  const reserved = original !== undefined && RESERVED_PRINCIPALS.has(original);
  const signed = memory.write_signature;
  const covered = !reserved && signed !== null && signatureCovers(memory, call.services);
  const attested = covered
    ? await keySpeaksFor(Buffer.from(signed.public_key, 'base64'), original!, call.services)
    : null;

  const restamped = attested === null && (!trusted || reserved) && original !== call.caller.agentId;
  if (restamped) {
    metadata['agent_id'] = call.caller.agentId;
    if (original !== undefined) metadata['imported_from_agent_id'] = original;
  }
  if (attested !== null || !trusted || metadata['attest_level'] !== undefined) {
    metadata['attest_level'] = attested === null ? 'claimed' : 'agent_attested';
  }
  if (attested === null || attested.attestedBy === null) delete metadata['attested_by'];
  else metadata['attested_by'] = attested.attestedBy;
  // A signature that no longer covers the row is dropped; one by an unknown key is kept, because the key may become
  // known.
  const kept = covered && !restamped ? signed : null;
  return { memory: { ...memory, metadata, write_signature: kept }, restamped };
}

function memoryOf(call: ReadCall, row: z.output<typeof importedMemory.input>): Memory {
  const createdAt = row.created_at ?? call.now;
  return {
    ...row,
    id: row.id ?? call.services.random.uuid(),
    namespace: row.namespace ?? call.services.settings.defaultNamespace,
    created_at: createdAt,
    updated_at: row.updated_at ?? createdAt,
    last_accessed_at: row.last_accessed_at ?? null,
    expires_at: row.expires_at ?? null,
    valid_from: row.valid_from ?? null,
    valid_until: row.valid_until ?? null,
    conversation: row.conversation ?? null,
    turn: row.turn ?? null,
    atomised_into: row.atomised_into ?? null,
    atom_of: row.atom_of ?? null,
    entity_id: row.entity_id ?? null,
    persona_version: row.persona_version ?? null,
    source_uri: row.source_uri ?? null,
    source_span: row.source_span ?? null,
    confidence_signals: row.confidence_signals ?? null,
    confidence_decayed_at: row.confidence_decayed_at ?? null,
    mentioned_entity_id: row.mentioned_entity_id ?? null,
    write_signature: row.write_signature ?? null,
    created_hlc: '',
    edited: '',
    rest: row.rest ?? NO_REST,
    hlc: '',
    origin: '',
    origin_seq: 0,
    seen: {},
  };
}

/** Makes a link from an imported row; its attestation only counts from a trusted source. */
export function readyLink(
  call: ReadCall,
  raw: unknown,
  trusted: boolean,
  unknownFields: 'refuse' | 'ignore' = 'refuse',
): Result<Link> {
  const object = withoutNulls(raw);
  if (!object.ok) return failed(object.error);
  const read = withKnownMembers(object.value, linkKind, importedLink, unknownFields);
  const parsed = parseInput(importedLink, read, unknownFields);
  if (!parsed.ok) return failed(parsed.error);
  const row = parsed.value;
  return ok({
    source_id: row.source_id,
    target_id: row.target_id,
    relation: row.relation,
    created_at: row.created_at ?? call.now,
    valid_from: row.valid_from ?? null,
    valid_until: row.valid_until ?? null,
    observed_by: trusted ? (row.observed_by ?? null) : call.caller.agentId,
    signature: trusted ? (row.signature ?? null) : null,
    attest_level: trusted ? row.attest_level : 'unsigned',
    rest: row.rest ?? NO_REST,
    signed_at: trusted ? (row.signed_at ?? null) : null,
    public_key: trusted ? (row.public_key ?? null) : null,
    retired_at: row.retired_at ?? null,
    believed_until: row.believed_until ?? null,
    believed_from: row.believed_from ?? null,
    earlier: (row.earlier ?? []).map((period) => ({
      ...period,
      observed_by: trusted ? period.observed_by : call.caller.agentId,
    })),
  });
}

/** An unset field may be null or absent. */
function withoutNulls(raw: unknown): Result<Record<string, unknown>> {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) {
    return fail('VALIDATION_FAILED', 'must be a JSON object');
  }
  const object: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(raw)) {
    if (value === null) continue;
    const field = Object.hasOwn(MEMORY_ALIASES, key) ? MEMORY_ALIASES[key]! : key;
    if (Object.hasOwn(object, field)) return fail('VALIDATION_FAILED', `${field} is given twice`);
    object[field] = value;
  }
  return ok(object);
}
