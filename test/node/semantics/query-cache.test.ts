import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QueryCache } from '../../../node/semantics/query-cache.js';

test('the least recently used query is forgotten first', () => {
  const cache = new QueryCache(2);
  const vector = Float32Array.of(1);
  cache.set('a', vector);
  cache.set('b', vector);
  assert.equal(cache.get('a'), vector);
  cache.set('c', vector);
  assert.equal(cache.get('b'), null);
  assert.equal(cache.get('a'), vector);
  assert.equal(cache.get('c'), vector);
});
