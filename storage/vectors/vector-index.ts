import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import { BlockStore } from './block-store.js';
import {
  DIMENSION_MAX,
  HEAP_AT,
  HEAP_ENTRIES_MAX,
  LIST_AT,
  LIST_ENTRIES_MAX,
  PAGE_BYTES,
  PAGES_MAX,
  QUERY_AT,
  VIEWERS_AT,
  VIEWERS_MAX,
} from './kernel.js';
import { type Candidate, type LoadVectors, rescore, unitVector } from './rescore.js';
import type { WasmMemory } from './web-assembly.js';

/** Visible to every viewer. */
export const EVERYBODY = 0;

/** One memory in the index. */
export interface VectorEntry {
  readonly rid: number;
  /** int32. */
  readonly nsId: number;
  /** `EVERYBODY`, or the slot (1 to 2^31 - 1) of an agent that sees this private row. */
  readonly firstOwner: number;
  /** The slot of a second agent that sees it; 0 when there is no second agent or every viewer sees it. */
  readonly secondOwner: number;
  /** One or more chunk vectors, concatenated; each may have any length except zero. */
  readonly vectors: Float32Array;
}

/** What to search; every filter applies before the best rows are chosen. */
export interface VectorSearch {
  /** `dim` numbers; the vector may have any length except zero. */
  readonly queryVector: Float32Array;
  /** Null searches all namespaces. */
  readonly nsIds: readonly number[] | null;
  /** Null sees all rows; otherwise private rows of these owners and every public row. */
  readonly ownerSlots: readonly number[] | null;
  /** Number of memories to return, 1 to 1000. */
  readonly k: number;
}

/** The largest number of memories in one answer. */
const SEARCH_RESULTS_MAX = 1000;

/** Candidates that the int8 scan gathers; enough for rows whose int8 cosines differ only by noise. */
const CANDIDATES_MIN = 1024;
const CANDIDATES_PER_RESULT = 4;
/** When candidates are chunks of few memories, or removed rows, the next scan gathers this many times more. */
const CANDIDATES_GROWTH = 8;

const INT16_MAX = 32_767;
/** The kernel's words are below 2^15 and its sums must stay below 2^31. */
const SUM_OF_QUERY_MAX = 65_535;
/** The kernel's sums are this many times the sum of products. */
const SUM_SCALE = 256;

/**
 * Exact nearest memories by cosine. It scans rows as int8 and compares the best of them again in float32, read through
 * a callback. Without a callback it answers the int8 cosines (standard error about 0.0004 at 512 dimensions).
 * Synchronous and without I/O. One index holds at most 4 GiB, WebAssembly's limit: about 8.2 million rows of 512
 * dimensions, 4.1 million of 1024.
 */
export class VectorIndex {
  readonly dim: number;
  readonly #store: BlockStore;
  readonly #slotsOf = new Map<number, number | number[]>();
  #ridOf = new Float64Array(64);

  /** `bytesMax` limits the memory, rounded down to 64 KiB pages; the default is 4 GiB. */
  constructor(dim: number, options: { readonly bytesMax?: number } = {}) {
    if (!Number.isInteger(dim) || dim < 1 || dim > DIMENSION_MAX) {
      throw new RangeError(`the vector dimension must be 1 to ${DIMENSION_MAX}, not ${dim}`);
    }
    const pages = Math.floor((options.bytesMax ?? PAGES_MAX * PAGE_BYTES) / PAGE_BYTES);
    this.dim = dim;
    this.#store = new BlockStore(dim, Math.min(PAGES_MAX, Math.max(8, pages)));
  }

  /** Memories in the index. */
  get size(): number {
    return this.#slotsOf.size;
  }

  /** Chunk vectors in the index. */
  get rows(): number {
    return this.#store.rowCount;
  }

  /** The memory of the index; benchmarks read through it to find the limit of a scan. */
  get memory(): WasmMemory {
    return this.#store.memory;
  }

  has(rid: number): boolean {
    return this.#slotsOf.has(rid);
  }

