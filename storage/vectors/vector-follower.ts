import { type Failure, fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { RecallFilter, VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { Connection, Statement } from '../sql/connection.js';
import { recallFilters } from '../sql/recall/filters.js';
import { statement } from '../sql/recall/statements.js';
import { visibleRows } from '../sql/visibility.js';
import { EVERYBODY, VectorIndex } from './vector-index.js';

/** A search request of recall: owners by agent id, expired rows hidden by `now`. Plain data, so it crosses threads. */
export interface VectorRequest {
  /** `dim` numbers; the vector may have any length except zero. */
  readonly queryVector: Float32Array;
  /** Interned namespaces; null searches all. */
  readonly nsIds: readonly number[] | null;
  /** Agents whose private rows are visible, as owner or addressee; null sees all rows. */
  readonly ownerIds: readonly string[] | null;
  /** Number of memories to return, 1 to 1000. */
  readonly k: number;
  /** Canonical UTC text: rows that expire by this instant are left out. */
  readonly now: string;
  /** Leaves out rows that do not pass, or that this viewer may not see, before the best rows are chosen. */
  readonly filter?: RecallFilter;
  readonly viewer?: Viewer;
}

/** Which rows of `memory_embeddings` the index holds; others are left out until they are embedded again. */
export interface VectorSource {
  readonly model: string;
  readonly dim: number;
  /** Limit of the index in bytes; 4 GiB by default. */
  readonly bytesMax?: number;
}

/** A full index is loaded again, which takes seconds, once the rows shrink to this share. */
const RELOAD_SHARE = 0.98;
/** A private row without owner and addressee: visible only to a viewer who sees everything. */
const NO_AGENT = 0x7fffffff;
/** Scopes that are not private here. `team`, `unit` and `org` are narrowed again by the visibility gate. */
const SHARED_SCOPES: ReadonlySet<string | null> = new Set([null, 'collective', 'team', 'unit', 'org']);

/** A viewer that sees every row that has not expired. */
const OPERATOR: Viewer = { all: true, agentId: null, asNamespace: null };
const NO_FILTER: RecallFilter = { tags: [], since: null, until: null, kinds: null, includeArchived: true };

interface EmbeddingRow {
  readonly rid: number;
  readonly vectors: Buffer;
  readonly ns_id: number;
  readonly scope: string | null;
  readonly owner_id: string | null;
  readonly addressee_id: string | null;
}

type VectorTable = 'memory_embeddings' | 'coming_embeddings';

interface TableReads {
  readonly all: Statement<[string, number], EmbeddingRow>;
  readonly one: Statement<[number, string, number], EmbeddingRow>;
  readonly fed: Statement<[number], { rid: number }>;
  readonly count: Statement<[], { rows: number }>;
  readonly position: Statement<[], Position & { oldest: number }>;
}

interface Position {
  readonly feed: number;
  readonly commitSequence: number;
  readonly epoch: string | null;
}

/**
 * Keeps a vector index in step with a database: it loads all embeddings at the first search. Before each later search
 * it follows the embedding feed and the operation log. Search, update and the read of the originals share one read
 * transaction, so an answer shows one state of the database. Reads only.
 */
export class VectorFollower {
  readonly #database: Connection;
  readonly #source: VectorSource;
  readonly #ownerSlots = new Map<string, number>();
  readonly #tables: Readonly<Record<VectorTable, TableReads>>;
  readonly #changed: Statement<[number], { rid: number }>;
  readonly #isComing: Statement<[string, number], unknown>;
  /** The table that has the vectors of the source; it changes when a coming encoder becomes the searched one. */
  #table: VectorTable = 'memory_embeddings';
  readonly #inOneSnapshot: (request: VectorRequest) => Result<VectorEvidence>;
  #index: VectorIndex | null = null;
  #at: Position = { feed: 0, commitSequence: 0, epoch: null };
  #dataVersion: unknown = null;
  #full: Failure | null = null;
  #countWhenFull = 0;

  constructor(database: Connection, source: VectorSource) {
    this.#database = database;
    this.#source = source;
    this.#tables = {
      memory_embeddings: tableReads(database, 'memory_embeddings'),
      coming_embeddings: tableReads(database, 'coming_embeddings'),
    };
    this.#isComing = database.prepare(
      "SELECT 1 FROM encoders WHERE role = 'coming' AND model = ? AND dim = ?",
    );
    this.#changed = database.prepare(
      'SELECT DISTINCT rid FROM operations WHERE commit_sequence > ? AND rid IS NOT NULL',
    );
    this.#inOneSnapshot = database.transaction((request: VectorRequest) => this.#search(request));
  }

  /** Memories in the index now; 0 before the first search. */
  get size(): number {
    return this.#index?.size ?? 0;
  }

  /**
   * Updates the index and searches. INVALID_ARGUMENT when the query has another dimension or no direction. STORAGE_FULL
   * when the rows do not fit into the index, until a fiftieth of them is removed and it loads again.
   */
  search(request: VectorRequest): Result<VectorEvidence> {
    const { queryVector } = request;
    const { dim } = this.#source;
    if (queryVector.length !== dim) {
      return fail('INVALID_ARGUMENT', `the query has ${queryVector.length} dimensions, the index ${dim}`);
    }
    const squares = queryVector.reduce((sum, value) => sum + value * value, 0);
    if (!(squares > 0 && squares < Number.POSITIVE_INFINITY)) {
      return fail('INVALID_ARGUMENT', 'the query vector is zero or not finite');
    }
    return this.#inOneSnapshot(request);
  }

  /** Loads or updates the index without a search, for a warm start. */
  refresh(): Result<void> {
    return this.#database.transaction(() => {
      this.#catchUp();
      return this.#full === null ? ok(undefined) : failed<void>(this.#full);
    })();
  }

  #search(request: VectorRequest): Result<VectorEvidence> {
    const index = this.#catchUp();
    if (this.#full !== null) return failed(this.#full);
    const { model, dim } = this.#source;
    const gate = visibleRows('m', request.viewer ?? OPERATOR, request.now);
    const filters = recallFilters('m', request.filter ?? NO_FILTER);
    const passing = statement(
      this.#database,
      `SELECT e.rid, e.vectors FROM json_each(@rids) AS listed CROSS JOIN memories m ON m.rid = CAST(listed.value AS INTEGER)
       CROSS JOIN ${this.#table} e ON e.rid = m.rid
       WHERE e.model = @model AND e.dim = @dim AND ${gate.sql} AND ${filters.sql}`,
      'raw',
    );
    const parameters = { model, dim, ...gate.parameters, ...filters.parameters };
    const load = (rids: readonly number[]) => {
      const rows = passing.all({ ...parameters, rids: `[${rids.join(',')}]` }) as [number, Buffer][];
      return new Map(rows.map(([rid, vectors]) => [rid, floatsOf(vectors)]));
    };
    const ownerSlots =
      request.ownerIds?.flatMap((id) => {
        const slot = this.#ownerSlots.get(id);
        return slot === undefined ? [] : [slot];
      }) ?? null;
    const { queryVector, nsIds, k } = request;
    return ok(index.search({ queryVector, nsIds, ownerSlots, k }, load));
  }

  #catchUp(): VectorIndex {
    const { model, dim } = this.#source;
    // It opens the snapshot, so the reads below are at least as new as its version.
    const dataVersion = this.#database.othersCommits();
    if (this.#index !== null && dataVersion === this.#dataVersion) return this.#index;
    this.#table = this.#isComing.get(model, dim) === undefined ? 'memory_embeddings' : 'coming_embeddings';
    const position = this.#reads.position.get()!;
    // The log cannot be followed when it was pruned past our position, or when the database was replaced by another.
    const followable =
      position.epoch === this.#at.epoch &&
      position.commitSequence >= this.#at.commitSequence &&
      position.oldest <= this.#at.commitSequence + 1;
    if (this.#index === null || !followable) this.#load();
    else if (this.#full === null) this.#follow(this.#index);
    else if (this.#reads.count.get()!.rows <= this.#countWhenFull * RELOAD_SHARE) this.#load();
    this.#at = position;
    this.#dataVersion = dataVersion;
    return this.#index!;
  }

  #load(): void {
    const { model, dim, bytesMax } = this.#source;
    this.#full = null;
    this.#index = new VectorIndex(dim, bytesMax === undefined ? {} : { bytesMax });
    for (const row of this.#reads.all.iterate(model, dim)) {
      this.#put(this.#index, row);
      if (this.#full !== null) return;
    }
  }

  #follow(index: VectorIndex): void {
    const rids = new Set<number>();
    for (const { rid } of this.#reads.fed.iterate(this.#at.feed)) rids.add(rid);
    for (const { rid } of this.#changed.iterate(this.#at.commitSequence)) rids.add(rid);
    const { model, dim } = this.#source;
    for (const rid of rids) {
      const row = this.#reads.one.get(rid, model, dim);
      if (row === undefined) index.delete(rid);
      else this.#put(index, row);
    }
  }

  #put(index: VectorIndex, row: EmbeddingRow): void {
    const shared = SHARED_SCOPES.has(row.scope);
    const owner = shared ? EVERYBODY : this.#slotOf(row.owner_id ?? row.addressee_id);
    const second = shared || row.owner_id === null ? EVERYBODY : this.#slotOf(row.addressee_id);
    const outcome = index.put({
      rid: row.rid,
      nsId: row.ns_id,
      firstOwner: owner,
      secondOwner: second === NO_AGENT ? EVERYBODY : second,
      vectors: floatsOf(row.vectors),
    });
    // An unusable vector (a peer may have sent it) only means that this row is found by full text and not by vectors.
    if (outcome.ok || outcome.error.code !== 'STORAGE_FULL') return;
    this.#full = outcome.error;
    this.#countWhenFull = this.#reads.count.get()!.rows;
  }

  get #reads(): TableReads {
    return this.#tables[this.#table];
  }

  #slotOf(agentId: string | null): number {
    if (agentId === null) return NO_AGENT;
    const known = this.#ownerSlots.get(agentId);
    if (known !== undefined) return known;
    const slot = this.#ownerSlots.size + 1;
    this.#ownerSlots.set(agentId, slot);
    return slot;
  }
}

