import { webAssembly } from '../../../storage/vectors/web-assembly.js';
import { EncoderFile, type Weights } from './encoder-file.js';
import { hyperbolicTangent } from './hyperbolic-tangent.js';
import { KERNEL_BASE64 } from './kernel-bytes.js';
import { Tokenizer } from './tokenizer.js';

/** Numbers of a vector. */
export const ENCODER_DIM = 512;
/** The part of a text that is read, in tokens. */
export const ENCODER_TOKENS_MAX = 1024;

const CHANNELS = 256;
const ORDERS = [2, 3, 5] as const;
const WIDTH = CHANNELS * ORDERS.length;
const FEATURES = ENCODER_DIM + WIDTH;
const PAGE_BYTES = 65_536;
const SUM_MAX = 2 ** 31 - 1;
const STEP_MAX = 127;
/** A window reaches this many rows beyond the text. */
const PADDING_ROWS = 4;

interface Kernel {
  multiply(
    from: number,
    stride: number,
    rows: number,
    weights: number,
    inputs: number,
    outputs: number,
    to: number,
  ): void;
}

/** Weights with the place where the kernel finds them. */
interface Placed extends Weights {
  readonly at: number;
}

interface Order {
  readonly order: number;
  readonly proj: Placed;
  /** The sum of each output's weights, for the part of a row's values that is the same for all. */
  readonly projSums: Int32Array;
  readonly projBias: Float32Array;
  readonly layers: readonly { readonly weights: Placed; readonly bias: Float32Array }[];
}

/**
 * A sentence encoder for sixteen languages: token rows, convolutions over windows of 2, 3 and 5 tokens, the sum of the
 * tokens, a small network (README.md beside this file). Weights are whole steps, so that their products with rounded values
 * are exact sums of integers; what is not a product is computed in double precision with operations that every engine rounds
 * alike. So a text has the same vector, bit by bit, everywhere.
 */
export class SentenceEncoder {
  readonly #tokenizer: Tokenizer;
  readonly #epsilon: number;
  readonly #table: Uint8Array;
  readonly #tableLow: Float32Array;
  readonly #tableStep: Float32Array;
  readonly #orders: readonly Order[];
  /** Of the projections of all orders together. */
  readonly #projGain: Float32Array;
  readonly #projShift: Float32Array;
  readonly #gain: Float32Array;
  readonly #shift: Float32Array;
  readonly #sumBias: Float32Array;
  readonly #dense: Readonly<Record<'cnn_W' | 'd0' | 'd1' | 'd2' | 'd3' | 'p1' | 'p3', Placed>>;
  readonly #kernel: Kernel;
  /** Rows of int16 that the kernel multiplies, and the int32 sums that it answers. */
  readonly #rows: Int16Array;
  readonly #rowsAt: number;
  readonly #sums: Int32Array;
  readonly #sumsAt: number;
  /** One row for each token: its own row of the table, then the channels of each order. */
  readonly #features = new Float32Array(ENCODER_TOKENS_MAX * FEATURES);

