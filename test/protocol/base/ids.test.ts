import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  agentIdProblem,
  hasControlCharacter,
  memoryIdProblem,
  namespaceProblem,
  RESERVED_PRINCIPALS,
  withAncestors,
} from '../../../protocol/base/ids.js';
import fc from '../../support/properties.js';

const repeated = (length: number) => 'x'.repeat(length);

function table(
  problemOf: (text: string) => string | null,
  accepted: readonly string[],
  refused: readonly string[],
): void {
  for (const text of accepted) assert.equal(problemOf(text), null, JSON.stringify(text));
  for (const text of refused) assert.equal(typeof problemOf(text), 'string', JSON.stringify(text));
}

describe('a memory id', () => {
  it('holds letters, digits and _ : . @ - alone', () => {
    table(
      memoryIdProblem,
      ['0c6a1f6e-8c9e-4f7e-9a4d-6d1c1d6c0b11', 'a', 'A_b:c.d@e-f', '-', '.', repeated(128)],
      [
        '',
        repeated(129),
        'a/b',
        'a\\b',
        '..',
        'a..b',
        'a b',
        'a\n',
        '\u0000',
        'a\u0000',
        'a\u007f',
        'a\u0085',
        'é',
        '%',
        '*',
      ],
    );
  });
});

describe('an agent id', () => {
  it('has 1 to 128 characters of its pattern', () => {
    table(
      agentIdProblem,
      ['ai:client@host:pid-7', 'host:h', 'a/b', 'a.b', '-', '_', repeated(128), 'Daemon', 'ai:daemon'],
      [
        '',
        repeated(129),
        'a b',
        ' a',
        'a\n',
        'a\u0000',
        'a;b',
        'a|b',
        '$a',
        '`a`',
        'a*',
        'ä',
        '../a',
        '/a',
        'a..b',
      ],
    );
  });

  it('is not one of the service itself', () => {
    assert.ok(RESERVED_PRINCIPALS.size > 0);
    for (const id of RESERVED_PRINCIPALS) assert.match(agentIdProblem(id)!, /reserved/);
  });
});

describe('a namespace', () => {
  it('has one to eight segments, none of them empty or dots', () => {
    table(
      namespaceProblem,
      ['global', 'a/b/c/d/e/f/g/h', '_agents', 'team-1/ünïcode', 'a.b/...', '題目', repeated(512)],
      [
        '',
        '/',
        '/a',
        'a/',
        'a//b',
        '.',
        '..',
        'a/./b',
        'a/../b',
        'a\\b',
        'a b',
        'a\tb',
        'a\u00a0b',
        'a\u0000',
        'a\u0085',
        'a/b/c/d/e/f/g/h/i',
        repeated(513),
      ],
    );
  });

  it('is followed by its ancestors, nearest first', () => {
    assert.deepEqual(withAncestors('a/b/c'), ['a/b/c', 'a/b', 'a']);
    assert.deepEqual(withAncestors('global'), ['global']);
  });

  it('has as many ancestors as slashes, each of which the one before lies under', () => {
    const segments = fc.array(fc.stringMatching(/^[a-z.]{1,3}$/), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(segments, (parts) => {
        const chain = withAncestors(parts.join('/'));
        assert.equal(chain.length, parts.length);
        for (const [index, name] of chain.entries()) {
          assert.equal(name, parts.slice(0, parts.length - index).join('/'));
        }
      }),
    );
  });
});

describe('control characters', () => {
  it('are found, C1 included, unless they are allowed', () => {
    for (const text of ['\u0000', 'a\u001f', '\u007f', '\u0080', '\u009fb', '\n', '\r', '\t']) {
      assert.equal(hasControlCharacter(`text ${text} text`), true, JSON.stringify(text));
    }
    for (const text of ['', 'plain', 'ünïcode 題目 🧠', '\u00a0', '\u2028']) {
      assert.equal(hasControlCharacter(text), false, JSON.stringify(text));
    }
    assert.equal(hasControlCharacter('a\r\n\tb', '\r\n\t'), false);
    assert.equal(hasControlCharacter('a\r\n\u0000b', '\r\n\t'), true);
  });
});
