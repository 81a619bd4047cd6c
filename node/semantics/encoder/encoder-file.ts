import { closeSync, openSync, readSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A matrix of weights: whole steps, one row of `inputs` values for each output. */
export interface Weights {
  /** Where its values begin in the memory that the file was read into. */
  readonly at: number;
  /** What one step is worth. */
  readonly step: number;
  readonly inputs: number;
  readonly outputs: number;
}

interface Section {
  readonly name: string;
  readonly type: keyof typeof ARRAYS;
  readonly length: number;
  /** Counted from the first section. */
  readonly at: number;
  readonly step?: number;
  readonly inputs?: number;
  readonly outputs?: number;
}

interface Head {
  readonly epsilon: number;
  readonly unknownScore: number;
  /** Where the sections begin, and how long they are together. */
  readonly start: number;
  readonly bytes: number;
  readonly sections: readonly Section[];
  readonly table: { readonly at: number; readonly rows: number; readonly width: number };
}

const ARRAYS = { Int8Array, Uint8Array, Int32Array, Uint32Array, Float32Array } as const;
const MAGIC = 'MNENC02\n';
const HEAD_AT = MAGIC.length + 4;

/**
 * The file of the built-in encoder, which is used as it lies (cli/dev/lay-out-encoder.mjs writes it): a head in JSON; sections,
 * which are read at once into the memory of who computes with them; the table of the tokens, of which only the rows that a text
 * needs are read. It stays open for them.
 */
export class EncoderFile {
  readonly #path: string;
  readonly #file: number;
  readonly #head: Head;
  readonly #sections: ReadonlyMap<string, Section>;
  #memory: ArrayBuffer = new ArrayBuffer(0);
  #memoryAt = 0;

  constructor(path: URL) {
    this.#path = fileURLToPath(path);
    this.#file = openSync(path, 'r');
    const start = this.#read(Buffer.alloc(HEAD_AT), 0);
    if (start.toString('latin1', 0, MAGIC.length) !== MAGIC) throw this.#damaged();
    const head = this.#read(Buffer.alloc(start.readUInt32LE(MAGIC.length)), HEAD_AT);
    this.#head = JSON.parse(head.toString('latin1')) as Head;
    this.#sections = new Map(this.#head.sections.map((section) => [section.name, section]));
  }

  get epsilon(): number {
    return this.#head.epsilon;
  }

  /** The score of a character that is in no piece. */
  get unknownScore(): number {
    return this.#head.unknownScore;
  }

  /** How much memory `load` needs. */
  get bytes(): number {
    return this.#head.bytes;
  }

  /** Reads all sections; `at` is a multiple of 64. What the methods below answer are views on this memory. */
  load(memory: ArrayBuffer, at: number): void {
    this.#read(new Uint8Array(memory, at, this.#head.bytes), this.#head.start);
    this.#memory = memory;
    this.#memoryAt = at;
  }

  /** Where a section is in the memory. */
  at(name: string): number {
    return this.#memoryAt + this.#section(name).at;
  }

  bytesOf = (name: string): Uint8Array => this.#view(name, 'Uint8Array') as Uint8Array;
  integers = (name: string): Int32Array => this.#view(name, 'Int32Array') as Int32Array;
  units = (name: string): Uint32Array => this.#view(name, 'Uint32Array') as Uint32Array;
  floats = (name: string): Float32Array => this.#view(name, 'Float32Array') as Float32Array;

  weights(name: string): Weights {
    const { step = 0, inputs = 0, outputs = 0 } = this.#section(name);
    return { at: this.at(name), step, inputs, outputs };
  }

  /** Reads the row of a token. */
  readRow(id: number, row: Uint8Array): void {
    const { at, width } = this.#head.table;
    this.#read(row, at + id * width);
  }

  close(): void {
    closeSync(this.#file);
  }

  #section(name: string): Section {
    const section = this.#sections.get(name);
    if (section === undefined) throw new Error(`the encoder has no section "${name}"`);
    return section;
  }

  #view(name: string, type: Section['type']): ArrayBufferView {
    const { length, type: own } = this.#section(name);
    if (own !== type) throw new Error(`the section "${name}" has the type ${own}, not ${type}`);
    return new ARRAYS[type](this.#memory, this.at(name), length);
  }

  #read<Bytes extends Uint8Array>(bytes: Bytes, from: number): Bytes {
    if (readSync(this.#file, bytes, 0, bytes.length, from) !== bytes.length) throw this.#damaged();
    return bytes;
  }

  #damaged = () => new Error(`${this.#path} is not the file of an encoder; install the package again`);
}