  constructor(path = new URL('./sentence-encoder.bin', import.meta.url)) {
    const file = new EncoderFile(path);
    this.#tokenizer = new Tokenizer(file);
    this.#epsilon = file.epsilon;
    this.#table = file.bytes('table');
    this.#tableLow = file.floats('tableLow');
    this.#tableStep = file.floats('tableStep');
    this.#projGain = joined(ORDERS.map((order) => file.floats(`ln_g${order}`)));
    this.#projShift = joined(ORDERS.map((order) => file.floats(`ln_b${order}`)));
    this.#gain = file.floats('ln_g');
    this.#shift = file.floats('ln_b');
    this.#sumBias = file.floats('cnn_b');
    const rowBytes = (ENCODER_TOKENS_MAX + PADDING_ROWS + 2) * ENCODER_DIM * 2;
    const sumBytes = (ENCODER_TOKENS_MAX + 2) * ENCODER_DIM * 4;
    let size = rowBytes + sumBytes;
    const placed: Placed[] = [];
    const place = (name: string): Placed => {
      const weights = { ...file.weights(name), at: size };
      size += weights.values.length;
      placed.push(weights);
      return weights;
    };
    this.#orders = ORDERS.map((order) => {
      const proj = place(`proj${order}`);
      return {
        ...{ order, proj, projSums: sumsOf(proj), projBias: file.floats(`proj_b${order}`) },
        layers: ([1, 2] as const).map((layer) => ({
          weights: place(`w${layer}_${order}`),
          bias: file.floats(`b${layer}_${order}`),
        })),
      };
    });
    this.#dense = {
      ...{ cnn_W: place('cnn_W'), d0: place('d0'), d1: place('d1'), d2: place('d2') },
      ...{ d3: place('d3'), p1: place('p1'), p3: place('p3') },
    };
    const pages = Math.ceil(size / PAGE_BYTES);
    const memory = new webAssembly.Memory({ initial: pages, maximum: pages });
    const module = new webAssembly.Module(Buffer.from(KERNEL_BASE64, 'base64'));
    this.#kernel = new webAssembly.Instance(module, { env: { memory } }).exports as Kernel;
    for (const { at, values } of placed) new Int8Array(memory.buffer).set(values, at);
    this.#rowsAt = 0;
    this.#rows = new Int16Array(memory.buffer, 0, rowBytes / 2);
    this.#sumsAt = rowBytes;
    this.#sums = new Int32Array(memory.buffer, rowBytes, sumBytes / 4);
  }

  /** The tokens of a text, as many as are read. */
  ids(text: string): readonly number[] {
    return this.#tokenizer.ids(text).slice(0, ENCODER_TOKENS_MAX);
  }

  /** Writes the unit vector of a text: 512 numbers. */
  write(text: string, target: Float32Array): void {
    const ids = this.ids(text);
    this.#embed(ids);
    for (const [index, order] of this.#orders.entries())
      this.#project(order, ENCODER_DIM + index * CHANNELS, ids);
    for (let token = 0; token < ids.length; token += 1) {
      this.#normalize(token * FEATURES + ENCODER_DIM, this.#projGain, this.#projShift);
    }
    for (const [index, order] of this.#orders.entries())
      this.#convolve(order, ENCODER_DIM + index * CHANNELS, ids.length);
    this.#finish(ids.length, target);
  }

  /** The rows of the tokens, as bytes for the kernel and as numbers for the features. */
  #embed(ids: readonly number[]): void {
    const [rows, table, features] = [this.#rows, this.#table, this.#features];
    for (const [token, id] of ids.entries()) {
      const [step, low] = [this.#stepOf(id), this.#lowOf(id)];
      const [from, to, place] = [id * ENCODER_DIM, token * ENCODER_DIM, token * FEATURES];
      for (let index = 0; index < ENCODER_DIM; index += 1) {
        const value = table[from + index]!;
        rows[to + index] = value;
        features[place + index] = value * step + low;
      }
    }
  }

  #stepOf = (id: number): number => this.#tableStep[id % this.#tableStep.length]!;
  #lowOf = (id: number): number => this.#tableLow[id % this.#tableLow.length]!;

  /** The projection of one order, from the rows that `#embed` wrote. */
  #project({ proj, projSums, projBias }: Order, column: number, ids: readonly number[]): void {
    const [features, sums] = [this.#features, this.#sums];
    this.#multiply(proj, ids.length, ENCODER_DIM * 2);
    for (const [token, id] of ids.entries()) {
      const [step, low] = [this.#stepOf(id) * proj.step, this.#lowOf(id) * proj.step];
      const [from, to] = [token * CHANNELS, token * FEATURES + column];
      for (let index = 0; index < CHANNELS; index += 1) {
        features[to + index] = sums[from + index]! * step + projSums[index]! * low + projBias[index]!;
      }
    }
  }

  /** Two convolutions over the channels of one order; each adds to what it reads. */
  #convolve({ order, layers }: Order, column: number, length: number): void {
    const [features, sums] = [this.#features, this.#sums];
    for (const { weights, bias } of layers) {
      const scale = this.#windows(column, length, order, weights.inputs) * weights.step;
      this.#multiply(weights, length, CHANNELS * 2);
      for (let token = 0; token < length; token += 1) {
        const [from, to] = [token * CHANNELS, token * FEATURES + column];
        for (let index = 0; index < CHANNELS; index += 1) {
          const value = sums[from + index]! * scale + bias[index]!;
          if (value > 0) features[to + index]! += value;
        }
      }
    }
  }

  /**
   * Rounds the channels of one order for the kernel, with empty rows beside the text; a window is then as many rows as its
   * order. Answers what one step is worth.
   */
  #windows(column: number, length: number, order: number, inputs: number): number {
    const [rows, features] = [this.#rows, this.#features];
    let largest = 0;
    for (let token = 0; token < length; token += 1) {
      largest = Math.max(largest, largestOf(features, token * FEATURES + column, CHANNELS));
    }
    const { step, perValue } = stepsFor(largest, inputs);
    const left = (order - 1) >> 1;
    let to = left * CHANNELS;
    rows.fill(0, 0, to);
    for (let token = 0; token < length; token += 1) {
      roundInto(features, token * FEATURES + column, CHANNELS, perValue, rows, to);
      to += CHANNELS;
    }
    // One more than the window needs, as rows are multiplied in pairs.
    rows.fill(0, to, to + (order - left) * CHANNELS);
    return step;
  }

  #multiply({ at, inputs, outputs }: Placed, rows: number, stride: number): void {
    this.#kernel.multiply(this.#rowsAt, stride, rows, at, inputs, outputs, this.#sumsAt);
  }

  #finish(length: number, target: Float32Array): void {
    const features = this.#features;
    const sum = new Float64Array(FEATURES);
    for (let token = 0; token < length; token += 1) {
      const place = token * FEATURES;
      this.#normalize(place, this.#gain, this.#shift);
      for (let index = 0; index < FEATURES; index += 1) sum[index]! += features[place + index]!;
    }
    const { cnn_W, d0, d1, d2, d3, p1, p3 } = this.#dense;
    const root = Math.sqrt(length);
    const s = this.#through(cnn_W, sum).map(
      (value, index) => (value + length * this.#sumBias[index]!) / root,
    );
    const y0 = positive(this.#through(d0, s));
    const y1 = positive(added(this.#through(p1, s), this.#through(d1, y0)));
    const y2 = positive(this.#through(d2, y1));
    const z = added(this.#through(p3, y1), this.#through(d3, y2)).map(hyperbolicTangent);
    let squares = 0;
    for (const value of z) squares += value * value;
    const size = Math.sqrt(squares);
    for (let index = 0; index < ENCODER_DIM; index += 1) target[index] = z[index]! / size;
  }

  #through(weights: Placed, values: Float64Array): Float64Array {
    const { inputs, outputs } = weights;
    const { step, perValue } = stepsFor(largestOf(values, 0, inputs), inputs);
    roundInto(values, 0, inputs, perValue, this.#rows, 0);
    this.#multiply(weights, 1, 0);
    const scale = step * weights.step;
    const answer = new Float64Array(outputs);
    for (let index = 0; index < outputs; index += 1) answer[index] = this.#sums[index]! * scale;
    return answer;
  }

  /** Gives as many features as there are gains the mean 0 and the deviation 1, then gains and shifts. */
  #normalize(from: number, gain: Float32Array, shift: Float32Array): void {
    const [features, count] = [this.#features, gain.length];
    let sum = 0;
    for (let index = 0; index < count; index += 1) sum += features[from + index]!;
    const mean = sum / count;
    let squares = 0;
    for (let index = 0; index < count; index += 1) {
      const off = features[from + index]! - mean;
      squares += off * off;
    }
    const scale = 1 / Math.sqrt(squares / count + this.#epsilon);
    for (let index = 0; index < count; index += 1) {
      features[from + index] = (features[from + index]! - mean) * scale * gain[index]! + shift[index]!;
    }
  }
}

function sumsOf({ values, inputs, outputs }: Weights): Int32Array {
  const sums = new Int32Array(outputs);
  for (let output = 0; output < outputs; output += 1) {
    for (let input = 0; input < inputs; input += 1) sums[output]! += values[output * inputs + input]!;
  }
  return sums;
}

type Numbers = Float32Array | Float64Array;

function largestOf(values: Numbers, from: number, count: number): number {
  let largest = 0;
  for (let index = from; index < from + count; index += 1) {
    const size = Math.abs(values[index]!);
    if (size > largest) largest = size;
  }
  return largest;
}

/** The finest steps that sums of `inputs` products leave room for. */
function stepsFor(largest: number, inputs: number): { readonly step: number; readonly perValue: number } {
  const steps = Math.min(32_767, Math.floor(SUM_MAX / (inputs * STEP_MAX)));
  return largest === 0 ? { step: 0, perValue: 0 } : { step: largest / steps, perValue: steps / largest };
}

/** Writes values as whole steps. */
function roundInto(
  values: Numbers,
  from: number,
  count: number,
  perValue: number,
  target: Int16Array,
  to: number,
): void {
  for (let index = 0; index < count; index += 1)
    target[to + index] = Math.round(values[from + index]! * perValue);
}

function joined(parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => [...part]));
}

const positive = (values: Float64Array): Float64Array => values.map((value) => Math.max(value, 0));

const added = (a: Float64Array, b: Float64Array): Float64Array => a.map((value, index) => value + b[index]!);
