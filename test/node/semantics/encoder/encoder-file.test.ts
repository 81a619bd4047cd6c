import assert from 'node:assert/strict';
import { closeSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { ENCODER_DIM } from '../../../../node/semantics/encoder/encoder-dim.js';
import { SentenceEncoder } from '../../../../node/semantics/encoder/sentence-encoder.js';
import { temporaryFolder } from '../../../support/daemon-process.js';

const FILE = new URL('../../../../node/semantics/encoder/sentence-encoder.bin', import.meta.url);

/** The first bytes of the encoder's file, in a file of their own. */
function beginning(bytes: number): URL {
  const file = openSync(FILE, 'r');
  const part = Buffer.alloc(bytes);
  readSync(file, part, 0, bytes, 0);
  closeSync(file);
  const path = join(temporaryFolder('encoder'), 'cut.bin');
  writeFileSync(path, part);
  return pathToFileURL(path);
}

const REFUSED = /cut\.bin is not the file of an encoder; install the package again/;

describe('the file of the encoder', () => {
  it('is refused when it is another one, or ends in its head or in its sections', () => {
    for (const bytes of [0, 5, 12, 1000, 5_000_000])
      assert.throws(() => new SentenceEncoder(beginning(bytes)), REFUSED, String(bytes));
    const path = join(temporaryFolder('encoder'), 'cut.bin');
    writeFileSync(path, 'some other file, which is long enough');
    assert.throws(() => new SentenceEncoder(pathToFileURL(path)), REFUSED);
  });

  it('answers no vector for a text whose rows it lacks', () => {
    const encoder = new SentenceEncoder(beginning(9_000_000));
    assert.throws(() => encoder.write('when do we deploy?', new Float32Array(ENCODER_DIM)), REFUSED);
  });
});
