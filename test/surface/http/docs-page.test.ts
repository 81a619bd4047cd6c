import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type HttpNode, openHttpNode } from './http-node.js';

let node: HttpNode;
before(async () => {
  node = await openHttpNode({ apiKey: 'sesame' });
});
after(() => node.close());

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
const ADDRESS = /\b(?:src|href|action)="([^"]*)"/g;

/** The addresses that a page names, as a browser that loaded it from there asks for them. */
async function filesOf(page: string): Promise<readonly string[]> {
  const { text } = await node.send('GET', page);
  return [...text.matchAll(ADDRESS)]
    .map(([, address]) => new URL(address!, `http://node.invalid${page}`))
    .filter(({ protocol }) => protocol !== 'data:')
    .map(({ href }) => href);
}

test('the page and its files are open under both paths, and the description is not', async () => {
  for (const prefix of ['', '/api/v1']) {
    const page = await node.send('GET', `${prefix}/docs`);
    assert.equal(page.status, 200);
    assert.equal(page.headers.get('content-type'), HTML);
    const types = new Map<string, string | null>();
    for (const address of await filesOf(`${prefix}/docs`)) {
      assert.ok(address.startsWith(`http://node.invalid${prefix}/`), address);
      const path = address.slice('http://node.invalid'.length);
      const answer = await node.send('GET', path);
      assert.equal(answer.status, path.endsWith('/openapi.json') ? 401 : 200, path);
      types.set(path.slice(prefix.length), answer.headers.get('content-type'));
    }
    types.delete('/openapi.json');
    assert.deepEqual(Object.fromEntries(types), {
      '/docs/swagger-ui.css': STYLE,
      '/docs/page.css': STYLE,
      '/docs/swagger-ui-bundle.js': SCRIPT,
      '/docs/page.js': SCRIPT,
    });
  }
  assert.equal((await node.send('GET', '/openapi.json', undefined, { 'x-api-key': 'sesame' })).status, 200);
});

test('no file outside the page can be asked for', async () => {
  for (const path of ['/docs/', '/docs/index.html', '/docs/docs-routes.js', '/docs/..%2fserver.js']) {
    assert.notEqual((await node.send('GET', path)).status, 200, path);
  }
});

test('the policy forbids scripts inside the page and other hosts, and the page has none', async () => {
  const { headers, text } = await node.send('GET', '/docs');
  const policy = headers.get('content-security-policy')!;
  assert.match(policy, /default-src 'none'.*script-src 'self';.*connect-src 'self';.*frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
  for (const [script] of text.matchAll(/<script[^>]*>[^<]*/g))
    assert.match(script, /^<script src="[^"]+" defer>$/);
  assert.doesNotMatch(text, /<style|\son\w+=|style=|javascript:/i);
});

test('no file of the page names another host, except where nothing is fetched', async () => {
  for (const path of ['/docs', '/docs/page.js', '/docs/page.css'])
    assert.doesNotMatch((await node.send('GET', path)).text, /\/\/[\w.-]+\.\w/, path);
  const style = (await node.send('GET', '/docs/swagger-ui.css')).text;
  for (const [, address] of style.matchAll(/url\(["']?([^)"']*)/g)) assert.match(address!, /^data:/);
  assert.doesNotMatch(style, /@import/);
  // The library would ask a validator of its makers about each description.
  assert.match((await node.send('GET', '/docs/page.js')).text, /validatorUrl: null/);
});

test('the page keeps the key in no storage and in no address', async () => {
  const { text } = await node.send('GET', '/docs/page.js');
  assert.doesNotMatch(text, /localStorage|sessionStorage|cookie|indexedDB|history\.|location/);
  assert.match(text, /persistAuthorization: false/);
});

test('the description names the page, and none of its files', async () => {
  const { json } = await node.send('GET', '/openapi.json', undefined, { 'x-api-key': 'sesame' });
  const paths = Object.keys(json!['paths'] as object).filter((path) => path.includes('docs'));
  assert.deepEqual(paths, ['/docs', '/api/v1/docs']);
});
