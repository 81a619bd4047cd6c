import { fail, ok, type Result } from '../../protocol/base/result.js';
import {
  BLOCK_HEAD_BYTES,
  BLOCKS_AT,
  createKernel,
  FIRST_OWNER_AT,
  INPUT_AT,
  type KernelFunctions,
  LANES,
  PAGE_BYTES,
  SECOND_OWNER_AT,
} from './kernel.js';
import type { WasmMemory } from './web-assembly.js';

/** The owner that marks a lane without a row. */
const DEAD = -1;
/** Vectors outside these lengths cannot be scaled to unit length in float32. */
const LENGTH_MIN = 1e-12;
const LENGTH_MAX = 1e12;
/** Least growth of the memory, and its share of the present size: few growths and little unused memory. */
const GROWTH_BYTES_MIN = 1 << 20;
const GROWTH_SHARE = 1 / 8;

/**
 * A namespace takes new blocks in runs of neighbours, a quarter of its blocks and at most this many (64 KiB at 512
 * dimensions). So a scan of one namespace among many reads memory in order, nearly as fast as a scan of all.
 */
const RUN_BLOCKS_MAX = 16;
const RUN_SHARE = 1 / 4;

/** The rows of one namespace: every block except the last is full. */
interface Segment {
  blocks: Int32Array;
  rows: number;
  /** Blocks of the present run that are still unused: from `next` up to, but not including, `end`. */
  next: number;
  end: number;
}

/**
 * Quantised rows in blocks of eight in one WebAssembly memory, grouped by namespace. A row's address is its slot: eight
 * times the block's number plus the lane. A namespace has no gaps: removing a row moves the namespace's last row into
 * its place, and an empty block returns to the free list. A block is 4 KiB at 512 dimensions, so a namespace with one
 * row costs one block.
 */
export class BlockStore {
  readonly functions: KernelFunctions;
  readonly memory: WasmMemory;
  readonly dim: number;
  /** `dim` rounded up to the kernel's step; the rest is zero. */
  readonly dimPadded: number;
  #floats: Float32Array;
  #words: Int32Array;
  readonly #blockBytes: number;
  readonly #pagesMax: number;
  readonly #segments = new Map<number, Segment>();
  readonly #free: number[] = [];
  #namespaceOfBlock = new Int32Array(64);
  #blocks = 0;
  #rows = 0;

  constructor(dim: number, pagesMax: number) {
    const kernel = createKernel(pagesMax);
    this.functions = kernel.functions;
    this.memory = kernel.memory;
    this.#pagesMax = pagesMax;
    this.dim = dim;
    this.dimPadded = Math.ceil(dim / 16) * 16;
    this.#blockBytes = BLOCK_HEAD_BYTES + LANES * this.dimPadded;
    this.#floats = new Float32Array(this.memory.buffer);
    this.#words = new Int32Array(this.memory.buffer);
  }

  /** Blocks ever made, free ones included; a scan of all rows visits them in order. */
  get blockCount(): number {
    return this.#blocks;
  }

  /** Rows stored. */
  get rowCount(): number {
    return this.#rows;
  }

  /** Views on the memory; get them again after every write, because growth replaces them. */
  get floats(): Float32Array {
    return this.#floats;
  }
  get words(): Int32Array {
    return this.#words;
  }

  /** The numbers of a namespace's blocks; empty when it has no rows. */
  blocksOf(nsId: number): Int32Array {
    const segment = this.#segments.get(nsId);
    return segment === undefined
      ? new Int32Array(0)
      : segment.blocks.subarray(0, Math.ceil(segment.rows / LANES));
  }

