import { canonicalJson } from '../base/canonical-json.js';
import { publicKeyText } from '../base/key-text.js';
import type { AgentId } from '../base/meanings.js';
import type { Crypto } from '../base/seams.js';

/** An act of a principal that must not be deniable later (interface §2.10). */
export interface AuditEvent {
  readonly agentId: AgentId;
  /** For example `agent.key_bound`. */
  readonly type: string;
  /** The details of the act, without contents of memories and without secrets. */
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A row of the chain. Hashes, signatures and keys are raw bytes. */
export interface AuditRow {
  /** 1, 2, 3 … without a gap. */
  readonly sequence: number;
  readonly id: string;
  readonly agent_id: AgentId;
  readonly event_type: string;
  /** SHA-256 of the canonical JSON of the payload. */
  readonly payload_hash: Uint8Array;
  /** Canonical JSON; null in rows of older releases. */
  readonly payload: string | null;
  /** Null while the node has no key. */
  readonly signature: Uint8Array | null;
  /** The 32-byte key that signed; null in unsigned rows and in rows of older releases. */
  readonly public_key: Uint8Array | null;
  readonly attest_level: string;
  readonly timestamp: string;
  /** Hash of the row before; 32 zero bytes in the first. */
  readonly prev_hash: Uint8Array;
  /** The hash format of the row: 1 in rows of older releases, whose separators could occur inside a field. */
  readonly form: number;
}

export const AUDIT_FORM = 2;
export const AUDIT_GENESIS = new Uint8Array(32);

const DOMAIN = 'mnemesh/signed-events/row-v2';
const encoder = new TextEncoder();

export function auditPayload(event: AuditEvent): string {
  return canonicalJson(event.payload);
}

/** The bytes that the signature of a row covers: all fields, with its place in the chain. */
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

/** Each part after its length, so two different lists of parts never give the same bytes. */
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

/** The older form (reference-federation §2.4): fields separated by 0x1F, the sequence as eight bytes. */
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

/** The last end of the chain that the holder of a key wrote, signed with that key; stored next to the database. */
export interface AuditHead {
  readonly sequence: number;
  /** Hash of the newest row. */
  readonly hash: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly signature: Uint8Array;
}

/** One head for each key that wrote rows into the chain, in no order; none when there is no file. */
export type AuditHeads = readonly AuditHead[] | 'damaged';

/** The result of a verification (reference-federation §2.4). */
export interface AuditReport {
  readonly rows_checked: number;
  /** The first sequence that does not continue the row before it. */
  readonly chain_break: number | null;
  readonly signature_failures: readonly number[];
  readonly chain_holds: boolean;
  readonly unsigned: number;
  /** Rows signed by another key than this node's, for example after a move to another machine. */
  readonly foreign_signatures: number;
  /** How the head file compares with the chain's end. */
  readonly head: string;
  /** Rows after the last one that a trusted key vouches for. */
  readonly after_head: number;
  /** The keys of other homes whose heads are not trusted here, as `identity export-pub` prints them. */
  readonly other_keys: readonly string[];
  /** One sentence that says what is wrong; null for a sound chain. */
  readonly problem: string | null;
  /** True when the only fault is that no key which this home trusts has signed a head. */
  readonly key_wanted: boolean;
}

/** The bytes under the signature of a head. */
export function auditHeadBytes(sequence: number, hash: Uint8Array): Uint8Array {
  return framed([encoder.encode('mnemesh/audit-head/v1'), encoder.encode(String(sequence)), hash]);
}

/**
 * Checks a chain row by row. Pass every row in order, from the first or after `startAfter`; it keeps the first break
 * and every bad signature.
 */
export class AuditVerifier {
  private rowsChecked = 0;
  private unsigned = 0;
  private chainBreak: number | null = null;
  private readonly signatureFailures: number[] = [];
  private foreign = 0;
  /** Sequence and hash of the last row. */
  private last: { readonly sequence: number; readonly hash: Uint8Array } | null = null;
  /** Hashes of the rows that heads name, by sequence, of those that were passed. */
  private readonly headHashes = new Map<number, Uint8Array>();
  private readonly named: ReadonlySet<number>;
  private readonly trustedKeys: readonly Uint8Array[];

  constructor(
    private readonly crypto: Crypto,
    /** 32 raw bytes; null while the node has no key. */
    private readonly ownKey: Uint8Array | null,
    private readonly heads: AuditHeads,
    /** Public keys of other homes that the caller vouches for. */
    otherKeys: readonly Uint8Array[] = [],
  ) {
    this.named = new Set(heads === 'damaged' ? [] : heads.map(({ sequence }) => sequence));
    this.trustedKeys = ownKey === null ? otherKeys : [ownKey, ...otherKeys];
  }

  /** Sets the row before the first row to check. */
  startAfter(row: AuditRow): void {
    this.remember(row);
  }

