import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nearest } from '../../../cli/nearest.js';
import { memoriesView } from '../../../cli/views/memories-view.js';
import { clip, displayWidth, oneLine, printable } from '../../../cli/views/text.js';

const row = (title: string, content = 'text') => ({
  id: '12345678-0000-4000-8000-000000000000',
  tier: 'mid',
  namespace: 'a/very/long/namespace/that/goes/on/and/on',
  title,
  content,
  score: 0.5,
});

describe('views', () => {
  it('fit the terminal whatever the texts are', () => {
    const rows = [
      row('short'),
      row('x'.repeat(300)),
      row('記憶'.repeat(80)),
      row('🦉'.repeat(90), 'line\n'.repeat(50)),
    ];
    for (const columns of [80, 100, 200]) {
      const text = memoriesView({ mode: 'hybrid' }, rows, { columns, snippets: true });
      for (const line of text.split('\n')) assert.ok(displayWidth(line) <= columns, `${columns}: ${line}`);
      assert.match(text, /4 memories, hybrid recall\n$/);
    }
  });

  it('show nothing that a terminal would obey', () => {
    assert.equal(printable('a\u001b[31mb\u009bc\u0007d\r\ne\tf\n'), 'a�[31mb�c�d\ne\tf\n');
    assert.equal(oneLine(' a\n\n b\u001b '), 'a b�');
  });

  it('measure wide characters as two columns and marks as none', () => {
    assert.deepEqual(['abc', '記憶', 'e\u0301', '🦉', 'é'].map(displayWidth), [3, 4, 1, 2, 1]);
    assert.equal(clip('記憶記憶', 5), '記憶…');
    assert.equal(clip('abcdef', 6), 'abcdef');
  });
});

describe('nearest', () => {
  it('finds what a mistyped word meant, and nothing far from it', () => {
    const names = ['title', 'content', 'tier', 'namespace', 'limit'];
    assert.equal(nearest('titel', names), 'title');
    assert.equal(nearest('limt', names), 'limit');
    assert.equal(nearest('name', names), 'namespace');
    assert.equal(nearest('zebra', names), null);
    assert.equal(nearest('x', names), null);
  });
});
