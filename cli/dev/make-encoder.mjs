import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, inflateRawSync } from 'node:zlib';
import { PACKED_ENCODER } from './lay-out-encoder.mjs';
import { at, say } from './project.mjs';

// Makes the packed file of the built-in encoder from the published weights (`weights.npz`) and tokenizer model (`sp.model`) in a
// folder: node cli/dev/make-encoder.mjs <folder>. node/semantics/encoder/README.md says where they come from.

const SOURCES = {
  'weights.npz': '0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9',
  'sp.model': '994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9',
};
const TARGET = at(PACKED_ENCODER);
const BLOCKS = 17;

const folder = process.argv[2];
if (folder === undefined) {
  say('usage: node cli/dev/make-encoder.mjs <folder with weights.npz and sp.model>');
  process.exit(2);
}

function source(name) {
  const bytes = readFileSync(join(folder, name));
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (digest !== SOURCES[name]) throw new Error(`${name} has the SHA-256 ${digest}, not ${SOURCES[name]}`);
  return bytes;
}

/** The arrays of an npz file: a zip with one npy file for each. */
function readNpz(bytes) {
  const arrays = {};
  let end = bytes.length - 22;
  while (bytes.readUInt32LE(end) !== 0x06054b50) end -= 1;
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [method, packed] = [bytes.readUInt16LE(at + 10), bytes.readUInt32LE(at + 20)];
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    const local = bytes.readUInt32LE(at + 42);
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const data = bytes.subarray(start, start + packed);
    arrays[name.replace('.npy', '')] = readNpy(method === 0 ? data : inflateRawSync(data));
    at += 46 + nameLength + extra + comment;
  }
  return arrays;
}

function readNpy(bytes) {
  const length = bytes.readUInt16LE(8);
  const header = bytes.toString('latin1', 10, 10 + length);
  const shape = [...header.match(/'shape': \(([^)]*)\)/)[1].matchAll(/\d+/g)].map(Number);
  const body = bytes.subarray(10 + length);
  const copy = body.buffer.slice(body.byteOffset, body.byteOffset + body.length);
  const kind = header.match(/'descr': '([^']+)'/)[1];
  const Kind = { '|u1': Uint8Array, '|i1': Int8Array, '<f4': Float32Array, '<f8': Float64Array }[kind];
  return { shape, data: new Kind(copy) };
}

/** The fields of a protocol buffer message, as [number, value]. */
function* protoFields(bytes) {
  let at = 0;
  const varint = () => {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
      const byte = bytes[at];
      at += 1;
      value += (byte & 127) * shift;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const key = varint();
    const wire = key & 7;
    let value;
    if (wire === 0) value = varint();
    else {
      const length = wire === 5 ? 4 : wire === 1 ? 8 : varint();
      value = bytes.subarray(at, at + length);
      at += length;
    }
    yield [key >>> 3, value];
  }
}

const NORMAL = 1;

function readTokenizer(bytes) {
  const pieces = [];
  let charsmap = null;
  for (const [field, value] of protoFields(bytes)) {
    if (field === 1) {
      const piece = { text: Buffer.alloc(0), score: 0, type: NORMAL };
      for (const [member, said] of protoFields(value)) {
        if (member === 1) piece.text = said;
        if (member === 2) piece.score = said.readFloatLE(0);
        if (member === 3) piece.type = said;
      }
      pieces.push(piece);
    }
    if (field === 3) for (const [member, said] of protoFields(value)) if (member === 2) charsmap = said;
  }
  return { pieces, charsmap };
}

/** A double-array trie: the child of node n for byte b stands at base[n] + b + 1, and ends has the id of the key. */
function doubleArray(keys) {
  const root = { children: new Map(), id: -1 };
  for (const { bytes, id } of keys) {
    let node = root;
    for (const byte of bytes) {
      let next = node.children.get(byte);
      if (next === undefined) {
        next = { children: new Map(), id: -1 };
        node.children.set(byte, next);
      }
      node = next;
    }
    node.id = id;
  }
  const base = [0];
  const check = [-2];
  const ends = [-1];
  let firstFree = 1;
  const grow = (size) => {
    while (base.length < size) {
      base.push(0);
      check.push(-1);
      ends.push(-1);
    }
  };
  const waiting = [{ node: root, place: 0 }];
  for (let next = 0; next < waiting.length; next += 1) {
    const { node, place } = waiting[next];
    ends[place] = node.id;
    if (node.children.size === 0) continue;
    const bytes = [...node.children.keys()].sort((a, b) => a - b);
    while (firstFree < check.length && check[firstFree] !== -1) firstFree += 1;
    let offset = Math.max(0, firstFree - bytes[0] - 1);
    for (; ; offset += 1) {
      grow(offset + 258);
      if (bytes.every((byte) => check[offset + byte + 1] === -1)) break;
    }
    base[place] = offset;
    for (const byte of bytes) {
      check[offset + byte + 1] = place;
      waiting.push({ node: node.children.get(byte), place: offset + byte + 1 });
    }
  }
  return { base: Int32Array.from(base), check: Int32Array.from(check), ends: Int32Array.from(ends) };
}

