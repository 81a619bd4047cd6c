import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Passages } from '../../../node/operations/core/passage.js';

const FILLER = 'Nothing of interest is said in this sentence about other matters. ';

describe('the passage of a text', () => {
  it('is the whole text when it is short, with its lines and their indentation', () => {
    assert.equal(
      new Passages('deploy').of('if (ready) {\r\n    deploy(  now );  \n\n}\t\n'),
      'if (ready) {\n    deploy( now );\n}',
    );
  });

  it('says how many characters it leaves out, and begins with a whole line', () => {
    const content = `${'let padding = 0;\n'.repeat(60)}if (zeppelin) {\n  land();\n}\n${'let more = 1;\n'.repeat(60)}`;
    const passage = new Passages('zeppelin').of(content);
    const [, kept, left] = /^…(if \(zeppelin\) \{\n {2}land\(\);\n\}\n[^…]*)…\[\+(\d+)\]$/.exec(passage)!;
    assert.equal(kept!.length + Number(left), content.trim().length);
  });

  it('takes no time that grows with the square of a run of spaces', () => {
    const started = performance.now();
    new Passages('x').of(`a\n${' '.repeat(65_000)}b${'\n \n'.repeat(10_000)}`);
    assert.ok(performance.now() - started < 500);
  });

  it('is found in time though the text is full of the words', () => {
    const words = Array.from({ length: 64 }, (_, n) => `w${n}x`).join(' ');
    const passages = new Passages(words);
    const text = `${words} `.repeat(200);
    const started = performance.now();
    for (let n = 0; n < 20; n += 1) assert.match(passages.of(text), /^w0x w1x /);
    assert.ok(performance.now() - started < 2000);
  });

  it('knows how closely the words stand together', () => {
    const passages = new Passages('ferry noon');
    assert.equal(passages.closeness('The ferry at noon', 'x'), 1);
    assert.equal(passages.closeness('x', `The ferry. ${FILLER.repeat(20)} At noon.`), 0.5);
    assert.equal(passages.closeness('x', 'y'), 0);
    assert.equal(new Passages('the').closeness('the', 'the'), 0);
  });

  it('is around the words of the query, in any form, from the beginning of their sentence', () => {
    const content = `${FILLER.repeat(20)}Deployments leave the harbour on Sundays at two. ${FILLER.repeat(20)}`;
    const passage = new Passages('when does a deployment leave the harbour?').of(content);
    assert.match(passage, /^…Deployments leave the harbour on Sundays at two\. /);
    assert.ok(/…\[\+\d+\]$/.test(passage) && passage.length <= 310, passage);
  });

  it('is where most different words of the query stand together', () => {
    const apart = `ferry ferry ferry. ${FILLER.repeat(10)} The ferry sails at noon from the pier. ${FILLER.repeat(10)}`;
    assert.match(new Passages('ferry noon pier').of(apart), /The ferry sails at noon from the pier/);
  });

  it('is the beginning when no word of the query stands in the text', () => {
    const passage = new Passages('zebra').of(`First words. ${FILLER.repeat(20)}`);
    assert.ok(passage.startsWith('First words.') && /…\[\+\d+\]$/.test(passage));
  });

  it('finds words in a script without spaces, and keeps characters whole', () => {
    const content = `${'これは関係のない文章です。'.repeat(30)}会議は月曜日の午前十時に始まります。${'別の話です。'.repeat(30)}`;
    const passage = new Passages('会議は何曜日ですか').of(content);
    assert.match(passage, /会議は月曜日/);
    assert.ok(passage.isWellFormed() && passage.length <= 180, passage);
    assert.ok(new Passages('x').of('😀'.repeat(400)).isWellFormed());
  });
});
