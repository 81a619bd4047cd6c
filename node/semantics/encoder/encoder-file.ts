import { readFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';

/** A matrix of weights: whole steps, one row of `inputs` values for each output. */
export interface Weights {
  readonly values: Int8Array;
  /** What one step is worth. */
  readonly step: number;
  readonly inputs: number;
  readonly outputs: number;
}

interface Section {
  readonly name: string;
  readonly type: keyof typeof ARRAYS;
  readonly length: number;
  readonly at: number;
  readonly step?: number;
  readonly inputs?: number;
  readonly outputs?: number;
}

const ARRAYS = { Int8Array, Uint8Array, Int32Array, Uint32Array, Float32Array } as const;
const MAGIC = 'MNENC01\n';

/** The file of the built-in encoder (cli/dev/make-encoder.mjs): a head in JSON, and packed sections that are read in place. */
export class EncoderFile {
  readonly epsilon: number;
  readonly #sections: ReadonlyMap<string, Section>;
  readonly #body: Uint8Array;

  constructor(path: URL) {
    const bytes = readFileSync(path);
    if (bytes.toString('latin1', 0, MAGIC.length) !== MAGIC)
      throw new Error(`${path.pathname} is not the file of an encoder; install the package again`);
    const start = MAGIC.length + 4;
    const end = start + bytes.readUInt32LE(MAGIC.length);
    const head = JSON.parse(bytes.toString('utf8', start, end)) as {
      readonly bytes: number;
      readonly epsilon: number;
      readonly sections: readonly Section[];
    };
    this.epsilon = head.epsilon;
    this.#sections = new Map(head.sections.map((section) => [section.name, section]));
    this.#body = brotliDecompressSync(bytes.subarray(end), {
      // One piece, as joining several would need the memory twice.
      chunkSize: head.bytes,
      maxOutputLength: head.bytes,
    });
  }

  bytes = (name: string): Uint8Array => this.#read(name, 'Uint8Array') as Uint8Array;
  integers = (name: string): Int32Array => this.#read(name, 'Int32Array') as Int32Array;
  units = (name: string): Uint32Array => this.#read(name, 'Uint32Array') as Uint32Array;
  floats = (name: string): Float32Array => this.#read(name, 'Float32Array') as Float32Array;

  weights(name: string): Weights {
    const { step = 0, inputs = 0, outputs = 0 } = this.#section(name);
    return { values: this.#read(name, 'Int8Array') as Int8Array, step, inputs, outputs };
  }

  #section(name: string): Section {
    const section = this.#sections.get(name);
    if (section === undefined) throw new Error(`the encoder has no section "${name}"`);
    return section;
  }

  #read(name: string, type: Section['type']): ArrayBufferView {
    const section = this.#section(name);
    if (section.type !== type)
      throw new Error(`the section "${name}" has the type ${section.type}, not ${type}`);
    const { buffer, byteOffset } = this.#body;
    return new ARRAYS[type](buffer as ArrayBuffer, byteOffset + section.at, section.length);
  }
}
