import { ENCODER_DIM } from './encoder-dim.js';
import { EncoderFile, type Weights } from './encoder-file.js';
import { type Kernel, kernelMemory, kernelOn } from './kernel.js';
import { Tokenizer } from './tokenizer.js';

/** The part of a text that is read, in tokens. */
export const ENCODER_TOKENS_MAX = 1024;

const CHANNELS = 256;
const ORDERS = [2, 3, 5] as const;
const WIDTH = CHANNELS * ORDERS.length;
const FEATURES = ENCODER_DIM + WIDTH;
const SUM_MAX = 2 ** 31 - 1;
const STEP_MAX = 127;
/** A window reaches this many rows beyond the text. */
const PADDING_ROWS = 4;

/** Rows of int16 that the kernel multiplies, and the int32 sums that it answers; rows come in pairs. */
const ROWS_AT = 0;
const SUMS_AT = ROWS_AT + (ENCODER_TOKENS_MAX + PADDING_ROWS + 2) * ENCODER_DIM * 2;
/** For each token, as float32: its own row of the table, then the channels of each order. */
const FEATURES_AT = SUMS_AT + (ENCODER_TOKENS_MAX + 2) * ENCODER_DIM * 4;
const FEATURE_BYTES = FEATURES * 4;
/** The features of all tokens together, and what the layers of the last network answer, as float64. */
const TOTALS_AT = FEATURES_AT + ENCODER_TOKENS_MAX * FEATURE_BYTES;
const TEXT_AT = TOTALS_AT + FEATURES * 8;
const LAYERS_AT = [0, 1, 2, 3].map((layer) => TEXT_AT + (layer + 1) * ENCODER_DIM * 8) as [
  number,
  number,
  number,
  number,
];
/** The row of the table that was read last. */
const TABLE_ROW_AT = TEXT_AT + 5 * ENCODER_DIM * 8;
/** The encoder's file, at a multiple of 64. */
const FILE_AT = TABLE_ROW_AT + ENCODER_DIM;

interface Order {
  readonly order: number;
  /** The place of its channels among the features of a token. */
  readonly channelsAt: number;
  readonly proj: Weights;
  /** The sum of each output's weights, for the part of a row's values that is the same for all. */
  readonly projOnes: number;
  readonly projBias: number;
  readonly layers: readonly { readonly weights: Weights; readonly bias: number }[];
}

/**
 * A sentence encoder for sixteen languages: token rows, convolutions over windows of 2, 3 and 5 tokens, the sum of the
 * tokens, a small network (README.md beside this file). Weights are whole steps, so that their products with rounded values
 * are exact sums of integers; what is not a product is computed in double precision with operations that every engine rounds
 * alike. So a text has the same vector, bit by bit, everywhere.
 */
export class SentenceEncoder {
  readonly #file: EncoderFile;
  readonly #tokenizer: Tokenizer;
  readonly #kernel: Kernel;
  readonly #tableLow: Float32Array;
  readonly #tableStep: Float32Array;
  readonly #orders: readonly Order[];
  readonly #sumBias: Float32Array;
  readonly #dense: Readonly<Record<'cnn_W' | 'd0' | 'd1' | 'd2' | 'd3' | 'p1' | 'p3', Weights>>;
  readonly #rows: Int16Array;
  readonly #totals: Float64Array;
  readonly #text: Float64Array;
  readonly #answer: Float64Array;
  readonly #tableRow: Uint8Array;

