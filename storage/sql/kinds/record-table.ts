import { utf8Bytes } from '../../../protocol/base/utf8.js';
import type { Row } from '../../../protocol/decide/rows.js';
import { quotaHolder } from '../../../protocol/identity/quota.js';
import type { Kind } from '../../../protocol/kinds/kind.js';
import type { Kinds } from '../../../protocol/kinds/kinds.js';
import { parsedObject } from '../../../protocol/kinds/payload.js';
import type { Connection } from '../connection.js';
import { type Digests, isDigest } from '../digests.js';
import type { QuotaLedger } from '../quota-ledger.js';
import type { Stamps } from '../stamps.js';
import { Statements } from '../statements.js';
import { type Held, PlainTable, type StampedSqlRow } from './plain-table.js';
import { isStampedBy, OPERATION_COLUMNS, type OperationColumns } from './scrub-row.js';
import type { Place, SubjectPages, Written } from './subject-table.js';

/** A row of `records`. */
export interface RecordSqlRow extends StampedSqlRow {
  readonly id: string;
  readonly owner_id: string | null;
  readonly payload: string;
}

/**
 * The name of a kind or a member as SQL text. SQL needs a literal, because a partial index is not used for a parameter.
 */
export function literal(name: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error(`"${name}" is not a valid name in SQL`);
  return name;
}

/**
 * A member of a record's payload; null when the text is not JSON, so that damage cannot break an index. Together with
 * the kind as a literal it is what the index of the member holds.
 */
export const memberSql = (member: string, row: string | null = null): string => {
  const payload = row === null ? 'payload' : `${row}.payload`;
  return `iif(json_valid(${payload}), ${payload} ->> '$.${literal(member)}', NULL)`;
};

/** The columns of `records` that finds and indexes may name beside the members. */
const RECORD_COLUMNS: ReadonlySet<string> = new Set(['id', 'namespace', 'owner_id', 'digest']);

/** A member of a record, or one of its columns. */
export const recordSql = (member: string): string =>
  RECORD_COLUMNS.has(member) ? member : memberSql(member);

/** The indexes that a list of kinds declares, as statements that do nothing when the index exists. */
export function recordIndexes({ all }: Kinds): readonly string[] {
  return all.flatMap(({ name, table }) => {
    if (typeof table === 'string') return [];
    return table.indexes.map(({ name: index, members }) => {
      const expressions = members.map(recordSql).join(', ');
      return `CREATE INDEX IF NOT EXISTS records_${literal(index)} ON records (${expressions}) WHERE kind = '${literal(name)}'`;
    });
  });
}

/** The rows of one kind in `records`: the canonical text of the payload is the row. */
export class RecordTable extends PlainTable<RecordSqlRow> {
  private readonly statements: Statements;
  private readonly name: string;

  constructor(
    private readonly declared: Kind,
    private readonly quotas: QuotaLedger,
    db: Connection,
    digests: Digests,
    stamps: Stamps,
  ) {
    super(declared.name, digests, stamps);
    this.statements = new Statements(db);
    this.name = literal(declared.name);
  }

  /** Rows whose member has a value, by id. */
  rowsWith(member: string, value: string, limit: number): readonly Row[] {
    const rows = this.statements
      .get(
        `SELECT * FROM records WHERE kind = '${this.name}' AND ${memberSql(member)} = ? ORDER BY id LIMIT ?`,
      )
      .all(value, limit) as RecordSqlRow[];
    return rows.map((sql) => this.whole(sql.id, sql));
  }

  /** The text of a row as it stands, which nothing has compared with its digest; null where there is none. */
  payloadOf(id: string): string | null {
    const sql = `SELECT payload FROM records WHERE kind = '${this.name}' AND id = ?`;
    return (this.statements.get(sql).get(id) as RecordSqlRow | undefined)?.payload ?? null;
  }

  override insert(place: Place, written: Written, now: string): null {
    const { charged, ownerOf } = this.declared;
    super.insert(place, written, now);
    if (charged)
      this.count({ owner: ownerOf(written.image), namespace: place.namespace }, written.text, 1, now);
    return null;
  }

  override remove(before: Row, now: string): null {
    const sql = this.declared.charged ? this.read(before.id) : undefined;
    super.remove(before, now);
    if (sql !== undefined)
      this.count({ owner: sql.owner_id, namespace: sql.namespace }, sql.payload, -1, now);
    return null;
  }

  /** Adds the bytes of a payload to the use of its owner, or takes them back. */
  private count(
    { owner, namespace }: { readonly owner: string | null; readonly namespace: string },
    payload: string,
    sign: 1 | -1,
    now: string,
  ): void {
    if (owner === null) return;
    this.quotas.addBytes({ holder: quotaHolder(owner), namespace }, sign * utf8Bytes(payload), now);
  }

  protected read(id: string): RecordSqlRow | undefined {
    const sql = `SELECT * FROM records WHERE kind = '${this.name}' AND id = ?`;
    return this.statements.get(sql).get(id) as RecordSqlRow | undefined;
  }

  protected held(sql: RecordSqlRow): Held {
    return { text: sql.payload, image: recordImageOf(this.declared, sql) };
  }

  protected put({ id, namespace }: Place, { image, text, stamp }: Written, digest: Uint8Array): void {
    this.statements
      .get(
        `INSERT INTO records (kind, id, namespace, owner_id, payload, hlc, origin, origin_seq, seen, digest)
         VALUES ('${this.name}', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        id,
        namespace,
        this.declared.ownerOf(image),
        text,
        stamp.hlc,
        stamp.origin,
        stamp.origin_seq,
        JSON.stringify(stamp.seen),
        digest,
      );
  }

  protected drop(id: string): void {
    this.statements.get(`DELETE FROM records WHERE kind = '${this.name}' AND id = ?`).run(id);
  }
}

/** The image of a record's row; null when its payload cannot be read. */
export function recordImageOf(kind: Kind, { payload }: Pick<RecordSqlRow, 'payload'>): object | null {
  const value = parsedObject(String(payload));
  return value === null ? null : kind.payload.parse(value);
}

/** The records of one kind for readers. */
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
