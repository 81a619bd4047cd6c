import type { Origin, PeerId } from '../../protocol/base/meanings.js';
import type { Crypto } from '../../protocol/base/seams.js';
import type { Row } from '../../protocol/decide/rows.js';
import { type Kind, type Subject, wordsOf } from '../../protocol/kinds/kind.js';
import type { Version } from '../../protocol/kinds/version.js';
import { EPOCH_KIND, type EpochNotice, epochNoticeOf } from '../../protocol/log/epoch-notice.js';
import { headerHash } from '../../protocol/log/operation-log.js';
import type { Scope } from '../../protocol/log/scope.js';
import type { ParkReason, WireOperation } from '../../protocol/log/wire-operation.js';
import type { LoggedOperation } from '../../protocol/replication/derive.js';
import { versionOf } from '../../protocol/replication/payloads.js';
import type { ParkedPage, StoredSubject } from '../../protocol/replication/reads.js';
import {
  type HistoricEdit,
  outOfScopeVersion,
  type SubjectPlace,
} from '../../protocol/replication/versions.js';
import type { Connection } from './connection.js';
import { DamagedRowError } from './damage.js';
import type { SubjectTables } from './kinds/tables.js';
import { KNOWN_HASH, type OperationSqlRow, operationFromSql, vectorOf } from './operation-rows.js';

/** Reads that merging and repair need about a subject, inside the write transaction. */
export class SubjectReads {
  private readonly statements;

  constructor(
    db: Connection,
    private readonly tables: SubjectTables,
    private readonly crypto: Crypto,
  ) {
    this.statements = {
      originsOf: db.prepare<[string, string], { n: number }>(
        'SELECT count(*) AS n FROM origins WHERE origin >= ? AND origin < ?',
      ),
      scope: db.prepare<[string, string], { scope: string }>(
        `SELECT scope FROM origins WHERE origin >= ? AND origin < ? AND scope IS NOT NULL
         ORDER BY hlc DESC LIMIT 1`,
      ),
      head: db.prepare<[string], { seq: number; head: string }>(
        'SELECT seq, head FROM origins WHERE origin = ?',
      ),
      hash: db.prepare<[{ origin: string; seq: number }], { hash: string }>(KNOWN_HASH),
      parkedReason: db.prepare<[string, number], { parked: ParkReason | null }>(
        `SELECT iif(parked = 'elsewhere', 'out_of_scope', parked) AS parked FROM operations
         WHERE origin = ? AND origin_seq = ?`,
      ),
      nonce: db.prepare<[string, Buffer], { n: number }>(
        'SELECT 1 AS n FROM federation_nonce_cache WHERE peer_id = ? AND fingerprint = ?',
      ),
      siblings: db.prepare<[string, string], OperationSqlRow>(
        `SELECT o.* FROM siblings s JOIN operations o ON o.origin = s.origin AND o.origin_seq = s.origin_seq
         WHERE s.kind = ? AND s.subject = ?`,
      ),
      kept: db.prepare<[string, string], { origin: string; seq: number }>(
        'SELECT origin, origin_seq AS seq FROM siblings WHERE kind = ? AND subject = ?',
      ),
      log: db.prepare<[string], OperationSqlRow>(
        'SELECT * FROM operations WHERE subject = ? ORDER BY commit_sequence',
      ),
      effective: db.prepare<[string], OperationSqlRow>(
        'SELECT * FROM operations WHERE subject = ? AND parked IS NULL',
      ),
      placed: db.prepare<[string], OperationSqlRow>(
        "SELECT * FROM operations WHERE subject = ? AND (parked IS NULL OR parked = 'elsewhere')",
      ),
      namespaces: db.prepare<[string], { kind: string; namespace: string }>(
        'SELECT DISTINCT kind, namespace FROM operations WHERE subject = ?',
      ),
      notices: db.prepare<[string], { origin: string; subject: string; payload: string }>(
        `SELECT origin, subject, payload FROM operations
         WHERE subject = ? AND kind = '${EPOCH_KIND}' AND payload IS NOT NULL AND parked IS NULL`,
      ),
      nameless: db.prepare<[{ from: string; keep: number; to: string }], { n: number }>(
        `SELECT 1 AS n FROM operations o WHERE o.origin = @from AND o.origin_seq > @keep AND NOT EXISTS (
           SELECT 1 FROM operations n WHERE n.origin = @to AND n.origin_seq = o.origin_seq - @keep
             AND n.kind = o.kind AND n.subject = o.subject)
         LIMIT 1`,
      ),
      beyond: db.prepare<[string, number], { kind: string; subject: string }>(
        `SELECT DISTINCT kind, subject FROM operations WHERE origin = ? AND origin_seq > ?
         ORDER BY subject, kind`,
      ),
      parked: db.prepare<[ParkedPage], OperationSqlRow & { readonly commit_sequence: number }>(
        `SELECT * FROM operations WHERE parked IS NOT NULL AND payload IS NOT NULL AND commit_sequence > @after
           AND parked IN ('unknown_kind', 'internal', 'invalid', 'not_home')
         ORDER BY commit_sequence LIMIT @limit OFFSET @skip`,
      ),
      at: db.prepare<[string, number], OperationSqlRow>(
        'SELECT * FROM operations WHERE origin = ? AND origin_seq = ?',
      ),
    };
  }

