import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Passages } from '../../../node/operations/core/passage.js';

const FILLER = 'Nothing of interest is said in this sentence about other matters. ';

describe('the passage of a text', () => {
  it('is the whole text when it is short, on one line', () => {
    assert.equal(new Passages('deploy').of('We deploy\n  on Sundays. '), 'We deploy on Sundays.');
  });

  it('is around the words of the query, in any form, from the beginning of their sentence', () => {
    const content = `${FILLER.repeat(20)}Deployments leave the harbour on Sundays at two. ${FILLER.repeat(20)}`;
    const passage = new Passages('when does a deployment leave the harbour?').of(content);
    assert.match(passage, /^…Deployments leave the harbour on Sundays at two\. /);
    assert.ok(passage.endsWith('…') && passage.length <= 300, passage);
  });

  it('is where most different words of the query stand together', () => {
    const apart = `ferry ferry ferry. ${FILLER.repeat(10)} The ferry sails at noon from the pier. ${FILLER.repeat(10)}`;
    assert.match(new Passages('ferry noon pier').of(apart), /The ferry sails at noon from the pier/);
  });

  it('is the beginning when no word of the query stands in the text', () => {
    const passage = new Passages('zebra').of(`First words. ${FILLER.repeat(20)}`);
    assert.ok(passage.startsWith('First words.') && passage.endsWith('…'));
  });

  it('finds words in a script without spaces, and keeps characters whole', () => {
    const content = `${'これは関係のない文章です。'.repeat(30)}会議は月曜日の午前十時に始まります。${'別の話です。'.repeat(30)}`;
    const passage = new Passages('会議は何曜日ですか').of(content);
    assert.match(passage, /会議は月曜日/);
    assert.ok(passage.isWellFormed() && passage.length <= 180, passage);
    assert.ok(new Passages('x').of('😀'.repeat(400)).isWellFormed());
  });
});
