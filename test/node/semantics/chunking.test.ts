import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chunkMemory, chunkQuery, WINDOWS_MAX } from '../../../node/semantics/chunking.js';

const english = { windowWords: 90, latinOnly: true };
const numbered = (count: number, stem = 'w') =>
  Array.from({ length: count }, (_, at) => `${stem}${at}`).join(' ');

function windowsOf(title: string, content: string, input = english): readonly string[] {
  const chunking = chunkMemory(title, content, input);
  assert.ok(chunking.ok);
  return chunking.windows;
}

test('a short memory is one window: title, a space, content', () => {
  assert.deepEqual(windowsOf('Deploy key', 'rotate it\n every  month'), ['Deploy key rotate it every month']);
  assert.deepEqual(windowsOf('only a title', ''), ['only a title']);
});

test('exactly a window of words is one window, one word more makes two', () => {
  assert.equal(windowsOf('a b', numbered(88)).length, 1);
  const two = windowsOf('a b', numbered(89));
  assert.equal(two.length, 2);
  assert.equal(two[1], 'a b w88');
});

test('every window begins with the title, has at most 90 words, and together they hold every word once', () => {
  const title = numbered(7, 'title');
  const windows = windowsOf(title, numbered(500));
  const bodies = windows.map((window) => {
    assert.ok(window.startsWith(`${title} `));
    assert.ok(window.split(' ').length <= 90);
    return window.slice(title.length + 1);
  });
  assert.equal(bodies.join(' '), numbered(500));
});

test('a long title takes a third of each window and its rest is read like content', () => {
  const windows = windowsOf(numbered(100, 'title'), numbered(20));
  assert.ok(windows.every((window) => window.startsWith(`${numbered(30, 'title')} `)));
  assert.ok(windows.every((window) => window.split(' ').length <= 90));
  assert.deepEqual(
    windows.flatMap((window) => window.split(' ').slice(30)),
    [...numbered(100, 'title').split(' ').slice(30), ...numbered(20).split(' ')],
  );
});

test('the longest memory has the most windows allowed, from its beginning', () => {
  const windows = windowsOf('a title', numbered(20_000));
  assert.equal(windows.length, WINDOWS_MAX);
  assert.ok(windows[0]?.startsWith('a title w0 '));
});

test('runs without spaces are cut, and not inside a character', () => {
  const [window] = windowsOf('hash', `${'x'.repeat(1_000_000)} ${'a'.repeat(63)}😀 end`);
  assert.equal(window, `hash ${'x'.repeat(64)} ${'a'.repeat(63)} end`);
});

test('text of which fewer than half the letters are Latin gets no vector, and the reason is given', () => {
  assert.deepEqual(chunkMemory('会议', '明天上午十点开会 ok', english), { ok: false, reason: 'not_latin' });
  assert.deepEqual(chunkMemory('Привет', 'мир', english), { ok: false, reason: 'not_latin' });
  assert.equal(windowsOf('half', 'абвг').length, 1);
  assert.deepEqual(chunkMemory('half', 'абвгд', english), { ok: false, reason: 'not_latin' });
  assert.equal(windowsOf('Żółć', 'Straße naïve').length, 1);
  assert.equal(windowsOf('会议', '明天上午', { windowWords: 90, latinOnly: false }).length, 1);
});

test('text without letters gets no vector', () => {
  for (const content of ['', '  \n', '12:30 — 99 %', '🚀🚀']) {
    assert.deepEqual(chunkMemory('', content, english), { ok: false, reason: 'no_letters' });
  }
});

test('a model without windows gets the whole text', () => {
  const input = { windowWords: null, latinOnly: false };
  const chunking = chunkMemory('title', numbered(500), input);
  assert.deepEqual(chunking, { ok: true, windows: [`title ${numbered(500)}`] });
});

test('a query is one window', () => {
  const chunking = chunkQuery(`  ${numbered(200)}`, english);
  assert.deepEqual(chunking, { ok: true, windows: [numbered(90)] });
  assert.deepEqual(chunkQuery('???', english), { ok: false, reason: 'no_letters' });
});