/** A matrix of weights [inputs, outputs] as whole steps, one row for each output; the published ones are such steps. */
function steps({ shape, data }, name) {
  const [inputs, outputs] = shape;
  const largest = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const step = largest / 127;
  const values = new Int8Array(inputs * outputs);
  for (let output = 0; output < outputs; output += 1) {
    for (let input = 0; input < inputs; input += 1) {
      const exact = data[input * outputs + output] / step;
      const whole = Math.round(exact);
      if (Math.abs(exact - whole) > 1e-3) throw new Error(`${name} is not made of ${step} steps: ${exact}`);
      values[output * inputs + input] = whole;
    }
  }
  return { values, step };
}

const arrays = readNpz(source('weights.npz'));
const { pieces, charsmap } = readTokenizer(source('sp.model'));
// The first six are control tokens and placeholders, which stand for no text.
if (pieces.some(({ type }, id) => type !== NORMAL && id > 5))
  throw new Error('a piece has a type that is not read');

const sections = [];
const add = (name, typed, facts = {}) => {
  const { length } = typed;
  sections.push({ name, type: typed.constructor.name, length, ...facts, typed });
};

const normal = pieces.map((piece, id) => ({ ...piece, id })).filter(({ type }) => type === NORMAL);
const trie = doubleArray(normal.map(({ text, id }) => ({ bytes: text, id })));
const trieBytes = charsmap.readUInt32LE(0);
const copied = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
add('charsTrie', new Uint32Array(copied(charsmap.subarray(4, 4 + trieBytes))));
add('chars', new Uint8Array(copied(charsmap.subarray(4 + trieBytes))));
add('pieceBase', trie.base);
add('pieceCheck', trie.check);
add('pieceEnds', trie.ends);
add('scores', Float32Array.from(pieces.map(({ score }) => score)));

const width = arrays.q1.shape[1];
const table = new Uint8Array(pieces.length * width);
for (let id = 0; id < pieces.length; id += 1) {
  const { data } = arrays[`q${(id % BLOCKS) + 1}`];
  const row = Math.floor(id / BLOCKS) * width;
  table.set(data.subarray(row, row + width), id * width);
}
add('tableLow', arrays.lo.data);
add('tableStep', arrays.scale.data);
for (const [name, array] of Object.entries(arrays)) {
  if (/^q\d+$|^(?:lo|scale|bits|eps)$/.test(name)) continue;
  if (array.shape.length === 1) add(name, array.data);
  else {
    const { values, step } = steps(array, name);
    add(name, values, { step, inputs: array.shape[0], outputs: array.shape[1] });
  }
}
add('table', table);

// Each section begins at a multiple of 8, so that it can be read in place.
let size = 0;
const placed = sections.map(({ typed, ...facts }) => {
  const at = size;
  size += Math.ceil(typed.byteLength / 8) * 8;
  return { ...facts, at };
});
const body = Buffer.alloc(size);
for (const [index, { typed }] of sections.entries()) {
  body.set(new Uint8Array(typed.buffer, typed.byteOffset, typed.byteLength), placed[index].at);
}
const head = Buffer.from(JSON.stringify({ bytes: size, epsilon: arrays.eps.data[0], sections: placed }));
const length = Buffer.alloc(4);
length.writeUInt32LE(head.length);
const packed = brotliCompressSync(body, {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: 24,
    [constants.BROTLI_PARAM_SIZE_HINT]: size,
  },
});
const made = Buffer.concat([Buffer.from('MNENC01\n'), length, head, packed]);
writeFileSync(TARGET, made);
say(`${TARGET}: ${made.length} bytes, SHA-256 ${createHash('sha256').update(made).digest('hex')}`);