  originHead(origin: Origin): { seq: number; head: string } | null {
    return this.statements.head.get(origin) ?? null;
  }

  /** How many origins of a peer have an end here. */
  originsOf(peerId: PeerId): number {
    // The character after the slash ends the range.
    return this.statements.originsOf.get(`${peerId}/`, `${peerId}0`)!.n;
  }

  /** The scope that a peer had when its last operation came; null when nothing was noted. */
  scopeOf(peerId: PeerId): { readonly scope: Scope } | null {
    const row = this.statements.scope.get(`${peerId}/`, `${peerId}0`);
    return row === undefined ? null : { scope: JSON.parse(row.scope) as Scope };
  }

  /** The hash that the next operation names, or the end of the origin's chain. */
  operationHash(origin: Origin, seq: number): string | null {
    return this.statements.hash.get({ origin, seq })?.hash ?? null;
  }

  parkedReason(origin: Origin, seq: number): ParkReason | null {
    return this.statements.parkedReason.get(origin, seq)?.parked ?? null;
  }

  nonceUsed(peerId: string, fingerprint: string): boolean {
    return this.statements.nonce.get(peerId, Buffer.from(fingerprint, 'hex')) !== undefined;
  }

  /** Reads concurrent versions from the log; a single version is the row itself, or its tombstone. */
  versions({ kind: name, id }: Subject): readonly Version[] {
    const kind = this.kind(name);
    const siblings = this.statements.siblings.all(name, id);
    if (siblings.length > 0) return siblings.map((row) => siblingVersion(kind, row));
    const row = this.tables.of(name).row(id);
    if (row !== null) return [versionOfRow(row)];
    const tombstone = this.tables.tombstones.version(kind, id);
    return tombstone === null ? [] : [tombstone];
  }

  history({ kind: name, id }: Subject): readonly HistoricEdit[] {
    const { contested, final } = this.kind(name);
    const effective = this.statements.effective.all(id);
    // Of an erased subject no edit is left that could have lost.
    if (effective.some(({ kind, payload }) => payload !== null && final.includes(kind))) return [];
    const rows = effective.filter(({ kind }) => contested.includes(kind));
    return rows.map((row) => ({
      hlc: row.hlc,
      origin: row.origin,
      seq: row.origin_seq,
      kind: row.kind,
      seen: vectorOf(row.seen),
    }));
  }

  namespaces({ kind: name, id }: Subject): readonly string[] {
    const words = this.kind(name).words;
    const rows = this.statements.namespaces.all(id).filter(({ kind }) => kind in words);
    return [...new Set(rows.map(({ namespace }) => namespace))];
  }

