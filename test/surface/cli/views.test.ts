import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { memoriesView } from '../../../cli/views/memories-view.js';
import { memoryView } from '../../../cli/views/memory-view.js';
import { objectView } from '../../../cli/views/object-view.js';
import { clip, displayWidth, oneLine, printable } from '../../../cli/views/text.js';
import { nearest } from '../../../protocol/base/nearest.js';

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
    rows.push(row('wide', '記憶'.repeat(400)), row('code', `${'x'.repeat(500)} y\n    z`));
    for (const columns of [60, 80, 100, 200]) {
      for (const texts of ['all', 'line', 'none'] as const) {
        const text = memoriesView({ mode: 'hybrid' }, rows, { columns, texts });
        for (const line of text.split('\n')) assert.ok(displayWidth(line) <= columns, `${columns}: ${line}`);
        assert.match(text, /6 memories, hybrid recall\n$/);
      }
    }
  });

  it('show the texts of a recall with their lines, and how to read on', () => {
    const options = { columns: 60, texts: 'all' } as const;
    const content = `First line.\n    indented ${'word '.repeat(12)}\n\nlast`;
    const whole = memoriesView({}, [row('one', content)], options);
    assert.match(
      whole,
      /\n {10}First line\.\n {14}indented(?: word)+\n {14}word(?: word)+\n\n {10}last\n\n1 memory\n$/,
    );
    const { content: _, ...rest } = row('two');
    const part = memoriesView({}, [{ ...rest, passage: 'a part…[+90]' }], options);
    assert.match(part, /\n {10}a part…\[\+90\]\n\n1 memory\n\[\+n\] counts .*"get" shows the whole text\n$/);
  });

  it('name the standards of a recall below the rows', () => {
    const standard = { namespace: 'team', id: 'x', title: 'the rules', content: 'text' };
    const options = { columns: 80, texts: 'none' } as const;
    assert.match(
      memoriesView({ standard }, [row('one')], options),
      /1 memory\nstandard of team: the rules\n$/,
    );
    const both = { standards: [standard, { ...standard, namespace: 'team/a', title: 'x'.repeat(300) }] };
    const lines = memoriesView(both, [], options).trimEnd().split('\n');
    assert.deepEqual(lines.slice(0, 2), ['no memories found', 'standard of team: the rules']);
    assert.ok(displayWidth(lines[2]!) <= 80);
  });

  it('say when and why a row was archived', () => {
    const archived = {
      ...row('gone'),
      archived_at: '2026-01-02T03:04:05.000Z',
      archive_reason: 'consolidated',
    };
    for (const columns of [60, 100]) {
      const text = memoriesView({}, [archived], { columns, texts: 'none' });
      assert.match(text, columns < 80 ? /2026-01-02 +consolidated/ : /2026-01-02 03:04 +consolidated/);
      for (const line of text.split('\n')) assert.ok(displayWidth(line) <= columns, `${columns}: ${line}`);
    }
  });

  it('lay lists of rows out as tables, and as blocks where a table does not fit', () => {
    const observation = (rank: number) => ({
      recall_id: '12345678-0000-4000-8000-000000000000',
      rank,
      seen_at: '2026-01-02T03:04:05.000Z',
      note: 'x'.repeat(90),
      nothing: null,
      hidden: true,
    });
    const table = { seen_at: 'WHEN', recall_id: 'RECALL', rank: 'RANK', note: 'NOTE', nothing: 'NOTHING' };
    const answer = { observations: [observation(1), observation(20)], count: 2 };
    const view = (columns: number) => objectView(answer, { columns, table }).trimEnd().split('\n');
    const wide = view(200);
    assert.match(wide[1]!, /^ {2}WHEN {14}RECALL {32}RANK {2}NOTE$/);
    assert.match(wide[2]!, /^ {2}2026-01-02 03:04 {2}12345678-0000-\S+ {5}1 {2}x{90}$/);
    assert.equal(wide.at(-1), 'count  2');
    const narrow = view(60);
    assert.equal(narrow.length, wide.length);
    for (const line of narrow) assert.ok(displayWidth(line) <= 60, line);
    assert.match(narrow[3]!, /^ {2}2026-01-02 {2}12345678 {4}20 {2}x+…$/);
    const blocks = view(30);
    assert.ok(blocks.includes('  rank       20'), blocks.join('\n'));
    assert.ok(blocks.includes('  nothing    -'));
  });

  it('line values up under one another, and print no JSON for what is empty', () => {
    const text = objectView({ total: 3, by_tier: [], last_seen_at: null, limits: { per_day: 5 } });
    assert.equal(text, 'total         3\nby tier       none\nlast seen at  -\nlimits\n  per day  5\n');
    const facts = { id: '1', confidence_source: 'caller', version: 2, title: 't', content: 'c' };
    assert.equal(
      memoryView(facts),
      't\n\nid                 1\nconfidence source  caller\nversion            2\n\nc\n',
    );
  });

  it('show nothing that a terminal would obey', () => {
    assert.equal(printable('a\u001b[31mb\u009bc\u0007d\r\ne\tf\n'), 'a\\u001b[31mb\\u009bc\\u0007d\ne\tf\n');
    assert.equal(oneLine(' a\n\n b\u001b '), 'a b\\u001b');
  });

  it('show what turns the direction of the text, or ends a line elsewhere, by its number', () => {
    assert.equal(printable('pay\u202eecila\u2069 \u061c'), 'pay\\u202eecila\\u2069 \\u061c');
    assert.equal(oneLine('a\u2028b\u2029c\u0085d\u000be'), 'a\\u2028b\\u2029c\\u0085d\\u000be');
    assert.equal(printable('👩\u200d💻 שלום'), '👩\u200d💻 שלום', 'letters and joined signs stay');
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
