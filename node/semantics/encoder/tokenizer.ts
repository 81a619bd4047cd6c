import type { EncoderFile } from './encoder-file.js';

/** Ids that stand for no text. */
const UNKNOWN = 0;
const BEGIN = 1;
const END = 2;

const SPACE = 0x20;
/** U+2581, which pieces have instead of a space. */
const MARK = [0xe2, 0x96, 0x81] as const;
/** U+FFFD, which stands for bytes that are no text. */
const REPLACEMENT = [0xef, 0xbf, 0xbd] as const;

/** The bytes of the UTF-8 sequence that begins with a byte. */
const lengthOf = (byte: number): number => (byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4);

/**
 * Splits a text into the pieces of a SentencePiece unigram model: normalized by the model's map of characters, spaces
 * joined and marked, and the most likely segmentation. Scores are added as float32, as the model's own program does, so that the
 * ids are equal.
 */
export class Tokenizer {
  readonly #charsTrie: Uint32Array;
  readonly #chars: Uint8Array;
  readonly #base: Int32Array;
  readonly #check: Int32Array;
  readonly #ends: Int32Array;
  readonly #scores: Float32Array;
  readonly #unknownScore: number;

  constructor(file: EncoderFile) {
    this.#charsTrie = file.units('charsTrie');
    this.#chars = file.bytesOf('chars');
    this.#base = file.integers('pieceBase');
    this.#check = file.integers('pieceCheck');
    this.#ends = file.integers('pieceEnds');
    this.#scores = file.floats('scores');
    this.#unknownScore = file.unknownScore;
  }

  /** The ids of a text, those of its begin and end included. */
  ids(text: string): number[] {
    const bytes = this.#normalized(Buffer.from(text, 'utf8'));
    const pieces = bytes.length === 0 ? [UNKNOWN] : this.#segmented(bytes);
    return [BEGIN, ...pieces, END];
  }

  #normalized(input: Uint8Array): Uint8Array {
    // A character becomes at most this many bytes in the model's map, the mark of a space included.
    let output = new Uint8Array(input.length * 3 + 64);
    let size = 0;
    const put = (byte: number): void => {
      if (size === output.length) {
        const larger = new Uint8Array(size * 2);
        larger.set(output);
        output = larger;
      }
      output[size] = byte;
      size += 1;
    };
    const putMark = (): void => {
      for (const byte of MARK) put(byte);
    };
    let isAfterSpace = true;
    let hasBegun = false;
    const take = (byte: number): void => {
      if (byte === SPACE) {
        isAfterSpace = true;
        return;
      }
      // A run of spaces is one mark, and the text begins with one.
      if (isAfterSpace || !hasBegun) putMark();
      isAfterSpace = false;
      hasBegun = true;
      put(byte);
    };
    let at = 0;
    while (at < input.length) {
      const found = this.#mapped(input, at);
      if (found !== null) {
        for (let from = found.from; this.#chars[from] !== 0; from += 1) take(this.#chars[from]!);
        at += found.length;
        continue;
      }
      const length = lengthOf(input[at]!);
      if (at + length > input.length) {
        for (const byte of REPLACEMENT) take(byte);
        break;
      }
      for (let index = 0; index < length; index += 1) take(input[at + index]!);
      at += length;
    }
    return output.subarray(0, size);
  }

  /** The longest text at a place that the model maps to another one; null where there is none. */
  #mapped(input: Uint8Array, start: number): { readonly from: number; readonly length: number } | null {
    const trie = this.#charsTrie;
    let node = offsetOf(trie[0]!);
    let found: { readonly from: number; readonly length: number } | null = null;
    for (let at = start; at < input.length; at += 1) {
      node ^= input[at]!;
      const unit = trie[node];
      if (unit === undefined || (unit & 0x800000ff) >>> 0 !== input[at]!) break;
      node ^= offsetOf(unit);
      if (((unit >>> 8) & 1) === 1) found = { from: trie[node]! & 0x7fffffff, length: at + 1 - start };
    }
    return found;
  }

  /** The most likely pieces; unknown characters that follow each other are one. */
  #segmented(bytes: Uint8Array): number[] {
    const size = bytes.length;
    const [base, check, ends, scores] = [this.#base, this.#check, this.#ends, this.#scores];
    const best = new Float32Array(size + 1);
    const from = new Int32Array(size + 1).fill(-1);
    const piece = new Int32Array(size + 1);
    const offer = (end: number, start: number, id: number, score: number): void => {
      const candidate = Math.fround(score + best[start]!);
      if (from[end] !== -1 && candidate <= best[end]!) return;
      best[end] = candidate;
      from[end] = start;
      piece[end] = id;
    };
    for (let start = 0; start < size; ) {
      const single = Math.min(lengthOf(bytes[start]!), size - start);
      let hasSingle = false;
      let node = 0;
      for (let at = start; at < size; at += 1) {
        const child = base[node]! + bytes[at]! + 1;
        if (check[child] !== node) break;
        node = child;
        const id = ends[node]!;
        if (id < 0) continue;
        offer(at + 1, start, id, scores[id]!);
        hasSingle ||= at + 1 - start === single;
      }
      if (!hasSingle) offer(start + single, start, UNKNOWN, this.#unknownScore);
      start += single;
    }
    const ids: number[] = [];
    for (let end = size; end > 0; end = from[end]!) {
      if (piece[end] === UNKNOWN && ids.at(-1) === UNKNOWN) continue;
      ids.push(piece[end]!);
    }
    return ids.reverse();
  }
}

/** The place of the children of a unit of a Darts double array. */
const offsetOf = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >>> 6);
