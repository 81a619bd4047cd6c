import type { Row, RowStamp } from '../../../protocol/decide/reads.js';
import type { Kind } from '../../../protocol/kinds/kind.js';
import type { Kinds } from '../../../protocol/kinds/kinds.js';
import { parsedObject } from '../../../protocol/kinds/payload.js';
import type { Connection } from '../connection.js';
import { DamagedRowError } from '../damage.js';
import { type Digests, isDigest } from '../digests.js';
import { vectorOf } from '../operation-rows.js';
import type { Stamps } from '../stamps.js';
import { Statements } from '../statements.js';
import { isStampedBy, OPERATION_COLUMNS, type OperationColumns } from './scrub-row.js';
import type { Place, SubjectPages, SubjectTable } from './subject-table.js';

/** A row of `records`. */
export interface RecordSqlRow {
  readonly id: string;
  readonly namespace: string;
  readonly payload: string;
  readonly hlc: string;
  readonly origin: string;
  readonly origin_seq: number;
  readonly seen: string;
  readonly digest: Uint8Array | null;
}

/** The name of a kind or a member inside SQL, where it must be a literal: a partial index is not used for a parameter. */
function literal(name: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`"${name}" cannot stand in SQL`);
  return name;
}

/** A member of a record's payload; null where the text is no JSON, so that damage cannot break an index. */
const memberSql = (member: string): string =>
  `iif(json_valid(payload), payload ->> '$.${literal(member)}', NULL)`;

/** The indexes that the kinds of a list declare, as statements that do nothing where they exist. */
export function recordIndexes({ all }: Kinds): readonly string[] {
  return all.flatMap(({ name, table }) => {
    if (typeof table === 'string') return [];
    return table.indexes.map(({ name: index, members }) => {
      const expressions = members.map(memberSql).join(', ');
      return `CREATE INDEX IF NOT EXISTS records_${literal(index)} ON records (${expressions}) WHERE kind = '${literal(name)}'`;
    });
  });
}

/** The rows of one kind in `records`: the canonical text of the payload is the row. */
export class RecordTable implements SubjectTable {
  private readonly statements: Statements;
  private readonly name: string;

  constructor(
    private readonly kind: Kind,
    db: Connection,
    private readonly digests: Digests,
    private readonly stamps: Stamps,
  ) {
    this.statements = new Statements(db);
    this.name = literal(kind.name);
  }

  row(id: string): Row | null {
    const sql = this.one(id);
    return sql === undefined ? null : this.wholeRow(sql);
  }

  /** Rows whose member has a value, by id. */
  rowsWith(member: string, value: string, limit: number): readonly Row[] {
    const rows = this.statements
      .get(
        `SELECT * FROM records WHERE kind = '${this.name}' AND ${memberSql(member)} = ? ORDER BY id LIMIT ?`,
      )
      .all(value, limit) as RecordSqlRow[];
    return rows.map((sql) => this.wholeRow(sql));
  }

  stored(id: string): ReturnType<SubjectTable['stored']> {
    const sql = this.one(id);
    if (sql === undefined) return { exists: false, row: null, counted: null, whole: false };
    const whole = isDigest(sql.digest, this.digests.of(id, sql.payload));
    return { exists: true, row: recordFromSql(this.kind, sql), counted: sql.namespace, whole };
  }

  stamped(image: object): object {
    return image;
  }

  ofVersion({ image }: { readonly image: object }): object {
    return image;
  }

  insert({ id, namespace }: Place, image: object, stamp: RowStamp): null {
    const payload = this.kind.payload.text(image);
    const digest = this.digests.of(id, payload);
    this.statements
      .get(
        `INSERT INTO records (kind, id, namespace, owner_id, payload, hlc, origin, origin_seq, seen, digest)
         VALUES ('${this.name}', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        id,
        namespace,
        this.kind.ownerOf(image),
        payload,
        stamp.hlc,
        stamp.origin,
        stamp.origin_seq,
        JSON.stringify(stamp.seen),
        digest,
      );
    this.digests.join(this.name, namespace, digest);
    return null;
  }

  replace(before: Row, place: Place, image: object, stamp: RowStamp): null {
    this.remove(before);
    return this.insert(place, image, stamp);
  }

  /** `row` compared it when it was read. */
  remove({ id }: Row): null {
    this.erase(id);
    return null;
  }

  erase(id: string): void {
    const before = this.one(id);
    if (before === undefined) return;
    this.statements.get(`DELETE FROM records WHERE kind = '${this.name}' AND id = ?`).run(id);
    this.digests.leave(this.name, before.namespace, before.digest);
  }

  keepCopy(): void {}

  takeBack(): void {}

  private one(id: string): RecordSqlRow | undefined {
    const sql = `SELECT * FROM records WHERE kind = '${this.name}' AND id = ?`;
    return this.statements.get(sql).get(id) as RecordSqlRow | undefined;
  }

  private wholeRow(sql: RecordSqlRow): Row {
    const row = recordFromSql(this.kind, sql);
    const whole =
      row !== null &&
      isDigest(sql.digest, this.digests.of(sql.id, sql.payload)) &&
      this.stamps.hold(this.name, sql.id, { ...row.stamp, namespace: row.namespace });
    if (!whole) throw new DamagedRowError(this.name, sql.id);
    return row;
  }
}

/** The row of a record; null when its payload cannot be read. */
export function recordFromSql(kind: Kind, sql: RecordSqlRow): Row | null {
  const value = parsedObject(String(sql.payload));
  const image = value === null ? null : kind.payload.parse(value);
  if (image === null) return null;
  const { id, namespace, hlc, origin, origin_seq } = sql;
  return { id, namespace, image, stamp: { hlc, origin, origin_seq, seen: vectorOf(sql.seen) } };
}

/** The records of one kind as readers see them. */
export function recordPages(kind: Kind): SubjectPages {
  const name = literal(kind.name);
  return {
    digestsSql: `SELECT id AS subject, digest FROM records WHERE kind = '${name}' AND namespace = @namespace`,
    exists: (statements, id) =>
      statements.get(`SELECT 1 FROM records WHERE kind = '${name}' AND id = ?`).get(id) !== undefined,
    scrub: (statements, crypto, { after, limit }) => {
      const rows = statements
        .get(
          `SELECT r.*, ${OPERATION_COLUMNS} FROM records r
             LEFT JOIN operations o ON o.origin = r.origin AND o.origin_seq = r.origin_seq
           WHERE r.kind = '${name}' AND r.id > ? ORDER BY r.id LIMIT ?`,
        )
        .all(after ?? '', limit) as (RecordSqlRow & OperationColumns)[];
      const isWhole = (row: RecordSqlRow & OperationColumns) =>
        isDigest(row.digest, crypto.sha256(`${row.id}\n${row.payload}`)) &&
        row.payload_hash === crypto.sha256Hex(String(row.payload)) &&
        isStampedBy(row);
      const suspects = rows.filter((row) => !isWhole(row)).map(({ id }) => ({ kind: name, id: String(id) }));
      const next = rows.length < limit ? null : (rows.at(-1)?.id ?? null);
      return { looked: rows.length, suspects, next };
    },
    textOf: (statements, { subject, origin, seq, namespace }) => {
      const row = statements
        .get(
          `SELECT payload FROM records
           WHERE kind = '${name}' AND id = ? AND origin = ? AND origin_seq = ? AND namespace = ?`,
        )
        .get(subject, origin, seq, namespace) as { payload: unknown } | undefined;
      return typeof row?.payload === 'string' ? row.payload : null;
    },
  };
}