  /**
   * Stores a row and answers its slot. STORAGE_FULL when the memory has reached its limit; INVALID_ARGUMENT when the
   * vector has no direction (zero, NaN or infinite).
   */
  add(nsId: number, firstOwner: number, secondOwner: number, vector: Float32Array): Result<number> {
    this.#floats.set(vector, INPUT_AT / 4);
    const length = this.functions.measure(this.dimPadded);
    if (!(length > LENGTH_MIN && length < LENGTH_MAX)) {
      return fail('INVALID_ARGUMENT', 'the vector is zero or not finite');
    }
    let segment = this.#segments.get(nsId);
    if (segment === undefined) {
      segment = { blocks: new Int32Array(1), rows: 0, next: 0, end: 0 };
      this.#segments.set(nsId, segment);
    }
    const place = Math.floor(segment.rows / LANES);
    const lane = segment.rows % LANES;
    if (lane === 0) {
      const block = this.#takeBlock(segment);
      if (block === null) {
        if (segment.rows === 0) this.#segments.delete(nsId);
        return fail(
          'STORAGE_FULL',
          `the vector index is full: ${this.#rows} rows of ${this.dim} dimensions fill its memory of ${this.#pagesMax * PAGE_BYTES} bytes`,
        );
      }
      if (place === segment.blocks.length) segment.blocks = enlarged(segment.blocks);
      segment.blocks[place] = block;
      this.#namespaceOfBlock[block] = nsId;
    }
    const slot = segment.blocks[place]! * LANES + lane;
    const step = this.functions.quantise(this.#valuesAt(slot), this.dimPadded);
    const head = this.#headAt(slot);
    this.#floats[head] = step / length;
    this.#words[head + FIRST_OWNER_AT / 4] = firstOwner;
    this.#words[head + SECOND_OWNER_AT / 4] = secondOwner;
    segment.rows += 1;
    this.#rows += 1;
    return ok(slot);
  }

  /** Removes a row. Answers the slot whose row was moved into this one; the same slot when no row was moved. */
  remove(slot: number): number {
    const nsId = this.#namespaceOfBlock[Math.floor(slot / LANES)]!;
    const segment = this.#segments.get(nsId);
    if (segment === undefined) throw new Error(`slot ${slot} holds no row`);
    segment.rows -= 1;
    this.#rows -= 1;
    const place = Math.floor(segment.rows / LANES);
    const block = segment.blocks[place]!;
    const last = block * LANES + (segment.rows % LANES);
    const head = this.#headAt(slot);
    const lastHead = this.#headAt(last);
    if (last !== slot) {
      this.functions.move(this.#valuesAt(last), this.#valuesAt(slot), this.dimPadded);
      for (const at of [0, FIRST_OWNER_AT / 4, SECOND_OWNER_AT / 4]) {
        this.#words[head + at] = this.#words[lastHead + at]!;
      }
    }
    this.#words[lastHead + FIRST_OWNER_AT / 4] = DEAD;
    // A second owner that stayed there would make the dead lane visible to that owner.
    this.#words[lastHead + SECOND_OWNER_AT / 4] = 0;
    if (segment.rows % LANES === 0) this.#free.push(block);
    if (segment.rows === 0) {
      for (let unused = segment.next; unused < segment.end; unused += 1) this.#free.push(unused);
      this.#segments.delete(nsId);
    }
    return last;
  }

  /** The value of one int8 step of a row: the unit of its quantisation error. */
  stepOf(slot: number): number {
    return this.#floats[this.#headAt(slot)]!;
  }

  /** Index of a lane's scale among the memory's 32-bit words. */
  #headAt(slot: number): number {
    return (BLOCKS_AT + Math.floor(slot / LANES) * this.#blockBytes) / 4 + (slot % LANES);
  }

  /** Address of a lane's first value. */
  #valuesAt(slot: number): number {
    return BLOCKS_AT + Math.floor(slot / LANES) * this.#blockBytes + BLOCK_HEAD_BYTES + (slot % LANES) * 16;
  }

  #takeBlock(segment: Segment): number | null {
    if (segment.next < segment.end) return segment.next++;
    const free = this.#free.pop();
    if (free !== undefined) return free;
    const used = segment.rows / LANES;
    const wished = Math.min(RUN_BLOCKS_MAX, Math.max(1, Math.floor(used * RUN_SHARE)));
    const run = this.#makeBlocks(wished) ? wished : this.#makeBlocks(1) ? 1 : 0;
    if (run === 0) return null;
    segment.end = this.#blocks;
    segment.next = this.#blocks - run + 1;
    return segment.next - 1;
  }

  /** Appends dead blocks; false, without a change, when the memory cannot hold them. */
  #makeBlocks(count: number): boolean {
    const needed = BLOCKS_AT + (this.#blocks + count) * this.#blockBytes;
    if (needed > this.memory.buffer.byteLength && !this.#grow(needed)) return false;
    for (let made = 0; made < count; made += 1) {
      const owners = (BLOCKS_AT + this.#blocks * this.#blockBytes + FIRST_OWNER_AT) / 4;
      this.#words.fill(DEAD, owners, owners + LANES);
      this.#blocks += 1;
    }
    while (this.#namespaceOfBlock.length < this.#blocks)
      this.#namespaceOfBlock = enlarged(this.#namespaceOfBlock);
    return true;
  }

  #grow(needed: number): boolean {
    const present = this.memory.buffer.byteLength;
    const least = Math.ceil((needed - present) / PAGE_BYTES);
    const wished = Math.ceil(Math.max(GROWTH_BYTES_MIN, present * GROWTH_SHARE) / PAGE_BYTES);
    const possible = this.#pagesMax - present / PAGE_BYTES;
    if (possible < least) return false;
    try {
      this.memory.grow(Math.min(possible, Math.max(least, wished)));
    } catch {
      // The system refused the memory: the same outcome as the limit.
      return false;
    }
    this.#floats = new Float32Array(this.memory.buffer);
    this.#words = new Int32Array(this.memory.buffer);
    return true;
  }
}

function enlarged(list: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(Math.max(4, list.length * 2));
  larger.set(list);
  return larger;
}
