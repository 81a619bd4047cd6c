import type { LinkKey, ParkedPage } from '../../protocol/decide/decision.js';
import { EPOCH_KIND, type EpochNotice, epochNoticeOf } from '../../protocol/mesh/epoch-notice.js';
import type { SubjectPlace } from '../../protocol/mesh/store-terms.js';
import type { WireOperation } from '../../protocol/mesh/wire.js';
import type { RemovalKind } from '../../protocol/operation-log.js';
import { concernsMemory, versionOf } from '../../protocol/parse-payload.js';
import { awayVersion, type Dot, type HistoricEdit, type Version } from '../../protocol/replica.js';
import type { Connection } from './connection.js';
import { KNOWN_HASH, type OperationSqlRow, operationFromSql, vectorOf } from './operation-rows.js';
import { DamagedRowError, memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';
import { type HeaderHashes, Stamps } from './stamps.js';

/** A row of `tombstones`. */
export interface TombstoneRow {
  namespace: string;
  title: string;
  deleted_at: string;
  hlc: string;
  origin: string;
  origin_seq: number;
  seen: string;
  kind: RemovalKind;
  reason: string;
  expires_at: string | null;
  version: number;
}

/** What merging must know of a subject, read inside the write transaction. */
export class SubjectReads {
  private readonly statements;
  private readonly stamps;

  constructor(db: Connection, log: HeaderHashes) {
    this.stamps = new Stamps(db, log);
    this.statements = {
      head: db.prepare<[string], { seq: number; head: string }>(
        'SELECT seq, head FROM origins WHERE origin = ?',
      ),
      hash: db.prepare<[{ origin: string; seq: number }], { hash: string }>(KNOWN_HASH),
      parkedReason: db.prepare<[string, number], { parked: string | null }>(
        `SELECT iif(parked = 'elsewhere', 'out_of_scope', parked) AS parked FROM operations
         WHERE origin = ? AND origin_seq = ?`,
      ),
      nonce: db.prepare<[string, Buffer], { n: number }>(
        'SELECT 1 AS n FROM federation_nonce_cache WHERE peer_id = ? AND fingerprint = ?',
      ),
      siblings: db.prepare<[string], OperationSqlRow>(
        `SELECT o.* FROM siblings s JOIN operations o ON o.origin = s.origin AND o.origin_seq = s.origin_seq
         WHERE s.subject = ?`,
      ),
      row: db.prepare<[string], SqlRow>(`SELECT ${SELECT_ROW} FROM memories m WHERE m.id = ?`),
      tombstone: db.prepare<[string], TombstoneRow>('SELECT * FROM tombstones WHERE id = ?'),
      history: db.prepare<[string], OperationSqlRow>(
        `SELECT * FROM operations WHERE subject = ? AND parked IS NULL
           AND kind IN ('store', 'update', 'restore', 'delete', 'archive')`,
      ),
      namespaces: db
        .prepare<[string], string>('SELECT DISTINCT namespace FROM operations WHERE subject = ?')
        .pluck(),
      places: db.prepare<[string], OperationSqlRow>(
        "SELECT * FROM operations WHERE subject = ? AND (parked IS NULL OR parked = 'elsewhere')",
      ),
      link: db.prepare<[string, string, string], { hlc: string; origin: string; origin_seq: number }>(
        `SELECT hlc, origin, origin_seq FROM memory_links
         WHERE source_id = ? AND target_id = ? AND relation = ?`,
      ),
      notices: db.prepare<[string], { origin: string; subject: string; payload: string }>(
        `SELECT origin, subject, payload FROM operations
         WHERE subject = ? AND kind = '${EPOCH_KIND}' AND payload IS NOT NULL AND parked IS NULL`,
      ),
      nameless: db.prepare<[{ from: string; keep: number; to: string }], { n: number }>(
        `SELECT 1 AS n FROM operations o WHERE o.origin = @from AND o.origin_seq > @keep AND NOT EXISTS (
           SELECT 1 FROM operations n WHERE n.origin = @to AND n.origin_seq = o.origin_seq - @keep
             AND n.hlc = o.hlc AND n.kind = o.kind AND n.subject = o.subject)
         LIMIT 1`,
      ),
      beyond: db
        .prepare<[string, number], string>(
          'SELECT DISTINCT subject FROM operations WHERE origin = ? AND origin_seq > ? ORDER BY subject',
        )
        .pluck(),
      parked: db.prepare<[ParkedPage], OperationSqlRow & { readonly commit_sequence: number }>(
        `SELECT * FROM operations WHERE parked IS NOT NULL AND payload IS NOT NULL AND commit_sequence > @after
           AND parked IN ('unknown_kind', 'internal') ORDER BY commit_sequence LIMIT @limit OFFSET @skip`,
      ),
    };
  }

  /** What is built on a tombstone names what that has seen, so it must be what was written. */
  tombstone(id: string): TombstoneRow | null {
    const row = this.statements.tombstone.get(id);
    if (row === undefined) return null;
    if (this.stamps.hold(id, { ...row, seen: vectorOf(row.seen) })) return row;
    throw new DamagedRowError(id);
  }

  originHead(origin: string): { seq: number; head: string } | null {
    return this.statements.head.get(origin) ?? null;
  }

  /** What the follower of an operation names, or where its chain ends. */
  operationHash(origin: string, seq: number): string | null {
    return this.statements.hash.get({ origin, seq })?.hash ?? null;
  }

  parkedReason(origin: string, seq: number): string | null {
    return this.statements.parkedReason.get(origin, seq)?.parked ?? null;
  }

  nonceUsed(peerId: string, fingerprint: string): boolean {
    return this.statements.nonce.get(peerId, Buffer.from(fingerprint, 'hex')) !== undefined;
  }

  /** Concurrent versions are read from the log; a single one is the row itself, or its tombstone. */
  versions(id: string): readonly Version[] {
    const siblings = this.statements.siblings.all(id);
    if (siblings.length > 0) return siblings.map((row) => siblingVersion(row));
    const row = this.statements.row.get(id);
    if (row !== undefined) {
      const memory = memoryFromSql(row);
      const { hlc, origin, origin_seq: seq, seen: covers } = memory;
      return [{ hlc, origin, seq, covers, image: memory, removal: null }];
    }
    const tombstone = this.tombstone(id);
    return tombstone === null ? [] : [tombstoneVersion(tombstone)];
  }

  history(id: string): readonly HistoricEdit[] {
    return this.statements.history.all(id).map((row) => ({
      hlc: row.hlc,
      origin: row.origin,
      seq: row.origin_seq,
      kind: row.kind,
      seen: vectorOf(row.seen),
    }));
  }

  namespaces(id: string): readonly string[] {
    return this.statements.namespaces.all(id);
  }

  places(id: string): readonly SubjectPlace[] {
    return this.statements.places
      .all(id)
      .filter(({ kind }) => concernsMemory(kind))
      .map((row) => ({
        origin: row.origin,
        seq: row.origin_seq,
        namespace: row.namespace,
        seen: vectorOf(row.seen),
      }));
  }

  linkStamp({ source_id, target_id, relation }: LinkKey): Dot | null {
    const row = this.statements.link.get(source_id, target_id, relation);
    return row === undefined ? null : { hlc: row.hlc, origin: row.origin, seq: row.origin_seq };
  }

  epochNotices(origin: string): readonly EpochNotice[] {
    return this.statements.notices.all(origin).flatMap((row) => epochNoticeOf(row) ?? []);
  }

  renamedWhole(names: { readonly from: string; readonly keep: number; readonly to: string }): boolean {
    const { from, keep, to } = names;
    return this.statements.nameless.get({ from, keep, to }) === undefined;
  }

  isLogged(origin: string, seq: number): boolean {
    return this.statements.parkedReason.get(origin, seq) !== undefined;
  }

  subjectsBeyond(origin: string, seq: number): readonly string[] {
    return this.statements.beyond.all(origin, seq);
  }

  parked({ after, skip, limit }: ParkedPage): readonly (readonly [number, WireOperation])[] {
    const rows = this.statements.parked.all({ after, skip, limit });
    return rows.map((row) => [row.commit_sequence, operationFromSql(row)]);
  }
}

function siblingVersion(row: OperationSqlRow): Version {
  const { payload, ...header } = operationFromSql(row);
  if (payload === null && row.parked === 'elsewhere') return awayVersion(header);
  const version = payload === null ? null : versionOf({ ...header, payload });
  // Only versions that took effect are kept as siblings: the log lost the payload of this one.
  if (version === null) throw new DamagedRowError(row.subject);
  return version;
}

function tombstoneVersion(row: TombstoneRow): Version {
  return {
    hlc: row.hlc,
    origin: row.origin,
    seq: row.origin_seq,
    covers: vectorOf(row.seen),
    image: null,
    removal: {
      kind: row.kind,
      namespace: row.namespace,
      title: row.title,
      reason: row.reason,
      expiresAt: row.expires_at,
      version: row.version,
      // Its copy, if there is one, is in the archive already.
      image: null,
    },
  };
}
