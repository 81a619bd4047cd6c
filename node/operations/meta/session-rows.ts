import * as limits from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import type { LeftOut } from '../../../protocol/memory/queries.js';
import type { ReadCall } from '../../pipeline/call.js';

/** A row that stands for itself and for those that say nearly the same. */
export interface SessionRow {
  readonly memory: MemoryRow;
  /** Ids of the others, in the order of the list as far as they were looked at. */
  readonly similar: readonly string[];
}

/** The rows with which a session starts, in the order of the list. */
export interface SessionRows extends LeftOut {
  readonly rows: readonly SessionRow[];
}

/** Rows that are read at once. */
const PAGE_ROWS = 100;

/**
 * Visible rows by priority and newest update; of near duplicates, directly or through others, only the first is a row. The
 * limit counts what is left, so that neither rows of others nor repetitions take a place.
 */
export async function sessionRows(
  call: ReadCall,
  { namespace, limit }: { readonly namespace: string | null; readonly limit: number },
): Promise<Result<SessionRows>> {
  const clusters = new Clusters();
  const damaged: string[] = [];
  let offset = 0;
  while (offset < limits.SESSION_START_LOOKED_AT_MAX) {
    const page = await pageOf(call, namespace, offset);
    if (!page.ok) return failed(page.error);
    const { memories, nextOffset } = page.value;
    damaged.push(...(page.value.damaged ?? []));
    const looked = memories.length + (page.value.damaged?.length ?? 0);
    await join(call, clusters, memories);
    if (clusters.size >= limit || (nextOffset === null && looked < PAGE_ROWS)) break;
    offset = nextOffset ?? offset + looked;
  }
  const rows = clusters.rows().slice(0, limit);
  return ok({ rows, ...(damaged.length === 0 ? {} : { damaged }) });
}

const pageOf = ({ services, caller, now }: ReadCall, namespace: string | null, offset: number) =>
  services.store.query({
    kind: 'list-memories',
    family: null,
    ...(namespace === null ? { withoutReserved: true } : {}),
    filter: {
      ...{ namespace, tier: null, minPriority: null, since: null, until: null, tags: [], agentId: null },
      ...{ viewer: caller.viewer, now, limit: PAGE_ROWS, offset },
    },
  });

/** Adds rows with the pairs that are known of them. */
async function join({ services, caller, now }: ReadCall, clusters: Clusters, memories: readonly MemoryRow[]) {
  if (memories.length === 0) return;
  for (const memory of memories) clusters.add(memory);
  const ids = memories.map(({ id }) => id);
  const found = await services.store.query({ kind: 'flagged-duplicates', ids, viewer: caller.viewer, now });
  // Rows are worth showing apart when their pairs cannot be read.
  for (const [id, others] of found.ok ? found.value.flagged : [])
    for (const other of others) clusters.pair(id, other.id);
}

/** Sets of ids that pairs connect, and the rows among them. */
class Clusters {
  /** The set in which an id was first, which may be part of another one now. */
  private readonly parents = new Map<string, string>();
  private readonly memories: MemoryRow[] = [];

  /** Sets that have a row. */
  get size(): number {
    return new Set(this.memories.map(({ id }) => this.rootOf(id))).size;
  }

  add(memory: MemoryRow): void {
    this.memories.push(memory);
  }

  pair(left: string, right: string): void {
    const [from, to] = [this.rootOf(right), this.rootOf(left)];
    if (from !== to) this.parents.set(from, to);
  }

  rows(): readonly SessionRow[] {
    const members = new Map<string, string[]>();
    const known = new Set([...this.memories.map(({ id }) => id), ...this.parents.keys()]);
    for (const id of known) {
      const root = this.rootOf(id);
      members.set(root, [...(members.get(root) ?? []), id]);
    }
    const taken = new Set<string>();
    return this.memories.flatMap((memory) => {
      const root = this.rootOf(memory.id);
      if (taken.has(root)) return [];
      taken.add(root);
      return [{ memory, similar: members.get(root)!.filter((id) => id !== memory.id) }];
    });
  }

  private rootOf(id: string): string {
    let root = id;
    for (let next = this.parents.get(root); next !== undefined; next = this.parents.get(root)) root = next;
    return root;
  }
}
