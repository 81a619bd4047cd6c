import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { KINDS } from '../../protocol/release.js';
import { Reader } from '../../storage/sql/reader.js';
import { graphDatabase } from '../support/graph.js';

const now = '2026-06-01T00:00:00.000Z';

test('the later comparison ends after its time, and goes on where it ended', () => {
  const db = graphDatabase();
  const log = db.prepare(
    `INSERT INTO operations (origin, origin_seq, hlc, kind, namespace, subject, seen, payload_hash, prev_hash)
     VALUES ('o', ?, '', 'store', 'n', ?, '{}', '', '')`,
  );
  for (const seq of [1, 2, 3]) log.run(seq, `row-${seq}`);
  let ms = 0;
  const clock = { monotonicMs: () => (ms += 10) };
  const reader = new Reader(db, systemCrypto, KINDS, clock);
  const review = (after: number, withinMs: number | null) => {
    const answer = reader.run({ kind: 'review-written', after, limit: 8, withinMs, now });
    assert.ok(answer.ok);
    const { through, more } = answer.value;
    return [through - after, more];
  };
  const first = Number(db.prepare('SELECT min(commit_sequence) FROM operations').pluck().get());
  assert.deepEqual(review(first - 1, 5), [1, true], 'one operation at least');
  assert.deepEqual(review(first + 1, 5), [1, false]);
  assert.deepEqual(review(first - 1, null), [3, false]);
  db.close();
});
