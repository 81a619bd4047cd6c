import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from '../../../protocol/base/bounded-map.js';

test('the entry that was used the longest time ago goes first', () => {
  const cache = new BoundedMap<string, Float32Array>(2);
  const vector = Float32Array.of(1);
  cache.set('a', vector);
  cache.set('b', vector);
  assert.equal(cache.use('a'), vector);
  cache.set('c', vector);
  assert.equal(cache.use('b'), undefined);
  assert.equal(cache.use('a'), vector);
  assert.equal(cache.use('c'), vector);
});

test('setting an entry again makes it the youngest, and reading it does not', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  );
  map.get('a');
  map.set('d', 5);
  assert.deepEqual([...map.keys()], ['c', 'd']);
});
