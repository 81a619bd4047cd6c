import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EmbeddingQueue } from '../../../node/semantics/embedding-queue.js';

const job = (text: string) => ({ text, settle: () => {} });
const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ');

test('queries come first and one at a time', () => {
  const queue = new EmbeddingQueue();
  queue.addBackground([job('b1'), job('b2')]);
  queue.addQuery(job('q1'));
  queue.addQuery(job('q2'));
  assert.deepEqual(queue.depth(), { queries: 2, background: 2 });
  const taken = [queue.take(), queue.take(), queue.take(), queue.take()].map((batch) =>
    batch.map(({ text }) => text),
  );
  assert.deepEqual(taken, [['q1'], ['q2'], ['b1', 'b2'], []]);
});

test('a background batch has at most 8 texts and 96 words, but at least one text', () => {
  const queue = new EmbeddingQueue();
  queue.addBackground([words(90), words(90), words(40), words(40), words(40), words(500)].map(job));
  queue.addBackground(Array.from({ length: 10 }, () => job('short')));
  const sizes: number[] = [];
  for (let batch = queue.take(); batch.length > 0; batch = queue.take()) sizes.push(batch.length);
  assert.deepEqual(sizes, [1, 1, 2, 1, 1, 8, 2]);
});

test('a query that gave up is not taken any more', () => {
  const queue = new EmbeddingQueue();
  const query = job('late');
  queue.addQuery(query);
  assert.equal(queue.removeQuery(query), true);
  assert.equal(queue.removeQuery(query), false);
  assert.deepEqual(queue.take(), []);
});
