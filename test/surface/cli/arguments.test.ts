import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ArgumentSpec, parseArguments } from '../../../cli/arguments.js';

const spec: ArgumentSpec = {
  flags: [
    { name: 'title', short: 'T', kind: 'value' },
    { name: 'namespace', short: 'n', kind: 'value' },
    { name: 'tags', kind: 'list' },
    { name: 'dry-run', kind: 'switch' },
  ],
  aliases: { label: 'tags' },
  positionals: ['id', 'other'],
};

function parsed(...words: string[]) {
  const result = parseArguments(spec, words);
  assert.ok(result.ok, result.ok ? '' : result.error.message);
  return { ...Object.fromEntries(result.value.flags), _: result.value.positionals };
}

function refused(...words: string[]) {
  const result = parseArguments(spec, words);
  assert.ok(!result.ok, words.join(' '));
  return result.error;
}

describe('parseArguments', () => {
  it('reads values after a space, after an equals sign, and by letter', () => {
    assert.deepEqual(parsed('--title', 'a', '-n', 'b'), { title: ['a'], namespace: ['b'], _: [] });
    assert.deepEqual(parsed('--title=a=b', '-n='), { title: ['a=b'], namespace: [''], _: [] });
  });

  it('takes texts as values that look like flags of nobody', () => {
    for (const text of ['-', '-5', '- item', '--no-such', '---', '--no-color']) {
      assert.deepEqual(parsed('--title', text), { title: [text], _: [] });
    }
  });

  it('refuses a flag of the command where a value belongs', () => {
    assert.match(refused('--title', '--tags', 'a').message, /--title needs a value; write --title=--tags/);
    assert.match(refused('--title').message, /--title needs a value/);
    assert.match(refused('--title', '--').message, /--title needs a value/);
  });

  it('collects a list and refuses the repetition of anything else', () => {
    assert.deepEqual(parsed('--tags', 'a', '--label=b'), { tags: ['a', 'b'], _: [] });
    assert.equal(refused('--title', 'a', '-T', 'b').message, '--title is given more than once');
    assert.equal(refused('--dry-run', '--dry-run').message, '--dry-run is given more than once');
  });

  it('reads a switch without a value, with one, and negated', () => {
    assert.deepEqual(parsed('--dry-run', 'x'), { 'dry-run': ['true'], _: ['x'] });
    assert.deepEqual(parsed('--dry-run=false'), { 'dry-run': ['false'], _: [] });
    assert.deepEqual(parsed('--no-dry-run'), { 'dry-run': ['false'], _: [] });
  });

  it('names an unknown flag and the nearest known one', () => {
    const failure = refused('--titel', 'x');
    assert.equal(failure.code, 'UNKNOWN_FIELD');
    assert.equal(failure.message, 'unknown flag --titel; did you mean --title?');
    assert.equal(refused('--namespac=x').message, 'unknown flag --namespac; did you mean --namespace?');
    assert.equal(refused('--zebra').message, 'unknown flag --zebra');
    assert.equal(refused('-z').message, 'unknown flag -z');
    assert.equal(refused('--no-title').message.startsWith('unknown flag --no-title'), true);
  });

  it('takes everything after -- by position, and refuses surplus words', () => {
    assert.deepEqual(parsed('--', '--title', '-x'), { _: ['--title', '-x'] });
    assert.match(refused('a', 'b', 'c').message, /unexpected argument "c"; put quotes/);
  });
});
