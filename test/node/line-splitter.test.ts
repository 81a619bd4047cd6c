import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LineSplitter } from '../../node/line-splitter.js';

function lines(bytesMax: number, ...chunks: string[]): string[] {
  const splitter = new LineSplitter(bytesMax);
  const found = chunks.flatMap((chunk) => [...splitter.push(Buffer.from(chunk))]);
  const last = splitter.end();
  return [...found, ...(last === null ? [] : [last])].map((line) =>
    line === 'too-long' ? line : Buffer.from(line.bytes).toString(),
  );
}

describe('LineSplitter', () => {
  it('gives the same lines however the stream is cut', () => {
    const stream = 'one\n\ntwo\nthree';
    const whole = lines(10, stream);
    assert.deepEqual(whole, ['one', '', 'two', 'three']);
    for (let cut = 0; cut <= stream.length; cut += 1) {
      assert.deepEqual(lines(10, stream.slice(0, cut), stream.slice(cut)), whole);
    }
    assert.deepEqual(lines(10, ...stream), whole);
  });

  it('takes a line of the greatest length and tells a longer one once', () => {
    assert.deepEqual(lines(3, 'abc\nabcd\nef\n'), ['abc', 'too-long', 'ef']);
    assert.deepEqual(lines(3, 'ab', 'cd', 'ef', 'gh\nij'), ['too-long', 'ij']);
  });

  it('says nothing about what follows a line that is too long to its end', () => {
    assert.deepEqual(lines(3, 'abcdef'), ['too-long']);
  });
});
