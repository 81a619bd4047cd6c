import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Router } from '../../../node/http/router.js';

const router = new Router<string>();
router.add('GET', '/a', 'a');
router.add('POST', '/a/bulk', 'bulk');
router.add('GET', '/a/{id}', 'one');
router.add('PUT', '/a/{id}', 'put');
router.add('GET', '/a/{id}/links', 'links');
router.add('GET', '/a/{id}/links/{other}', 'link');

test('an exact segment goes before a parameter, and a dead end is walked back', () => {
  assert.deepEqual(router.find('POST', '/a/bulk'), { kind: 'route', route: 'bulk', params: [] });
  assert.deepEqual(router.find('GET', '/a/bulk/links'), { kind: 'route', route: 'links', params: ['bulk'] });
  assert.deepEqual(router.find('GET', '/a/x/links/y'), { kind: 'route', route: 'link', params: ['x', 'y'] });
});

test('segments are decoded one by one, so that an encoded slash stays in its value', () => {
  assert.deepEqual(router.find('GET', '/a/x%2Fy%20z'), { kind: 'route', route: 'one', params: ['x/y z'] });
  assert.deepEqual(router.find('GET', '/%61/1'), { kind: 'route', route: 'one', params: ['1'] });
  assert.deepEqual(router.find('GET', '/a/%ff'), { kind: 'malformed' });
});

test('names the methods of a path, HEAD with GET', () => {
  assert.deepEqual(router.find('DELETE', '/a/x'), { kind: 'wrong-method', allow: 'GET, HEAD, PUT' });
  assert.deepEqual(router.find('HEAD', '/a'), { kind: 'route', route: 'a', params: [] });
});

test('empty segments and longer paths lead nowhere', () => {
  for (const path of ['', '/', '/a/', '//a', '/a//links', '/a/x/links/', '/a/x/links/y/z', '*']) {
    assert.deepEqual(router.find('GET', path), { kind: 'none' }, path);
  }
});

test('a second route for a method and path is a bug', () => {
  assert.throws(() => router.add('GET', '/a/{name}', 'again'), /two routes/);
});
