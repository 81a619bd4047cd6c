/**
 * The part of the WebAssembly JavaScript interface that the kernel uses. The compiler's ES libraries do not declare it,
 * and the DOM library would declare a browser's globals too.
 */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  /** Adds pages of 64 KiB; throws RangeError when the limit or the system refuses. Detaches the old buffer. */
  grow(pages: number): number;
}

interface WebAssemblyApi {
  readonly Memory: new (limits: { initial: number; maximum: number }) => WasmMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (
    module: object,
    imports: Record<string, Record<string, unknown>>,
  ) => { readonly exports: unknown };
}

export const webAssembly = (globalThis as unknown as { WebAssembly: WebAssemblyApi }).WebAssembly;
