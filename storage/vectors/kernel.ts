import { KERNEL_BASE64 } from './kernel-bytes.js';
import { type WasmMemory, webAssembly } from './web-assembly.js';

/** Rows of a block; the scan processes them together. */
export const LANES = 8;
/** Bytes at the head of a block: scale, first owner and second owner of every lane. */
export const BLOCK_HEAD_BYTES = 96;
/** Offsets inside a block's head. */
export const FIRST_OWNER_AT = 32;
export const SECOND_OWNER_AT = 64;

/** Fixed addresses of the kernel's memory (kernel.wat has the same numbers). */
export const VIEWERS_AT = 0;
export const HEAP_AT = 0x10000;
export const LIST_AT = 0x20000;
export const QUERY_AT = 0x30000;
export const INPUT_AT = 0x40000;
export const BLOCKS_AT = 0x50000;

/** Capacity of the fixed areas. */
export const VIEWERS_MAX = 0x10000 / 4;
/** The same number as `VECTOR_CANDIDATES_MAX` of the limits. */
export const HEAP_ENTRIES_MAX = 0x10000 / 8;
export const LIST_ENTRIES_MAX = 0x10000 / 4;
/** Longest vector: the float32 area is 64 KiB. */
export const DIMENSION_MAX = 0x10000 / 4;

/** One WebAssembly page, and the maximum number of pages of one memory (4 GiB). */
export const PAGE_BYTES = 65_536;
export const PAGES_MAX = 65_536;

/** The functions of `kernel.wat`, which describes them. */
export interface KernelFunctions {
  reset(heapEntries: number): void;
  scan(listed: 0 | 1, count: number, dim: number, viewers: number, step: number): void;
  scanned(): number;
  sum(): number;
  squares(): number;
  measure(dim: number): number;
  quantise(to: number, dim: number): number;
  move(from: number, to: number, dim: number): void;
}

/** An instance of the kernel with its memory, which grows up to `pagesMax`. */
export interface Kernel {
  readonly functions: KernelFunctions;
  readonly memory: WasmMemory;
}

let compiled: object | undefined;

/** Makes an instance; each thread compiles the module once. Needs WebAssembly SIMD, which Node 20 has. */
export function createKernel(pagesMax: number): Kernel {
  compiled ??= new webAssembly.Module(Buffer.from(KERNEL_BASE64, 'base64'));
  const memory = new webAssembly.Memory({ initial: BLOCKS_AT / PAGE_BYTES + 1, maximum: pagesMax });
  const instance = new webAssembly.Instance(compiled, { env: { memory } });
  return { functions: instance.exports as KernelFunctions, memory };
}