  check(row: AuditRow): void {
    this.rowsChecked += 1;
    const expected = this.last ?? { sequence: 0, hash: AUDIT_GENESIS };
    const follows = row.sequence === expected.sequence + 1 && equal(row.prev_hash, expected.hash);
    const sound = row.payload === null || equal(this.crypto.sha256(row.payload), row.payload_hash);
    if (!(follows && sound)) this.chainBreak ??= row.sequence;
    this.verifySignature(row);
    this.remember(row);
  }

  private verifySignature(row: AuditRow): void {
    const { signature, public_key: key } = row;
    if (signature === null) {
      this.unsigned += 1;
      // A signed row whose signature was removed still says that it was signed.
      if (row.form !== 1 && row.attest_level !== 'unsigned') this.signatureFailures.push(row.sequence);
      return;
    }
    // Rows of older releases do not say which key signed them.
    if (row.form === 1 || key === null) {
      if (row.form !== 1) this.signatureFailures.push(row.sequence);
      return;
    }
    if (this.ownKey === null || !equal(key, this.ownKey)) this.foreign += 1;
    if (!this.crypto.verify(key, auditSignedBytes(row), signature)) this.signatureFailures.push(row.sequence);
  }

  private remember(row: AuditRow): void {
    const hash = auditRowHash(row, this.crypto);
    this.last = { sequence: row.sequence, hash };
    if (this.named.has(row.sequence)) this.headHashes.set(row.sequence, hash);
  }

  /** The report on all rows passed so far. */
  report(): AuditReport {
    const verdict = this.headVerdict();
    const problem = this.problem(verdict);
    return {
      rows_checked: this.rowsChecked,
      chain_break: this.chainBreak,
      signature_failures: this.signatureFailures,
      chain_holds: problem === null,
      unsigned: this.unsigned,
      foreign_signatures: this.foreign,
      head: verdict.word,
      after_head: this.afterHead(),
      other_keys: this.otherHeads().map(({ publicKey }) => publicKeyText(publicKey)),
      problem,
      key_wanted: problem !== null && verdict.keyWanted === true && this.problem(SOUND) === null,
    };
  }

  private problem(verdict: Verdict): string | null {
    if (this.chainBreak !== null) return `it breaks at sequence ${this.chainBreak}`;
    const [failure] = this.signatureFailures;
    if (failure !== undefined) return `the signature of sequence ${failure} is wrong`;
    return verdict.sound ? null : `its head is ${verdict.word}`;
  }

  private isTrusted(key: Uint8Array): boolean {
    return this.trustedKeys.some((trusted) => equal(trusted, key));
  }

  private otherHeads(): readonly AuditHead[] {
    return this.heads === 'damaged' ? [] : this.heads.filter(({ publicKey }) => !this.isTrusted(publicKey));
  }

  private afterHead(): number {
    const ends = this.heads === 'damaged' ? [] : this.heads.filter((head) => this.isTrusted(head.publicKey));
    const end = Math.max(0, ...ends.map(({ sequence }) => sequence));
    return Math.min(this.rowsChecked, Math.max(0, (this.last?.sequence ?? 0) - end));
  }

  /**
   * Compares the chain's end with the heads. A head may lag behind the chain; a chain that ends before a head was cut.
   * Each head must match the chain. Only a head with a trusted key proves that the chain is complete: anyone who can
   * write the file can add a head with a key of their own.
   */
  private headVerdict(): Verdict {
    const { heads } = this;
    if (heads === 'damaged') return { word: 'damaged', sound: false };
    if (heads.length === 0) {
      return this.rowsChecked > this.unsigned
        ? { word: 'missing', sound: false }
        : { word: 'none', sound: true };
    }
    const wrong = heads.map((head) => this.wrongHead(head)).find((word) => word !== null);
    if (wrong !== undefined) return { word: wrong, sound: false };
    const trusted = heads.filter(({ publicKey }) => this.isTrusted(publicKey));
    if (trusted.length === 0) {
      return { word: `signed by another home: ${keysOf(heads)}`, sound: false, keyWanted: true };
    }
    // The rows are before the checked part, so they were not read.
    return trusted.some(({ sequence }) => this.headHashes.has(sequence))
      ? SOUND
      : { word: 'before the part that was checked', sound: true };
  }

  /** What is wrong with a head, whoever signed it; null when it fits. */
  private wrongHead({ sequence, hash, publicKey, signature }: AuditHead): string | null {
    if (!this.crypto.verify(publicKey, auditHeadBytes(sequence, hash), signature))
      return 'not signed by its key';
    if (this.last === null || this.last.sequence < sequence) return 'beyond the end: rows were cut off';
    const known = this.headHashes.get(sequence);
    return known === undefined || equal(known, hash) ? null : 'in conflict with the row that it names';
  }
}

interface Verdict {
  readonly word: string;
  readonly sound: boolean;
  readonly keyWanted?: boolean;
}

const SOUND: Verdict = { word: 'sound', sound: true };

const keysOf = (heads: readonly AuditHead[]): string =>
  heads.map(({ publicKey }) => `key ${publicKeyText(publicKey)}`).join(', ');

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