  /**
   * Inserts a memory or replaces it. INVALID_ARGUMENT when the vectors are not a whole number of `dim` or one of
   * them is zero or not finite; STORAGE_FULL at the memory's limit. After a failure the memory is not in the index.
   */
  put(entry: VectorEntry): Result<void> {
    this.delete(entry.rid);
    const { vectors } = entry;
    const count = vectors.length / this.dim;
    if (!Number.isInteger(count) || count === 0) {
      return fail('INVALID_ARGUMENT', `${vectors.length} numbers are not vectors of ${this.dim} dimensions`);
    }
    const slots: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const vector = vectors.subarray(index * this.dim, (index + 1) * this.dim);
      const added = this.#store.add(entry.nsId, entry.firstOwner, entry.secondOwner, vector);
      if (!added.ok) {
        this.#own(entry.rid, slots);
        this.delete(entry.rid);
        return failed(added.error);
      }
      slots.push(added.value);
    }
    this.#own(entry.rid, slots);
    return ok(undefined);
  }

  /** Removes a memory and frees its space; false when the index does not hold it. */
  delete(rid: number): boolean {
    let slots = this.#slotsOf.get(rid);
    if (slots === undefined) return false;
    // Each removal may move another row of the same memory, so the map is updated after each one.
    while (slots !== undefined) {
      const slot = typeof slots === 'number' ? slots : slots.pop()!;
      if (typeof slots === 'number' || slots.length === 0) this.#slotsOf.delete(rid);
      const moved = this.#store.remove(slot);
      if (moved !== slot) this.#relocate(moved, slot);
      slots = this.#slotsOf.get(rid);
    }
    return true;
  }

  /**
   * The best `k` memories of the visible rows, each by its best chunk, ties by rid. Mean and deviation are computed
   * from int8 cosines: of the memories' best chunks when all memories are candidates, else of all chunk vectors,
   * because most memories have one. A memory that `loadVectors` does not return is left out, and the search continues
   * until it has `k` others or no candidates are left.
   */
  search(search: VectorSearch, loadVectors: LoadVectors | null = null): VectorEvidence {
    if (search.queryVector.length !== this.dim) {
      throw new RangeError(`the query has ${search.queryVector.length} dimensions, the index ${this.dim}`);
    }
    const k = Math.min(SEARCH_RESULTS_MAX, Math.max(1, Math.floor(search.k)));
    const query = unitVector(search.queryVector);
    const step = this.#writeQuery(query);
    const viewers = this.#writeViewers(search.ownerSlots);
    const { functions } = this.#store;
    let capacity = Math.min(HEAP_ENTRIES_MAX, Math.max(CANDIDATES_MIN, k * CANDIDATES_PER_RESULT));
    for (;;) {
      functions.reset(capacity);
      this.#scan(search.nsIds, viewers, step);
      const scanned = functions.scanned();
      const candidates = this.#candidates(capacity);
      const hits = loadVectors === null ? candidates.slice(0, k) : rescore(query, candidates, k, loadVectors);
      if (hits.length >= k || scanned <= capacity || capacity === HEAP_ENTRIES_MAX) {
        const chunks = { count: scanned, sum: functions.sum(), squares: functions.squares() };
        return {
          queryVector: query,
          hits: hits.map(({ rid, cosine }) => ({ rid, cosine })),
          ...spreadOf(scanned <= capacity ? momentsOf(candidates) : chunks),
          scanned,
        };
      }
      capacity = Math.min(HEAP_ENTRIES_MAX, capacity * CANDIDATES_GROWTH);
    }
  }

  #own(rid: number, slots: number[]): void {
    if (slots.length === 0) return;
    for (const slot of slots) {
      while (slot >= this.#ridOf.length) {
        const larger = new Float64Array(this.#ridOf.length * 2);
        larger.set(this.#ridOf);
        this.#ridOf = larger;
      }
      this.#ridOf[slot] = rid;
    }
    this.#slotsOf.set(rid, slots.length === 1 ? slots[0]! : slots);
  }

  #relocate(from: number, to: number): void {
    const rid = this.#ridOf[from]!;
    this.#ridOf[to] = rid;
    const slots = this.#slotsOf.get(rid);
    if (typeof slots === 'number') this.#slotsOf.set(rid, to);
    else if (slots !== undefined) slots[slots.indexOf(from)] = to;
  }

  /**
   * Writes the query as int16, as fine as the kernel's 32-bit sums allow: no sum can exceed 2^15 times the sum of the
   * query's magnitudes. So its rounding error is small compared with the int8 rows'. Answers the value of one step.
   */
  #writeQuery(query: Float32Array): number {
    const { words, dimPadded } = this.#store;
    let largest = 0;
    let total = 0;
    for (const value of query) {
      largest = Math.max(largest, Math.abs(value));
      total += Math.abs(value);
    }
    if (!(total > 0)) throw new RangeError('the query vector is zero or not finite');
    const factor = Math.min(INT16_MAX / largest, (SUM_OF_QUERY_MAX - query.length / 2) / total);
    const target = new Int16Array(words.buffer, QUERY_AT, dimPadded);
    target.fill(0);
    let product = 0;
    for (let index = 0; index < query.length; index += 1) {
      target[index] = Math.round(query[index]! * factor);
      product += query[index]! * target[index]!;
    }
    // Not 1 / factor: equal numbers of a query all round in the same direction.
    return 1 / (product * SUM_SCALE);
  }

  #writeViewers(ownerSlots: readonly number[] | null): number {
    if (ownerSlots === null) return -1;
    if (ownerSlots.length > VIEWERS_MAX)
      throw new RangeError(`more than ${VIEWERS_MAX} owners in one search`);
    // The kernel uses slots 0 and below for other purposes, so they must never be passed as a viewer.
    const owners = ownerSlots.filter((slot) => slot > EVERYBODY);
    this.#store.words.set(owners, VIEWERS_AT / 4);
    return owners.length;
  }

  #scan(nsIds: readonly number[] | null, viewers: number, step: number): void {
    const { functions, dimPadded, words, blockCount } = this.#store;
    if (nsIds === null) {
      functions.scan(0, blockCount, dimPadded, viewers, step);
      return;
    }
    let listed = 0;
    const flush = () => {
      if (listed > 0) functions.scan(1, listed, dimPadded, viewers, step);
      listed = 0;
    };
    for (const nsId of new Set(nsIds)) {
      const blocks = this.#store.blocksOf(nsId);
      for (let from = 0; from < blocks.length; ) {
        const part = blocks.subarray(from, from + LIST_ENTRIES_MAX - listed);
        words.set(part, LIST_AT / 4 + listed);
        listed += part.length;
        from += part.length;
        if (listed === LIST_ENTRIES_MAX) flush();
      }
    }
    flush();
  }

  /** The heap as memories, best first; each memory with its best chunk. */
  #candidates(capacity: number): Candidate[] {
    const { floats, words } = this.#store;
    const best = new Map<number, Candidate>();
    for (let at = HEAP_AT / 4; at < HEAP_AT / 4 + 2 * capacity; at += 2) {
      const slot = words[at + 1]!;
      if (slot < 0) continue;
      const rid = this.#ridOf[slot]!;
      const cosine = floats[at]!;
      if ((best.get(rid)?.cosine ?? Number.NEGATIVE_INFINITY) < cosine) {
        best.set(rid, { rid, cosine, step: this.#store.stepOf(slot) });
      }
    }
    return [...best.values()].sort((left, right) => right.cosine - left.cosine || left.rid - right.rid);
  }
}

/** Count, sum and sum of squares of cosines. */
interface Moments {
  readonly count: number;
  readonly sum: number;
  readonly squares: number;
}

function momentsOf(candidates: readonly Candidate[]): Moments {
  let sum = 0;
  let squares = 0;
  for (const { cosine } of candidates) {
    sum += cosine;
    squares += cosine * cosine;
  }
  return { count: candidates.length, sum, squares };
}

function spreadOf({ count, sum, squares }: Moments): { readonly mean: number; readonly deviation: number } {
  if (count === 0) return { mean: 0, deviation: 0 };
  const mean = sum / count;
  return { mean, deviation: Math.sqrt(Math.max(0, squares / count - mean * mean)) };
}
