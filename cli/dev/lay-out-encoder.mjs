import { readFileSync, writeFileSync } from 'node:fs';
import { brotliDecompressSync } from 'node:zlib';

/** What the repository has, made by make-encoder.mjs, and what the program reads. */
export const PACKED_ENCODER = 'node/semantics/encoder/sentence-encoder.packed';
export const ENCODER = 'node/semantics/encoder/sentence-encoder.bin';

const PACKED_MAGIC = 'MNENC01\n';
const MAGIC = 'MNENC02\n';
const ARRAYS = { Int8Array, Uint8Array, Int32Array, Uint32Array, Float32Array };
/** The rows of the table, of 512 bytes, begin at a multiple of this, so that each is in one page of a disk. */
const PAGE_BYTES = 4096;
/** Sections begin at a multiple of this. */
const LINE_BYTES = 64;
/** What an unknown character costs beyond the least likely piece. */
const UNKNOWN_PENALTY = 10;

/**
 * Writes the encoder's file as the program uses it. A head says where everything is. The sections follow, each in the form in
 * which it is computed with; the program reads them at once. Last comes the table, whose rows the program reads as texts need them.
 */
export function layOutEncoder(packed, target) {
  const { facts, sections } = unpacked(readFileSync(packed));
  const table = sections.find(({ name }) => name === 'table');
  const others = [...sections.filter((section) => section !== table), ...derived(sections)];
  const scores = typedOf(sections, 'scores');
  const rows = scores.length;
  let bytes = 0;
  const placed = others.map(({ typed, ...rest }) => {
    const at = bytes;
    bytes = upTo(LINE_BYTES, at + typed.byteLength);
    return { ...rest, at };
  });
  const head = (start) => ({
    ...{ epsilon: facts.epsilon, unknownScore: unknownScore(others) },
    ...{ start, bytes, sections: placed },
    table: { at: upTo(PAGE_BYTES, start + bytes), rows, width: table.typed.length / rows },
  });
  // The head says where it ends itself.
  const room = JSON.stringify(head(Number.MAX_SAFE_INTEGER)).length;
  const start = upTo(LINE_BYTES, MAGIC.length + 4 + room);
  const text = JSON.stringify(head(start)).padEnd(start - MAGIC.length - 4);
  const file = Buffer.alloc(head(start).table.at + table.typed.byteLength);
  file.write(MAGIC, 'latin1');
  file.writeUInt32LE(text.length, MAGIC.length);
  file.write(text, MAGIC.length + 4, 'latin1');
  for (const [index, { typed }] of others.entries()) file.set(bytesOf(typed), start + placed[index].at);
  file.set(table.typed, head(start).table.at);
  writeFileSync(target, file);
}

const upTo = (unit, bytes) => Math.ceil(bytes / unit) * unit;

const bytesOf = ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength);

/** The sections of the packed file: a head in JSON, and the sections together under brotli. */
function unpacked(file) {
  const magic = file.toString('latin1', 0, PACKED_MAGIC.length);
  if (magic !== PACKED_MAGIC) throw new Error(`${PACKED_ENCODER} is not the packed file of an encoder`);
  const end = PACKED_MAGIC.length + 4 + file.readUInt32LE(PACKED_MAGIC.length);
  const { bytes, sections, ...facts } = JSON.parse(file.toString('utf8', PACKED_MAGIC.length + 4, end));
  // One piece, as joining several would need the memory twice.
  const body = brotliDecompressSync(file.subarray(end), { chunkSize: bytes, maxOutputLength: bytes });
  const typed = ({ type, at, length }) => new ARRAYS[type](body.buffer, body.byteOffset + at, length);
  return { facts, sections: sections.map((section) => ({ ...section, typed: typed(section) })) };
}

const typedOf = (sections, wanted) => sections.find(({ name }) => name === wanted).typed;

const ORDERS = [2, 3, 5];

/** Sections that follow from others: what the program would compute at each start. */
function derived(sections) {
  const section = (name, typed) => ({ name, type: typed.constructor.name, length: typed.length, typed });
  // The projections of all orders are normalized together.
  const together = ['ln_g', 'ln_b'].map((name) =>
    section(
      `proj_${name}`,
      Float32Array.from(ORDERS.flatMap((order) => [...typedOf(sections, `${name}${order}`)])),
    ),
  );
  const ones = ORDERS.map((order) => section(`proj_ones${order}`, sumsOf(sections, `proj${order}`)));
  return [...together, ...ones];
}

/** The sum of the weights of each output. */
function sumsOf(sections, wanted) {
  const { typed, inputs, outputs } = sections.find(({ name }) => name === wanted);
  return Int32Array.from({ length: outputs }, (_, output) =>
    typed.subarray(output * inputs, (output + 1) * inputs).reduce((sum, weight) => sum + weight, 0),
  );
}

/** The score of an unknown character. */
function unknownScore(sections) {
  const scores = typedOf(sections, 'scores');
  let least = Number.POSITIVE_INFINITY;
  for (const id of typedOf(sections, 'pieceEnds')) if (id >= 0) least = Math.min(least, scores[id]);
  return Math.fround(least - UNKNOWN_PENALTY);
}
