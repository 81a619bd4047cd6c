import type { Dice } from './dice.js';

const SNIPPETS = [
  '\r\n',
  '\r\n\r\n',
  '\n',
  '\0',
  ' ',
  '%',
  '%00',
  '%ff',
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '\ufeff',
  'Transfer-Encoding: chunked\r\n',
  'Content-Length: 0\r\n',
  'Content-Length: 99999999999999999999\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: websocket\r\nConnection: Upgrade\r\n',
  'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n',
  '"__proto__":{"x":1},',
  '"id":null,',
  '9'.repeat(400),
];

/** Changes a message byte by byte: flips, cuts, copies, moves and strange pieces, a few at a time. */
export function mutate(message: Buffer, dice: Dice): Buffer {
  let bytes = message;
  for (let round = 1 + dice.below(4); round > 0; round -= 1) bytes = once(bytes, dice);
  return bytes;
}

function once(bytes: Buffer, dice: Dice): Buffer {
  const at = dice.below(bytes.length + 1);
  const length = Math.min(1 + dice.below(dice.chance(0.8) ? 8 : 400), bytes.length - at);
  const before = bytes.subarray(0, at);
  const piece = bytes.subarray(at, at + length);
  const after = bytes.subarray(at + length);
  switch (dice.below(7)) {
    case 0: {
      const flipped = Buffer.from(bytes);
      if (at < flipped.length) flipped[at] = flipped[at]! ^ (1 << dice.below(8));
      return flipped;
    }
    case 1:
      return Buffer.concat([before, after]);
    case 2:
      return Buffer.concat([before, piece, piece, after]);
    case 3:
      return Buffer.concat([before, Buffer.from(dice.pick(SNIPPETS)), piece, after]);
    case 4:
      return Buffer.concat([before, Buffer.from(Array.from(piece, () => dice.below(256))), after]);
    case 5:
      return before;
    default: {
      const to = dice.below(bytes.length + 1);
      return Buffer.concat([bytes.subarray(0, to), piece, bytes.subarray(to)]);
    }
  }
}
