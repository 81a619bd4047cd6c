import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { LIKENESS_MIN, Likeness, saysTheSame, searchedGroups } from '../../../protocol/memory/likeness.js';

const text = (content: string, title = 'Deploy window') => ({ title, content });
const likeness = (a: string, b: string) => new Likeness(text(a)).to(text(b));

describe('the likeness of two texts', () => {
  it('is the share of their words, whatever case and punctuation', () => {
    assert.equal(likeness('On Sundays, at two.', 'on sundays at TWO'), 1);
    assert.equal(likeness('one two', 'three four'), 0.5, 'only the two words of the title');
    assert.equal(new Likeness(text('a', 'b')).to(text('c', 'd')), 0);
  });

  it('counts a word as often as it occurs', () => {
    assert.ok(likeness('go go go go', 'go') < LIKENESS_MIN);
  });

  it('compares pairs of characters where a script has no spaces', () => {
    const monday = '会議は月曜日の午前十時に始まります';
    assert.ok(likeness(monday, monday.replace('月', '火')) >= LIKENESS_MIN);
    assert.ok(likeness(monday, '港のクレーンは春に油をさす') < LIKENESS_MIN);
  });
});

describe('the words that are searched for', () => {
  it('leave out stop-words and numbers, and stand in three groups', () => {
    const groups = searchedGroups({
      title: 'Host db-17',
      content: 'It runs Postgres 15 in rack 4 of hall B',
    });
    assert.equal(groups.length, 3);
    assert.deepEqual(groups.flat().sort(), ['b', 'db', 'hall', 'host', 'postgres', 'rack', 'runs']);
  });

  it('are all words of a text that has few others', () => {
    assert.deepEqual(searchedGroups({ title: '17', content: '18' }).flat().sort(), ['17', '18']);
    assert.deepEqual(searchedGroups({ title: '!', content: '?' }), []);
  });
});

describe('saying the same', () => {
  const same = (a: string, b: string) => saysTheSame(text(a), text(b));
  const sentence = 'Ann Lee does not restart db-17 before 04:00.';

  it('is being equal but for white space, fillers, the beginning and the end of a sentence', () => {
    assert.ok(same(sentence, `${sentence.replace(/ /g, '\n ')}`));
    assert.ok(same(sentence, sentence.replace('.', '')));
    assert.ok(same('The window is on Sunday', 'the window is on Sunday!'));
    assert.ok(same('The window is on the Sunday', 'window is on Sunday'));
  });

  it('is not when anything else differs', () => {
    for (const other of [
      sentence.replace('not ', ''),
      sentence.replace('04', '05'),
      sentence.replace('db-17', 'db_17'),
      sentence.replace('db-17', 'DB-17'),
      sentence.replace('Lee', 'Li'),
      sentence.replace('before', 'after'),
      sentence.replace('.', '?'),
      `${sentence} Never.`,
    ]) {
      assert.ok(!same(sentence, other), other);
    }
    assert.ok(!same('A depends on B', 'B depends on A'));
    assert.ok(!saysTheSame(text('x', 'Plan 1'), text('x', 'Plan 2')));
  });
});
