import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PROJECT } from '../../architecture/source-files.js';
import { type HttpNode, openHttpNode } from './http-node.js';

const FILES = join(PROJECT, 'dist/console');
const COMPRESSED_BYTES_MAX = 400_000;
const PICTURE_BYTES_MAX = 60_000;

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ apiKey: 'sesame' });
});
after(() => node.close());

const assets = () => readdirSync(join(FILES, 'assets'));

test('the page answers under each address of a view, also without a key', async () => {
  const page = readFileSync(join(FILES, 'index.html'), 'utf8');
  for (const path of ['', '/memories', '/memories/3f2a', '/nothing/%3Cscript%3E']) {
    const answer = await node.send('GET', `/console${path}`);
    assert.deepEqual([answer.status, answer.text], [200, page], path);
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
  }
  for (const path of ['/console/a/b/c', '/console/assets/none/x', '/api/v1/console'])
    assert.notEqual((await node.send('GET', path)).status, 200, path);
});

test('each file is open, kept for good under its hashed name, and compressed', async () => {
  const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' };
  for (const name of assets()) {
    assert.match(name, /^[\w.-]+-[\w-]{8}\.(js|css)$/);
    const answer = await node.send('GET', `/console/assets/${name}`, undefined, {
      'accept-encoding': 'gzip',
    });
    assert.equal(answer.status, 200, name);
    assert.equal(answer.headers.get('content-type'), `${types[name.split('.').at(-1)!]}; charset=utf-8`);
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    assert.equal(answer.text, readFileSync(join(FILES, 'assets', name), 'utf8'));
  }
});

test('the page names only files that are there, and has no script or style inside', async () => {
  const { headers, text } = await node.send('GET', '/console');
  const policy = headers.get('content-security-policy')!;
  assert.match(
    policy,
    /default-src 'none'; script-src 'self'; .*connect-src 'self'; .*frame-ancestors 'none'/,
  );
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
  assert.doesNotMatch(text, /<style|\son\w+=|style=|javascript:|<script[^>]*>[^<]/i);
  const named = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);
  for (const address of named.filter((each) => each !== 'data:,'))
    assert.ok(assets().includes(address.replace('/console/assets/', '')), address);
});

test('all files together are small enough for a slow line', () => {
  const texts = [join(FILES, 'index.html'), ...assets().map((name) => join(FILES, 'assets', name))];
  const bytes = texts.reduce((sum, path) => sum + gzipSync(readFileSync(path)).length, 0);
  assert.ok(bytes < COMPRESSED_BYTES_MAX, `${bytes} bytes compressed`);
});

test('the sources put no markup into the page, and keep nothing beyond the session', () => {
  const sources = readdirSync(join(PROJECT, 'console/src'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.tsx?$/.test(name),
  );
  assert.ok(sources.length > 10);
  for (const name of sources) {
    const text = readFileSync(join(PROJECT, 'console/src', name), 'utf8');
    assert.doesNotMatch(
      text,
      /innerHTML|insertAdjacentHTML|document\.write|localStorage|indexedDB|dangerously|eval\(/,
    );
    // Half of the key is in a cookie of the session.
    if (name !== 'kept-key.ts') assert.doesNotMatch(text, /\.cookie/, name);
  }
});

test('each view has a small picture on its page of the documentation', () => {
  const views = readFileSync(join(PROJECT, 'console/src/views/views.ts'), 'utf8');
  const names = [...views.matchAll(/name: '(\w+)'/g)].map(([, name]) => name!);
  assert.ok(names.length >= 10);
  const page = readFileSync(join(PROJECT, 'docs/console.md'), 'utf8');
  const pictures = readdirSync(join(PROJECT, 'docs/console'));
  for (const name of names) assert.ok(pictures.includes(`${name}.webp`), name);
  for (const picture of pictures) {
    assert.ok(page.includes(`(console/${picture})`), picture);
    assert.ok(statSync(join(PROJECT, 'docs/console', picture)).size < PICTURE_BYTES_MAX, picture);
  }
});
