import type { GraphMoment, LinkTimes } from '../../../protocol/graph/moment.js';
import type { MemoryName } from '../../../protocol/graph/queries.js';
import type { WalkLink } from '../../../protocol/graph/walk.js';
import type { Viewer } from '../../../protocol/ranking/types.js';
import { visibleArchived, visibleRows } from '../visibility.js';
import type { QueryParts } from './query-parts.js';

/** A link with the memory at its other end, whose title is null when the caller may not see it. */
export interface LinkRow extends LinkTimes {
  readonly id: string;
  readonly relation: string;
  readonly observed_by: string | null;
  readonly title: string | null;
  readonly namespace: string | null;
}

const START = 'coalesce(l.valid_from, l.created_at)';

/** The links of single memories, for one caller at one moment. The rows of a list are read as they are taken. */
export class GraphLinks {
  private readonly viewer: Viewer;
  private readonly gate;
  private readonly archiveGate;
  private readonly columns: string;
  private readonly names = new Map<string, MemoryName | null>();

  constructor(
    private readonly parts: QueryParts,
    { viewer, now }: { readonly viewer: Viewer; readonly now: string },
    moment: GraphMoment,
  ) {
    this.viewer = viewer;
    this.gate = visibleRows('m', viewer, now);
    this.archiveGate = visibleArchived('a', viewer);
    // These two are taken out of JSON, so they are read only when they matter.
    const believed = moment.believedAt === null ? '' : ', l.retired_at, l.believed_until';
    this.columns = `l.relation, l.created_at, l.valid_from, l.valid_until, l.observed_by${believed}`;
  }

  /** The links from memories by source, start, creation, target and relation (text order), from a start on. */
  inTimeOrder(ids: readonly string[], since: string | null = null): Iterable<WalkLink> {
    const from = since === null ? {} : { since };
    return this.parts.statements
      .get(
        `SELECT l.source_id, l.target_id, ${this.columns}, m.title, m.namespace AS target_namespace
         FROM memory_links l LEFT JOIN memories m ON m.id = l.target_id AND ${this.gate.sql}
         WHERE l.source_id IN (SELECT value FROM json_each(@ids)) ${since === null ? '' : `AND ${START} >= @since`}
         ORDER BY l.source_id, ${START}, l.created_at, l.target_id, l.relation`,
      )
      .iterate({ ...this.gate.parameters, ids: JSON.stringify(ids), ...from }) as Iterable<WalkLink>;
  }

  /** The links from or to a memory, by the other end and relation. */
  byId(id: string, direction: 'out' | 'in'): Iterable<LinkRow> {
    const [own, other] = direction === 'out' ? ['source_id', 'target_id'] : ['target_id', 'source_id'];
    return this.parts.statements
      .get(
        `SELECT l.${other} AS id, ${this.columns}, m.title, m.namespace
         FROM memory_links l LEFT JOIN memories m ON m.id = l.${other} AND ${this.gate.sql}
         WHERE l.${own} = @id ORDER BY l.${other}, l.relation`,
      )
      .iterate({ ...this.gate.parameters, id }) as Iterable<LinkRow>;
  }

  /** The links from and to a memory in any order, without the memories at their other ends. */
  around(id: string): Iterable<LinkTimes & { readonly id: string }> {
    return this.parts.statements
      .get(
        `SELECT l.target_id AS id, ${this.columns} FROM memory_links l WHERE l.source_id = @id
         UNION ALL SELECT l.source_id, ${this.columns} FROM memory_links l WHERE l.target_id = @id`,
      )
      .iterate({ id }) as Iterable<LinkTimes & { readonly id: string }>;
  }

  /** The links from one memory to another, by relation. */
  between(sourceId: string, targetId: string): readonly (LinkTimes & { readonly relation: string })[] {
    return this.parts.statements
      .get(
        `SELECT ${this.columns} FROM memory_links l WHERE l.source_id = @source AND l.target_id = @target
         ORDER BY l.relation`,
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
