import type { Viewer } from '../../../protocol/base/viewer.js';
import type { GraphMoment, LinkTimes } from '../../../protocol/graph/moment.js';
import type { MemoryName, PathLink } from '../../../protocol/graph/queries.js';
import type { WalkLink } from '../../../protocol/graph/walk.js';
import { visibleArchived, visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** A link, or an earlier period of one, with the memory at its other end, whose title is null when the caller may not see it. */
export interface LinkRow extends LinkTimes {
  readonly id: string;
  readonly relation: string;
  readonly observed_by: string | null;
  readonly title: string | null;
  readonly namespace: string | null;
}

/** Where the links are read from, and what their columns are called there. */
interface Part {
  readonly from: (own: 'source_id' | 'target_id') => string;
  readonly column: (name: string) => string;
  /** True for what a link says now. */
  readonly present: boolean;
}

const PRESENT: Part = { from: () => 'memory_links l', column: (name) => `l.${name}`, present: true };
const PAST: Part = {
  // Few links have a past, and these indexes have only those.
  from: (own) =>
    `memory_links l INDEXED BY ${own === 'source_id' ? 'memory_links_earlier' : 'memory_links_earlier_target'}
       JOIN json_each(l.earlier) p ON l.earlier IS NOT NULL`,
  column: (name) => `l.earlier ->> (p.fullkey || '.${name}')`,
  present: false,
};

/**
 * The links of single memories, each followed by its earlier periods as further rows, for one caller at one moment. The
 * rows of a list are read as they are taken.
 */
export class GraphLinks {
  private readonly viewer: Viewer;
  private readonly gate;
  private readonly archiveGate;
  private readonly believed: boolean;
  private readonly names = new Map<string, MemoryName | null>();

  constructor(
    private readonly parts: QueryParts,
    { viewer, now }: { readonly viewer: Viewer; readonly now: string },
    moment: GraphMoment,
  ) {
    this.viewer = viewer;
    this.gate = visibleRows('m', viewer, now);
    this.archiveGate = visibleArchived('a', viewer);
    this.believed = moment.believedAt !== null;
  }

  /** The statement that reads what links say now, and then what they said before. */
  private both(select: (part: Part, columns: string) => string): string {
    return [PRESENT, PAST].map((part) => select(part, this.columnsOf(part))).join(' UNION ALL ');
  }

  private columnsOf({ column, present }: Part): string {
    const now = present ? column : () => 'NULL';
    const then = present ? () => 'NULL' : column;
    const named = (names: readonly string[], of: (name: string) => string) =>
      names.map((name) => `${of(name)} AS ${name}`);
    return [
      'l.relation',
      ...named(['created_at', 'valid_from', 'valid_until', 'observed_by'], column),
      ...named(['believed_to'], then),
      // These are taken out of JSON, so they are read only when they matter.
      ...(this.believed
        ? [...named(['retired_at', 'believed_until'], now), ...named(['believed_from'], column)]
        : []),
    ].join(', ');
  }

  /**
   * The links of each of some memories by start, creation, target and relation (text order), from a start on, those of one memory
   * after those of another.
   */
  inTimeOrder(ids: readonly string[], since: string | null = null): Iterable<WalkLink> {
    const from = since === null ? {} : { since };
    const links = (part: Part, columns: string, source: string) => {
      const start = `coalesce(${part.column('valid_from')}, ${part.column('created_at')})`;
      return `SELECT l.source_id, l.target_id, ${start} AS start, ${columns}, m.title, m.namespace AS target_namespace
        FROM ${part.from('source_id')} LEFT JOIN memories m ON m.id = l.target_id AND ${this.gate.sql}
        WHERE l.source_id ${source} ${since === null ? '' : `AND ${start} >= @since`}`;
    };
    const order = 'ORDER BY start, created_at, target_id, relation';
    const sql =
      this.parts.db.engine === 'sqlite'
        ? `${this.both((part, columns) => links(part, columns, 'IN (SELECT value FROM json_each(@ids))'))}
           ORDER BY source_id, start, created_at, target_id, relation`
        : // A server would sort the links of all, where the index has those of each in this order.
          `SELECT found.* FROM json_each(@ids) AS listed CROSS JOIN LATERAL (
             ${this.both((part, columns) => `(${links(part, columns, '= listed.value')} ${order})`)} ${order}) AS found`;
    return this.parts.statements
      .get(sql)
      .iterate({ ...this.gate.parameters, ids: JSON.stringify(ids), ...from }) as Iterable<WalkLink>;
  }

  /** The links from or to a memory, by the other end and relation. */
  byId(id: string, direction: 'out' | 'in'): Iterable<LinkRow> {
    const [own, other] =
      direction === 'out' ? (['source_id', 'target_id'] as const) : (['target_id', 'source_id'] as const);
    return this.parts.statements
      .get(
        `${this.both(
          ({ from }, columns) =>
            `SELECT l.${other} AS id, ${columns}, m.title, m.namespace
             FROM ${from(own)} LEFT JOIN memories m ON m.id = l.${other} AND ${this.gate.sql} WHERE l.${own} = @id`,
        )} ORDER BY id, relation`,
      )
      .iterate({ ...this.gate.parameters, id }) as Iterable<LinkRow>;
  }

  /** The links from and to memories in any order, without the memories at their other ends. */
  around(ids: readonly string[]): Iterable<LinkTimes & { readonly own: string; readonly id: string }> {
    const links = ({ from }: Part, columns: string, own: 'source_id' | 'target_id', other: string) =>
      `SELECT l.${own} AS own, l.${other} AS id, ${columns} FROM ${from(own)}
       WHERE l.${own} IN (SELECT value FROM json_each(@ids))`;
    return this.parts.statements
      .get(
        this.both(
          (part, columns) =>
            `${links(part, columns, 'source_id', 'target_id')} UNION ALL ${links(part, columns, 'target_id', 'source_id')}`,
        ),
      )
      .iterate({ ids: JSON.stringify(ids) }) as Iterable<
      LinkTimes & { readonly own: string; readonly id: string }
    >;
  }

  /** The links from the first to the second of each pair, by source, target and relation. */
  between(pairs: readonly (readonly [source: string, target: string])[]): readonly (LinkTimes & PathLink)[] {
    return this.parts.statements
      .get(
        `${this.both(
          ({ from }, columns) =>
            `SELECT l.source_id, l.target_id, ${columns}
             FROM json_each(@pairs) AS pair CROSS JOIN ${from('source_id')}
             WHERE l.source_id = pair.value ->> '$[0]' AND l.target_id = pair.value ->> '$[1]'`,
        )} ORDER BY source_id, target_id, relation`,
      )
      .all({ pairs: JSON.stringify(pairs) }) as (LinkTimes & PathLink)[];
  }

  /** Reads memories that the caller may see, so that `nameOf` need not. */
  readNames(ids: readonly string[]): void {
    const unknown = ids.filter((id) => !this.names.has(id));
    if (unknown.length === 0) return;
    for (const id of unknown) this.names.set(id, null);
    const rows = this.parts.statements
      .get(
        `SELECT m.id, m.title, m.namespace FROM memories m
         WHERE m.id IN (SELECT value FROM json_each(@ids)) AND ${this.gate.sql}`,
      )
      .all({ ...this.gate.parameters, ids: JSON.stringify(unknown) }) as MemoryName[];
    for (const row of rows) this.names.set(row.id, row);
  }

  /** A memory that the caller may see; null for any other. */
  nameOf(id: string): MemoryName | null {
    this.readNames([id]);
    return this.names.get(id) ?? null;
  }

  /**
   * True for a removed memory that the caller knew: its archived copy shows, or the caller made the link to it. A
   * tombstone does not say who could see the memory.
   */
  isKnownRemoval({ id, observed_by }: LinkRow): boolean {
    const removed = this.parts.statements
      .get("SELECT 1 FROM tombstones WHERE kind = 'memory' AND id = ?")
      .get(id);
    if (removed === undefined) return false;
    if (this.viewer.all || (observed_by !== null && observed_by === this.viewer.agentId)) return true;
    const copy = this.parts.statements.get(
      `SELECT 1 FROM archived_memories a WHERE a.id = @id AND ${this.archiveGate.sql}`,
    );
    return copy.get({ ...this.archiveGate.parameters, id }) !== undefined;
  }
}