  constructor(path = new URL('./sentence-encoder.bin', import.meta.url)) {
    const file = new EncoderFile(path);
    const memory = kernelMemory(FILE_AT + file.bytes);
    const { buffer } = memory;
    file.load(buffer, FILE_AT);
    this.#file = file;
    this.#kernel = kernelOn(memory);
    this.#rows = new Int16Array(buffer, ROWS_AT, (SUMS_AT - ROWS_AT) / 2);
    this.#totals = new Float64Array(buffer, TOTALS_AT, FEATURES);
    this.#text = new Float64Array(buffer, TEXT_AT, ENCODER_DIM);
    this.#answer = new Float64Array(buffer, LAYERS_AT[3], ENCODER_DIM);
    this.#tableRow = new Uint8Array(buffer, TABLE_ROW_AT, ENCODER_DIM);
    this.#tokenizer = new Tokenizer(file);
    this.#tableLow = file.floats('tableLow');
    this.#tableStep = file.floats('tableStep');
    this.#sumBias = file.floats('cnn_b');
    this.#orders = ORDERS.map((order, index) => ({
      order,
      channelsAt: FEATURES_AT + (ENCODER_DIM + index * CHANNELS) * 4,
      proj: file.weights(`proj${order}`),
      projOnes: file.at(`proj_ones${order}`),
      projBias: file.at(`proj_b${order}`),
      layers: ([1, 2] as const).map((layer) => ({
        weights: file.weights(`w${layer}_${order}`),
        bias: file.at(`b${layer}_${order}`),
      })),
    }));
    const dense = (name: string) => file.weights(name);
    this.#dense = {
      ...{ cnn_W: dense('cnn_W'), p1: dense('p1'), p3: dense('p3') },
      ...{ d0: dense('d0'), d1: dense('d1'), d2: dense('d2'), d3: dense('d3') },
    };
  }

  /** The tokens of a text, as many as are read. */
  ids(text: string): readonly number[] {
    return this.#tokenizer.ids(text).slice(0, ENCODER_TOKENS_MAX);
  }

  /** Writes the unit vector of a text: 512 numbers. */
  write(text: string, target: Float32Array): void {
    const ids = this.ids(text);
    this.#embed(ids);
    for (const order of this.#orders) this.#project(order, ids);
    this.#normalize(ids.length, ENCODER_DIM, WIDTH, 'proj_');
    for (const order of this.#orders) this.#convolve(order, ids.length);
    this.#normalize(ids.length, 0, FEATURES, '');
    this.#finish(ids.length, target);
  }

  close(): void {
    this.#file.close();
  }

  /** The rows of the tokens, as numbers for the kernel's products and as features. */
  #embed(ids: readonly number[]): void {
    for (const [token, id] of ids.entries()) {
      this.#file.readRow(id, this.#tableRow);
      const row = ROWS_AT + token * ENCODER_DIM * 2;
      const features = FEATURES_AT + token * FEATURE_BYTES;
      this.#kernel.embed(TABLE_ROW_AT, ENCODER_DIM, this.#stepOf(id), this.#lowOf(id), row, features);
    }
  }

  #stepOf = (id: number): number => this.#tableStep[id % this.#tableStep.length]!;
  #lowOf = (id: number): number => this.#tableLow[id % this.#tableLow.length]!;

  /** The projection of one order, from the rows that `#embed` wrote. */
  #project({ channelsAt, proj, projOnes, projBias }: Order, ids: readonly number[]): void {
    this.#multiply(proj, ids.length, ENCODER_DIM * 2);
    for (const [token, id] of ids.entries()) {
      const step = this.#stepOf(id) * proj.step;
      const low = this.#lowOf(id) * proj.step;
      const sums = SUMS_AT + token * CHANNELS * 4;
      const features = channelsAt + token * FEATURE_BYTES;
      this.#kernel.project(sums, projOnes, projBias, CHANNELS, step, low, features);
    }
  }

  #normalize(length: number, first: number, count: number, norm: 'proj_' | ''): void {
    const { epsilon } = this.#file;
    const gain = this.#file.at(`${norm}ln_g`);
    const shift = this.#file.at(`${norm}ln_b`);
    for (let token = 0; token < length; token += 1) {
      const features = FEATURES_AT + token * FEATURE_BYTES + first * 4;
      this.#kernel.normalize(features, count, gain, shift, epsilon);
    }
  }

  /** Two convolutions over the channels of one order; each adds to what it reads. */
  #convolve({ order, channelsAt, layers }: Order, length: number): void {
    for (const { weights, bias } of layers) {
      const step = this.#windows(channelsAt, length, order, weights.inputs) * weights.step;
      this.#multiply(weights, length, CHANNELS * 2);
      for (let token = 0; token < length; token += 1) {
        const sums = SUMS_AT + token * CHANNELS * 4;
        this.#kernel.add(sums, bias, CHANNELS, step, channelsAt + token * FEATURE_BYTES);
      }
    }
  }

  /**
   * Rounds the channels of one order for the kernel, with empty rows beside the text; a window is then as many rows as its
   * order. Answers what one step is worth.
   */
  #windows(channelsAt: number, length: number, order: number, inputs: number): number {
    let largest = 0;
    for (let token = 0; token < length; token += 1) {
      largest = this.#kernel.largest(channelsAt + token * FEATURE_BYTES, CHANNELS, largest);
    }
    const steps = stepsFor(inputs);
    const perValue = largest === 0 ? 0 : steps / largest;
    const left = (order - 1) >> 1;
    this.#rows.fill(0, 0, left * CHANNELS);
    for (let token = 0; token < length; token += 1) {
      const row = ROWS_AT + (left + token) * CHANNELS * 2;
      this.#kernel.round(channelsAt + token * FEATURE_BYTES, CHANNELS, perValue, row);
    }
    const end = (left + length) * CHANNELS;
    // One more than the window needs, as rows are multiplied in pairs.
    this.#rows.fill(0, end, end + (order - left) * CHANNELS);
    return largest / steps;
  }

  #multiply({ at, inputs, outputs }: Weights, rows: number, stride: number): void {
    this.#kernel.multiply(ROWS_AT, stride, rows, at, inputs, outputs, SUMS_AT);
  }

  #finish(length: number, target: Float32Array): void {
    this.#totals.fill(0);
    for (let token = 0; token < length; token += 1) {
      this.#kernel.sum(FEATURES_AT + token * FEATURE_BYTES, FEATURES, TOTALS_AT);
    }
    const { cnn_W, d0, d1, d2, d3, p1, p3 } = this.#dense;
    const [y0, y1, y2, z] = LAYERS_AT;
    this.#through(cnn_W, TOTALS_AT, TEXT_AT);
    const [text, root] = [this.#text, Math.sqrt(length)];
    for (let index = 0; index < ENCODER_DIM; index += 1) {
      text[index] = (text[index]! + length * this.#sumBias[index]!) / root;
    }
    this.#through(d0, TEXT_AT, y0);
    this.#kernel.positive(y0, d0.outputs);
    this.#through(p1, TEXT_AT, y1);
    this.#through(d1, y0, y1, 1);
    this.#kernel.positive(y1, d1.outputs);
    this.#through(d2, y1, y2);
    this.#kernel.positive(y2, d2.outputs);
    this.#through(p3, y1, z);
    this.#through(d3, y2, z, 1);
    this.#kernel.tanh(z, ENCODER_DIM);
    let squares = 0;
    for (const value of this.#answer) squares += value * value;
    const size = Math.sqrt(squares);
    for (let index = 0; index < ENCODER_DIM; index += 1) target[index] = this.#answer[index]! / size;
  }

  /** One layer of the last network; `adds` to what is at its target. */
  #through({ at, step, inputs, outputs }: Weights, values: number, to: number, adds: 0 | 1 = 0): void {
    const steps = stepsFor(inputs);
    this.#kernel.through(values, steps, at, inputs, outputs, step, ROWS_AT, SUMS_AT, adds, to);
  }
}

/** The finest steps that sums of `inputs` products leave room for. */
const stepsFor = (inputs: number): number => Math.min(32_767, Math.floor(SUM_MAX / (inputs * STEP_MAX)));
