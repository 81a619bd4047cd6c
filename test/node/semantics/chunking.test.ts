import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunkMemory, chunkQuery, WINDOWS_MAX } from '../../../node/semantics/chunking.js';

/** A window of about 90 words of these tests: a word of them is estimated at 1.2 tokens, with its space. */
const input = { windowTokens: 108 };
const numbered = (count: number, stem = 'w') =>
  Array.from({ length: count }, (_, at) => `${stem}${at}`).join(' ');

function windowsOf(title: string, content: string, given = input): readonly string[] {
  const chunking = chunkMemory(title, content, given);
  assert.ok(chunking.ok);
  return chunking.windows;
}

test('a short memory is one window: title, a space, content', () => {
  assert.deepEqual(windowsOf('Deploy key', 'rotate it every month'), ['Deploy key rotate it every month']);
  assert.deepEqual(windowsOf('only a title', ''), ['only a title']);
});

test('every window of a long memory begins with the title, and together they hold every word once', () => {
  const title = numbered(7, 'title');
  const windows = windowsOf(title, numbered(500));
  assert.ok(windows.length > 4);
  const bodies = windows.map((window) => {
    assert.ok(window.startsWith(`${title} `));
    return window.slice(title.length + 1);
  });
  assert.equal(bodies.join(' '), numbered(500));
});

test('a long title takes at most a third of each window, and its rest is read like content', () => {
  const windows = windowsOf(numbered(100, 'title'), numbered(20));
  assert.ok(windows.length > 1);
  const heading = windows[0]!.split(' ').filter((word, at) => word === `title${at}`).length;
  assert.ok(windows.every((window) => window.startsWith('title0 title1 ')));
  const all = new Set(windows.flatMap((window) => window.split(' ')));
  assert.equal(all.size, 120);
  assert.ok(heading > 0);
});

test('the longest memory has the most windows allowed, from its beginning, and says that it is cut', () => {
  const chunking = chunkMemory('a title', numbered(20_000), input);
  assert.ok(chunking.ok);
  assert.equal(chunking.windows.length, WINDOWS_MAX);
  assert.ok(chunking.windows[0]?.startsWith('a title w0 '));
  assert.equal(chunking.cut, true);
});

test('text of every script gets a vector, and text without letters gets none', () => {
  for (const content of ['明天上午十点开会', 'мир', 'Żółć', 'سلام', '회의', 'ประชุม'])
    assert.equal(windowsOf('', content).length, 1, content);
  for (const content of ['', '  \n', '12:30 — 99 %', '🚀🚀'])
    assert.deepEqual(chunkMemory('', content, input), { ok: false, reason: 'no_letters' });
});

test('a window ends between characters', () => {
  for (const window of windowsOf('', '😀é'.repeat(500)))
    assert.ok(!/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/.test(window));
});

test('a model without windows gets the whole text', () => {
  const chunking = chunkMemory('title', numbered(500), { windowTokens: null });
  assert.deepEqual(chunking, { ok: true, windows: [`title ${numbered(500)}`] });
});

test('a query is one window', () => {
  const chunking = chunkQuery(`  ${numbered(200)}`, input);
  assert.ok(chunking.ok);
  assert.equal(chunking.windows.length, 1);
  assert.ok(numbered(200).startsWith(chunking.windows[0]!));
  assert.deepEqual(chunkQuery('???', input), { ok: false, reason: 'no_letters' });
});
