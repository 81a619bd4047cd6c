import type { Crypto, Signer } from '../../protocol/base/seams.js';
import {
  AUDIT_FORM,
  AUDIT_GENESIS,
  type AuditEvent,
  type AuditRow,
  auditPayload,
  auditRowHash,
  auditSignedBytes,
} from '../../protocol/log/audit.js';
import type { AuditHeadFile } from './audit-head.js';
import type { Connection } from './connection.js';

/** Columns of the chain, as `AuditRow` names them. */
export const AUDIT_COLUMNS =
  'sequence, id, agent_id, event_type, payload_hash, payload, signature, public_key, attest_level, timestamp, prev_hash, form';

/**
 * Appends to the audit chain inside the write transaction, so an act and its record are stored together or not at all.
 * After the commit it writes the head next to the database, so a cut end of the chain is detected (interface §2.10).
 */
export class AuditChain {
  private head: { readonly sequence: number; readonly hash: Uint8Array } | null = null;
  private readonly last;
  private readonly at;
  private readonly insert;

  constructor(
    db: Connection,
    private readonly crypto: Crypto,
    private readonly signer: Signer | null,
    private readonly headFile: AuditHeadFile | null,
  ) {
    this.last = db.prepare<[], AuditRow>(
      `SELECT ${AUDIT_COLUMNS} FROM signed_events ORDER BY sequence DESC LIMIT 1`,
    );
    this.at = db.prepare<[number], AuditRow>(`SELECT ${AUDIT_COLUMNS} FROM signed_events WHERE sequence = ?`);
    this.insert = db.prepare(
      `INSERT INTO signed_events (${AUDIT_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  append(event: AuditEvent, now: string): void {
    const before = this.last.get();
    const payload = auditPayload(event);
    const sequence = (before?.sequence ?? 0) + 1;
    const prevHash = before === undefined ? AUDIT_GENESIS : auditRowHash(before, this.crypto);
    const payloadHash = this.crypto.sha256(payload);
    const unsigned: AuditRow = {
      sequence,
      id: eventId(this.crypto, prevHash, sequence, payloadHash),
      agent_id: event.agentId,
      event_type: event.type,
      payload_hash: payloadHash,
      payload,
      signature: null,
      public_key: this.signer === null ? null : this.signer.publicKey,
      attest_level: this.signer === null ? 'unsigned' : 'daemon_signed',
      timestamp: now,
      prev_hash: prevHash,
      form: AUDIT_FORM,
    };
    const signature = this.signer === null ? null : this.signer.sign(auditSignedBytes(unsigned));
    const row: AuditRow = { ...unsigned, signature };
    this.insert.run(
      row.sequence,
      row.id,
      row.agent_id,
      row.event_type,
      row.payload_hash,
      row.payload,
      row.signature,
      row.public_key,
      row.attest_level,
      row.timestamp,
      row.prev_hash,
      row.form,
    );
    this.head = { sequence, hash: auditRowHash(row, this.crypto) };
  }

  /** Makes `committed` write the present head of the chain. */
  takeHead(): void {
    const last = this.last.get();
    this.head =
      last === undefined ? null : { sequence: last.sequence, hash: auditRowHash(last, this.crypto) };
  }

  private hashAt(sequence: number): Uint8Array | null {
    const row = this.at.get(sequence);
    return row === undefined ? null : auditRowHash(row, this.crypto);
  }

  /** Call after a rollback. */
  forget(): void {
    this.head = null;
  }

  /** Call after the commit: writes the head to its file. */
  committed(): void {
    if (this.head !== null && this.signer !== null) {
      this.headFile?.write(this.head, this.signer, (sequence) => this.hashAt(sequence));
    }
    this.head = null;
  }
}

/** A UUID derived from the row's place, so that no randomness is needed inside a transaction. */
function eventId(crypto: Crypto, prevHash: Uint8Array, sequence: number, payloadHash: Uint8Array): string {
  const hex = crypto.sha256Hex(Buffer.concat([prevHash, Buffer.from(`/${sequence}/`), payloadHash]));
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
