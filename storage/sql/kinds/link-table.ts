import { isObject } from '../../../protocol/kinds/payload.js';
import { type Link, type LinkKey, linkId, type Relation } from '../../../protocol/links/link.js';
import { linkKind } from '../../../protocol/links/link-kind.js';
import type { Connection } from '../connection.js';
import { type Digests, isDigest } from '../digests.js';
import { restFromSql, restToSql } from '../rows.js';
import type { LINK_COLUMNS } from '../schema.js';
import type { Stamps } from '../stamps.js';
import { type Held, PlainTable, type StampedSqlRow } from './plain-table.js';
import { isStampedBy, OPERATION_COLUMNS, type OperationColumns } from './scrub-row.js';
import type { Place, SubjectPages, Written } from './subject-table.js';

type LaterMember = keyof typeof LINK_COLUMNS | 'public_key';

/** A row of `memory_links`; members that came later lie in `rest`. */
export interface LinkSqlRow extends Omit<Link, LaterMember | 'signature' | 'rest'>, StampedSqlRow {
  readonly signature: Uint8Array | null;
  readonly rest: string;
}

/** A damaged signature may have any type; the answered text, which no link has, makes the damage show. */
const base64Of = (signature: unknown): string =>
  signature instanceof Uint8Array ? Buffer.from(signature).toString('base64') : '?';

/** The replicated columns of a link's row. */
export function linkFromSql(row: Omit<LinkSqlRow, keyof StampedSqlRow>): Link {
  const { source_id, target_id, relation, created_at, valid_from, valid_until, observed_by } = row;
  const signature = row.signature === null ? null : base64Of(row.signature);
  const { attest_level, signed_at } = row;
  const times = { created_at, valid_from, valid_until };
  return {
    ...{ source_id, target_id, relation, ...times, observed_by, signature, attest_level, signed_at },
    ...laterFromSql(row.rest),
  };
}

/** The members that came later, and those that this release does not know. */
function laterFromSql(text: string): Pick<Link, LaterMember | 'rest'> {
  const {
    public_key = null,
    retired_at = null,
    believed_until = null,
    believed_from = null,
    earlier,
    ...rest
  } = restFromSql(text) as Partial<Link>;
  // A damaged row may hold anything; its digest tells.
  const past = Array.isArray(earlier) ? (earlier as readonly unknown[]).filter(isPeriod) : [];
  return { public_key, retired_at, believed_until, believed_from, earlier: past, rest };
}

const isPeriod = (value: unknown): value is Link['earlier'][number] => isObject(value);

function laterToSql({ rest, earlier, ...link }: Link): string {
  const { public_key, retired_at, believed_until, believed_from } = link;
  const past = earlier.length === 0 ? null : earlier;
  const later = Object.entries({
    public_key,
    retired_at,
    believed_until,
    believed_from,
    earlier: past,
  }).filter(([, value]) => value !== null);
  return restToSql(later.length === 0 ? rest : { ...rest, ...Object.fromEntries(later) });
}

/** The members that the id of a link names. Ids of memories and relations contain no `|`. */
function keyOf(id: string): [source: string, target: string, relation: string] {
  const [source = '', target = '', relation = ''] = id.split('|');
  return [source, target, relation];
}

const BY_KEY = 'source_id = ? AND target_id = ? AND relation = ?';

/**
 * The rows of links. They stay when a memory at one end is removed, because replicas may learn of the two in any order;
 * reads show a link only between live memories.
 */
export class LinkTable extends PlainTable<LinkSqlRow> {
  private readonly statements;

  constructor(db: Connection, digests: Digests, stamps: Stamps) {
    super(linkKind.name, digests, stamps);
    this.statements = {
      put: db.prepare(
        `INSERT INTO memory_links (source_id, target_id, relation, created_at, valid_from, valid_until, observed_by,
           signature, attest_level, signed_at, rest, namespace, hlc, origin, origin_seq, seen, digest)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ),
      read: db.prepare<[string, string, string], LinkSqlRow>(`SELECT * FROM memory_links WHERE ${BY_KEY}`),
      drop: db.prepare(`DELETE FROM memory_links WHERE ${BY_KEY}`),
    };
  }

  protected read(id: string): LinkSqlRow | undefined {
    return this.statements.read.get(...keyOf(id));
  }

  protected held(sql: LinkSqlRow): Held {
    const image = linkFromSql(sql);
    return { text: linkKind.payload.text(image), image };
  }

  protected put({ namespace }: Place, { image, stamp }: Written, digest: Uint8Array): void {
    const link = image as Link;
    this.statements.put.run(
      link.source_id,
      link.target_id,
      link.relation,
      link.created_at,
      link.valid_from,
      link.valid_until,
      link.observed_by,
      link.signature === null ? null : Buffer.from(link.signature, 'base64'),
      link.attest_level,
      link.signed_at,
      laterToSql(link),
      namespace,
      stamp.hlc,
      stamp.origin,
      stamp.origin_seq,
      JSON.stringify(stamp.seen),
      digest,
    );
  }

  protected drop(id: string): void {
    this.statements.drop.run(...keyOf(id));
  }
}

const SUBJECT = "source_id || '|' || target_id || '|' || relation";

/** The links for readers. */
export const linkPages: SubjectPages = {
  digestsSql: `SELECT ${SUBJECT} AS subject, digest FROM memory_links WHERE namespace = @namespace`,
  exists: (statements, id) =>
    statements.get(`SELECT 1 FROM memory_links WHERE ${BY_KEY}`).get(...keyOf(id)) !== undefined,
  scrub: (statements, crypto, { after, limit }) => {
    const rows = statements
      .get(
        `SELECT l.*, ${OPERATION_COLUMNS} FROM memory_links l
           LEFT JOIN operations o ON o.origin = l.origin AND o.origin_seq = l.origin_seq
         WHERE (l.source_id, l.target_id, l.relation) > (?, ?, ?)
         ORDER BY l.source_id, l.target_id, l.relation LIMIT ?`,
      )
      .all(...keyOf(after ?? ''), limit) as (LinkSqlRow & OperationColumns)[];
    const suspects: string[] = [];
    for (const row of rows) {
      const link = linkFromSql(row);
      const payload = linkKind.payload.text(link);
      const id = linkId(link);
      const whole =
        isDigest(row.digest, crypto.sha256(`${id}\n${payload}`)) &&
        row.payload_hash === crypto.sha256Hex(payload) &&
        isStampedBy(row);
      if (!whole) suspects.push(id);
    }
    const last = rows.at(-1);
    const next = rows.length < limit || last === undefined ? null : linkIdOf(last);
    return { looked: rows.length, suspects: suspects.map((id) => ({ kind: linkKind.name, id })), next };
  },
  textOf: (statements, { subject, origin, seq, namespace }) => {
    const row = statements
      .get(`SELECT * FROM memory_links WHERE ${BY_KEY} AND origin = ? AND origin_seq = ? AND namespace = ?`)
      .get(...keyOf(subject), origin, seq, namespace) as LinkSqlRow | undefined;
    return row === undefined ? null : linkKind.payload.text(linkFromSql(row));
  },
};

const linkIdOf = ({ source_id, target_id, relation }: LinkKey & { readonly relation: Relation }): string =>
  linkId({ source_id, target_id, relation });