  places({ kind: name, id }: Subject): readonly SubjectPlace[] {
    const versions = wordsOf(this.kind(name), 'image', 'removal');
    const rows = this.statements.placed.all(id).filter(({ kind }) => versions.includes(kind));
    return rows.map((row) => ({
      origin: row.origin,
      seq: row.origin_seq,
      namespace: row.namespace,
      seen: vectorOf(row.seen),
    }));
  }

  /** An operation that does not match the chain is answered with only its position. */
  log({ kind: name, id }: Subject): readonly LoggedOperation[] {
    const { words } = this.kind(name);
    const [image = ''] = wordsOf(this.kind(name), 'image');
    return this.statements.log.all(id).flatMap((row): LoggedOperation[] => {
      const operation = operationFromSql(row);
      const parked = row.parked as ParkReason | null;
      if (!this.isChained(operation, parked)) {
        return [{ ...operation, kind: image, seen: {}, payload: null, parked }];
      }
      if (!(operation.kind in words)) return [];
      const { payload, payloadHash } = operation;
      const sound = payload !== null && this.crypto.sha256Hex(payload) === payloadHash;
      return [{ ...operation, payload: sound ? payload : null, parked }];
    });
  }

  stored({ kind: name, id }: Subject): StoredSubject {
    return {
      ...this.tables.of(name).stored(id),
      tombstone: this.tables.tombstones.stored(this.kind(name), id),
      siblings: this.statements.kept.all(name, id),
    };
  }

  loggedHash(origin: Origin, seq: number): string | null {
    const row = this.statements.at.get(origin, seq);
    return row === undefined ? null : headerHash(operationFromSql(row), this.crypto);
  }

  epochNotices(origin: Origin): readonly EpochNotice[] {
    return this.statements.notices.all(origin).flatMap((row) => epochNoticeOf(row) ?? []);
  }

  renamedWhole(names: { readonly from: string; readonly keep: number; readonly to: string }): boolean {
    const { from, keep, to } = names;
    return this.statements.nameless.get({ from, keep, to }) === undefined;
  }

  isLogged(origin: Origin, seq: number): boolean {
    return this.statements.parkedReason.get(origin, seq) !== undefined;
  }

  subjectsBeyond(origin: Origin, seq: number): readonly Subject[] {
    const subjects = new Map<string, Subject>();
    for (const { kind: word, subject: id } of this.statements.beyond.all(origin, seq)) {
      const kind = this.tables.kinds.ofWord(word)?.kind.name;
      if (kind !== undefined) subjects.set(`${kind}\n${id}`, { kind, id });
    }
    return [...subjects.values()];
  }

  parked({ after, skip, limit }: ParkedPage): readonly (readonly [number, WireOperation])[] {
    const rows = this.statements.parked.all({ after, skip, limit });
    return rows.map((row) => [row.commit_sequence, operationFromSql(row)]);
  }

  private kind(name: string): Kind {
    return this.tables.kinds.of(name);
  }

  private isChained(operation: WireOperation, parked: ParkReason | null): boolean {
    // A history that was moved aside belongs to no chain.
    if (parked === 'forked') return true;
    const hash = this.operationHash(operation.origin, operation.seq);
    return hash === null || hash === headerHash(operation, this.crypto);
  }
}

function versionOfRow({ namespace, image, stamp }: Row): Version {
  const { hlc, origin, origin_seq: seq, seen: covers } = stamp;
  return { hlc, origin, seq, covers, namespace, image, removal: null };
}

function siblingVersion(kind: Kind, row: OperationSqlRow): Version {
  const { payload, ...header } = operationFromSql(row);
  if (payload === null && row.parked === 'elsewhere') return outOfScopeVersion(kind, header);
  const role = kind.words[row.kind] ?? null;
  const version = payload === null ? null : versionOf(kind, role, { ...header, payload });
  // Only versions with an effect are stored as siblings, and their payloads are kept.
  if (version === null) throw new DamagedRowError(kind.name, row.subject);
  return version;
}
