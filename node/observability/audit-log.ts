import { createHash, createHmac } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import type { Crypto, Signer } from '../../protocol/base/seams.js';
import { type AuditRow, auditRowHash } from '../../protocol/log/audit.js';
import type { AuditPolicy } from '../config/audit-policy.js';

/** What a line of the audit log says; a line of an act has all members up to `payload`, one of a signature has `attestation`. */
export interface AuditLine {
  readonly v: 1;
  readonly time: string;
  readonly sequence: number;
  readonly actor?: string;
  readonly action?: string;
  readonly payload_hash?: string;
  /** The hash of the row in the database, by which both are compared. */
  readonly row_hash?: string;
  readonly payload?: unknown;
  readonly attestation?: { readonly public_key: string; readonly signature: string };
  /** The hash of the line before; absent where lines are not chained. */
  readonly prev?: string;
  readonly hash?: string;
}

export const AUDIT_LINE_GENESIS = '0'.repeat(64);
const NAME = /^audit-\d{4}-\d\d-\d\d\.jsonl$/;

/** The files of an audit log, oldest first. */
export function auditLogFiles(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => NAME.test(name))
    .sort()
    .map((name) => join(folder, name));
}

export const auditLogFile = (folder: string, instant: string): string =>
  join(folder, `audit-${instant.slice(0, 10)}.jsonl`);

/** The lines of a file; null for one that cannot be read. */
export function auditLinesIn(path: string): readonly (AuditLine | null)[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((text) => text !== '')
    .map(auditLineOf);
}

/** The line that a text is; null for another text. */
export function auditLineOf(text: string): AuditLine | null {
  try {
    const value = JSON.parse(text) as AuditLine;
    return value.v === 1 && Number.isSafeInteger(value.sequence) && typeof value.time === 'string'
      ? value
      : null;
  } catch {
    return null;
  }
}

/** The hash of a line: of all its members besides the hash. */
export function auditLineHash({ hash: _hash, ...line }: AuditLine): string {
  return createHash('sha256')
    .update(`mnemesh/audit-log/v1\n${canonicalJson(line)}`)
    .digest('hex');
}

/** The bytes that the signature of an attestation covers: where it stands, and what came before. */
export const attestedBytes = (sequence: number, time: string, prev: string): Uint8Array =>
  Buffer.from(canonicalJson(['mnemesh/audit-log-attestation/v1', sequence, time, prev]));

export interface AuditLineParts {
  readonly policy: AuditPolicy;
  readonly signer: Signer;
  readonly crypto: Crypto;
}

/** The members of a line for a row of the chain. A name in its details would undo a pseudonym, so they are left out with it. */
export function lineOfRow(row: AuditRow, { policy, signer, crypto }: AuditLineParts): AuditLine {
  const showsPayload = !policy.redacts && !policy.pseudonymizes && row.payload !== null;
  return {
    v: 1,
    time: row.timestamp,
    sequence: row.sequence,
    actor: policy.pseudonymizes ? pseudonymOf(row.agent_id, signer) : row.agent_id,
    action: row.event_type,
    payload_hash: Buffer.from(row.payload_hash).toString('hex'),
    row_hash: Buffer.from(auditRowHash(row, crypto)).toString('hex'),
    ...(showsPayload ? { payload: JSON.parse(row.payload) as unknown } : {}),
  };
}

/** The same actor has the same pseudonym as long as the node keeps its key; without the key nobody can try names. */
function pseudonymOf(actor: string, signer: Signer): string {
  const key = createHash('sha256')
    .update(signer.sign(Buffer.from('mnemesh/audit-pseudonyms/v1')))
    .digest();
  return `p:${createHmac('sha256', key).update(actor).digest('hex').slice(0, 32)}`;
}

/** What a verification of the files found. */
export interface AuditLogReport {
  readonly files: number;
  readonly lines: number;
  readonly first_sequence: number | null;
  readonly last_sequence: number | null;
  readonly attestations: number;
  /** Lines whose hash is absent, as they were written without a chain. */
  readonly unchained: number;
  readonly intact: boolean;
  /** The first thing that is wrong; null for a sound log. */
  readonly problem: string | null;
}

/**
 * Checks hashes, places and signatures of an audit log, line by line. The files before the first may be gone, as the retention
 * removes them; a day between two others may not.
 */
export class AuditLogVerifier {
  #lines = 0;
  #first: number | null = null;
  #last: number | null = null;
  #attestations = 0;
  #unchained = 0;
  #prev: string | null = null;
  #problem: string | null = null;

  constructor(
    private readonly crypto: Crypto,
    /** The key of this node; attestations with another one count as wrong. Null takes any key. */
    private readonly ownKey: Uint8Array | null,
  ) {}

  check(place: string, line: AuditLine | null): void {
    this.#lines += 1;
    const problem = this.#problemOf(line);
    if (problem !== null) this.#problem ??= `${place}: ${problem}`;
    if (line === null) return;
    this.#first ??= line.sequence;
    this.#last = line.sequence;
    if (line.hash !== undefined) this.#prev = line.hash;
    else this.#unchained += 1;
    if (line.attestation !== undefined) this.#attestations += 1;
  }

  #problemOf(line: AuditLine | null): string | null {
    if (line === null) return 'is no line of an audit log';
    const isAct = line.attestation === undefined;
    if (this.#last !== null && line.sequence !== this.#last + (isAct ? 1 : 0)) {
      return `has sequence ${line.sequence} after ${this.#last}`;
    }
    if (
      this.#last === null &&
      line.sequence === 1 &&
      (line.prev ?? AUDIT_LINE_GENESIS) !== AUDIT_LINE_GENESIS
    ) {
      return 'is the first and names one before it';
    }
    if (line.hash === undefined && this.#prev !== null) return 'has no hash, and lines before it have one';
    if (line.hash !== undefined && line.hash !== auditLineHash(line))
      return 'does not have the hash of its words';
    if (line.hash !== undefined && this.#prev !== null && line.prev !== this.#prev) {
      return 'does not continue the line before it';
    }
    return line.attestation === undefined ? null : this.#wrongAttestation(line, line.attestation);
  }

  #wrongAttestation(
    line: AuditLine,
    { public_key, signature }: NonNullable<AuditLine['attestation']>,
  ): string | null {
    const key = Buffer.from(public_key, 'base64');
    if (this.ownKey !== null && !key.equals(this.ownKey))
      return 'is signed with another key than that of this node';
    const bytes = attestedBytes(line.sequence, line.time, line.prev ?? '');
    return this.crypto.verify(key, bytes, Buffer.from(signature, 'base64')) ? null : 'has a wrong signature';
  }

  report(files: number): AuditLogReport {
    return {
      files,
      lines: this.#lines,
      first_sequence: this.#first,
      last_sequence: this.#last,
      attestations: this.#attestations,
      unchained: this.#unchained,
      intact: this.#problem === null,
      problem: this.#problem,
    };
  }
}
