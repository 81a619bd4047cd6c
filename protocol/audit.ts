import { canonicalJson } from './canonical-json.js';
import type { Crypto } from './seams.js';

/** Something that a principal did and that must not be deniable later (interface §2.10). */
export interface AuditEvent {
  readonly agentId: string;
  /** For example `agent.key_bound`. */
  readonly type: string;
  /** What was done; no content of memories, no secret. */
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A row of the chain. Hashes, signatures and keys are raw bytes. */
export interface AuditRow {
  /** 1, 2, 3 … without a gap. */
  readonly sequence: number;
  readonly id: string;
  readonly agent_id: string;
  readonly event_type: string;
  /** SHA-256 of the canonical JSON of the payload. */
  readonly payload_hash: Uint8Array;
  /** Canonical JSON; null in rows of older releases. */
  readonly payload: string | null;
  /** Null while the node has no key. */
  readonly signature: Uint8Array | null;
  /** The 32-byte key that signed; null in unsigned rows, and in rows of older releases. */
  readonly public_key: Uint8Array | null;
  readonly attest_level: string;
  readonly timestamp: string;
  /** Hash of the row before; 32 zero bytes in the first. */
  readonly prev_hash: Uint8Array;
  /** How the row is hashed: 1 in rows of older releases, whose separators could stand inside a field. */
  readonly form: number;
}

export const AUDIT_FORM = 2;
export const AUDIT_GENESIS = new Uint8Array(32);

const DOMAIN = 'mnemesh/signed-events/row-v2';
const encoder = new TextEncoder();

export function auditPayload(event: AuditEvent): string {
  return canonicalJson(event.payload);
}

/** What the signature of a row covers: everything that the row says, its place in the chain included. */
export function auditSignedBytes(row: AuditRow): Uint8Array {
  return framed([
    encoder.encode(DOMAIN),
    ...fieldsOf(row),
    row.prev_hash,
    encoder.encode(String(row.sequence)),
  ]);
}

/** The hash that the next row carries as `prev_hash`. */
export function auditRowHash(row: AuditRow, crypto: Crypto): Uint8Array {
  if (row.form === 1) return crypto.sha256(separated(row));
  const signature = row.signature ?? new Uint8Array(0);
  return crypto.sha256(framed([auditSignedBytes(row), signature]));
}

function fieldsOf(row: AuditRow): Uint8Array[] {
  const texts = [row.id, row.agent_id, row.event_type, row.attest_level, row.timestamp];
  return [...texts.map((text) => encoder.encode(text)), row.payload_hash];
}

/** Each part with its length before it, so that no two lists of parts give the same bytes. */
function framed(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const part of parts) {
    view.setUint32(at, part.length);
    bytes.set(part, at + 4);
    at += 4 + part.length;
  }
  return bytes;
}

/** The older form (reference-federation §2.4): fields parted by 0x1F, the sequence as eight bytes. */
function separated(row: AuditRow): Uint8Array {
  const sequence = new Uint8Array(8);
  new DataView(sequence.buffer).setBigUint64(0, BigInt(row.sequence));
  const parts = [
    encoder.encode(row.id),
    encoder.encode(row.agent_id),
    encoder.encode(row.event_type),
    row.payload_hash,
    row.signature ?? new Uint8Array(0),
    encoder.encode(row.attest_level),
    encoder.encode(row.timestamp),
    sequence,
  ];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, parts.length - 1)).fill(0x1f);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length + 1;
  }
  return bytes;
}
