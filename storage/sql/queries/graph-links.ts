import type { Viewer } from '../../../protocol/base/viewer.js';
import type { GraphMoment, LinkTimes } from '../../../protocol/graph/moment.js';
import type { MemoryName } from '../../../protocol/graph/queries.js';
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

  /** The links from memories by source, start, creation, target and relation (text order), from a start on. */
  inTimeOrder(ids: readonly string[], since: string | null = null): Iterable<WalkLink> {
    const from = since === null ? {} : { since };
    return this.parts.statements
      .get(
        `${this.both((part, columns) => {
          const start = `coalesce(${part.column('valid_from')}, ${part.column('created_at')})`;
          return `SELECT l.source_id, l.target_id, ${start} AS start, ${columns}, m.title, m.namespace AS target_namespace
             FROM ${part.from('source_id')} LEFT JOIN memories m ON m.id = l.target_id AND ${this.gate.sql}
             WHERE l.source_id IN (SELECT value FROM json_each(@ids)) ${since === null ? '' : `AND ${start} >= @since`}`;
        })} ORDER BY source_id, start, created_at, target_id, relation`,
      )
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

  /** The links from and to a memory in any order, without the memories at their other ends. */
  around(id: string): Iterable<LinkTimes & { readonly id: string }> {
    return this.parts.statements
      .get(
        this.both(
          ({ from }, columns) =>
            `SELECT l.target_id AS id, ${columns} FROM ${from('source_id')} WHERE l.source_id = @id
             UNION ALL SELECT l.source_id, ${columns} FROM ${from('target_id')} WHERE l.target_id = @id`,
        ),
      )
      .iterate({ id }) as Iterable<LinkTimes & { readonly id: string }>;
  }

  /** The links from one memory to another, by relation. */
  between(sourceId: string, targetId: string): readonly (LinkTimes & { readonly relation: string })[] {
    return this.parts.statements
      .get(
        `${this.both(
          ({ from }, columns) =>
            `SELECT ${columns} FROM ${from('source_id')} WHERE l.source_id = @source AND l.target_id = @target`,
        )} ORDER BY relation`,
      )
      .all({ source: sourceId, target: targetId }) as (LinkTimes & { readonly relation: string })[];
  }

  /** A memory that the caller may see; null for any other. */
  nameOf(id: string): MemoryName | null {
    let name = this.names.get(id);
    if (name === undefined) {
      const row = this.parts.statements
        .get(`SELECT m.id, m.title, m.namespace FROM memories m WHERE m.id = @id AND ${this.gate.sql}`)
        .get({ ...this.gate.parameters, id }) as MemoryName | undefined;
      name = row ?? null;
      this.names.set(id, name);
    }
    return name;
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
