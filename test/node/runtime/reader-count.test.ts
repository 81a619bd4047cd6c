import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readerCountFor } from '../../../node/runtime/daemon-storage.js';

test('a daemon has two to four readers, and never more than cores', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 64].map(readerCountFor), [1, 2, 2, 3, 4, 4]);
});