function tableReads(database: Connection, table: VectorTable): TableReads {
  const embedding = `SELECT e.rid, e.vectors, m.ns_id, m.scope, m.owner_id, m.addressee_id
    FROM ${table} e JOIN memories m ON m.rid = e.rid WHERE e.model = ? AND e.dim = ?`;
  return {
    all: database.prepare(embedding),
    one: database.prepare(embedding.replace('WHERE', 'WHERE e.rid = ? AND')),
    fed: database.prepare(`SELECT rid FROM ${table} WHERE feed > ?`),
    count: database.prepare(`SELECT count(*) AS rows FROM ${table}`),
    position: database.prepare(`SELECT
      (SELECT coalesce(max(feed), 0) FROM ${table}) AS feed,
      (SELECT coalesce(max(commit_sequence), 0) FROM operations) AS commitSequence,
      (SELECT coalesce(min(commit_sequence), 0) FROM operations) AS oldest,
      (SELECT db_epoch FROM log_state) AS epoch`),
  };
}

/** A BLOB of little-endian float32 as numbers; an incomplete last number is cut off. */
function floatsOf(blob: Buffer): Float32Array {
  const count = Math.floor(blob.byteLength / 4);
  // A Buffer may begin anywhere in its pool, but a Float32Array must begin at a multiple of four.
  if (blob.byteOffset % 4 !== 0) return new Float32Array(Uint8Array.from(blob).buffer, 0, count);
  return new Float32Array(blob.buffer, blob.byteOffset, count);
}
