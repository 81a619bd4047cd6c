import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { systemClock } from '../seams.js';

/**
 * The part of `@biscuit-auth/biscuit-wasm` that is used. Its own entry imports WebAssembly as a module, which Node 20 and
 * 22 do not do without a flag, so its parts are put together here. The build puts them beside this file.
 */
export interface BiscuitLibrary {
  readonly Biscuit: {
    builder(): BiscuitBuilder;
    block_builder(): BlockBuilder;
    fromBase64(text: string, root: PublicKey): Biscuit;
  };
  readonly PrivateKey: { fromBytes(seed: Uint8Array, algorithm: number): PrivateKey };
  readonly PublicKey: { fromBytes(key: Uint8Array, algorithm: number): PublicKey };
  readonly SignatureAlgorithm: { readonly Ed25519: number };
}

interface Freed {
  free(): void;
}
export type PrivateKey = Freed;
export type PublicKey = Freed;

export interface BlockBuilder {
  addCode(source: string): void;
}

export interface BiscuitBuilder extends BlockBuilder {
  build(root: PrivateKey): Biscuit;
}

export interface Biscuit extends Freed {
  appendBlock(block: BlockBuilder): Biscuit;
  toBase64(): string;
  countBlocks(): number;
  getBlockSource(index: number): string;
  getRevocationIdentifiers(): readonly string[];
}

interface Glue extends BiscuitLibrary {
  __wbg_set_wasm(exports: object): void;
  readonly [name: string]: unknown;
}

/** The part of the WebAssembly JavaScript interface that is used; the compiler's ES libraries do not declare it. */
interface WebAssemblyApi {
  compile(bytes: Uint8Array): Promise<object>;
  instantiate(module: object, imports: object): Promise<{ readonly exports: { __wbindgen_start(): void } }>;
  readonly Module: { imports(module: object): readonly { readonly module: string; readonly name: string }[] };
}

const { WebAssembly: webAssembly } = globalThis as unknown as { readonly WebAssembly: WebAssemblyApi };

/** The library tells its console when it begins; answers of commands go there too. */
const TELLS = /^__wbg_(?:log|debug|info|warn|error)_/;

let loaded: Promise<BiscuitLibrary> | null = null;

/** Loads the library: 25 ms, once, and only where a token is used. */
export function biscuitLibrary(): Promise<BiscuitLibrary> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<BiscuitLibrary> {
  const require = createRequire(import.meta.url);
  const place = require.resolve('./biscuit/biscuit.cjs');
  // What it keeps is of one instance, which another copy of this module may have made.
  delete require.cache[place];
  const glue = require(place) as Glue;
  const bytes = await readFile(new URL('./biscuit/biscuit_bg.wasm', import.meta.url));
  const module = await webAssembly.compile(bytes);
  const imports: Record<string, Record<string, unknown>> = {};
  for (const { module: from, name } of webAssembly.Module.imports(module)) {
    imports[from] ??= {};
    imports[from][name] = name === 'performance_now' ? () => systemClock.monotonicMs() : glue[name];
    if (TELLS.test(name)) imports[from][name] = () => undefined;
  }
  const { exports } = await webAssembly.instantiate(module, imports);
  glue.__wbg_set_wasm(exports);
  exports.__wbindgen_start();
  return glue;
}
