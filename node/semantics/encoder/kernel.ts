import { type WasmMemory, webAssembly } from '../../../storage/vectors/web-assembly.js';
import { KERNEL_BASE64 } from './kernel-bytes.js';

/** The loops in `kernel.wat`, which says what each does. Places are those of bytes in the memory. */
export interface Kernel {
  multiply(
    from: number,
    stride: number,
    rows: number,
    weights: number,
    inputs: number,
    outputs: number,
    to: number,
  ): void;
  embed(bytes: number, count: number, step: number, low: number, row: number, features: number): void;
  project(
    sums: number,
    ones: number,
    bias: number,
    count: number,
    step: number,
    low: number,
    features: number,
  ): void;
  add(sums: number, bias: number, count: number, step: number, features: number): void;
  normalize(features: number, count: number, gain: number, shift: number, epsilon: number): void;
  largest(features: number, count: number, largest: number): number;
  round(features: number, count: number, perValue: number, row: number): void;
  sum(features: number, count: number, sums: number): void;
  through(
    values: number,
    steps: number,
    weights: number,
    inputs: number,
    outputs: number,
    step: number,
    row: number,
    sums: number,
    adds: 0 | 1,
    to: number,
  ): void;
  positive(values: number, count: number): void;
  tanh(values: number, count: number): void;
}

const PAGE_BYTES = 65_536;

/** The least size of the memory in bytes. Pages that are not written cost nothing. */
export function kernelMemory(bytes: number): WasmMemory {
  const pages = Math.ceil(bytes / PAGE_BYTES);
  return new webAssembly.Memory({ initial: pages, maximum: pages });
}

export function kernelOn(memory: WasmMemory): Kernel {
  const module = new webAssembly.Module(Buffer.from(KERNEL_BASE64, 'base64'));
  return new webAssembly.Instance(module, { env: { memory } }).exports as Kernel;
}
