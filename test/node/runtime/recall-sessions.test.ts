import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RememberedSessions } from '../../../node/runtime/recall-sessions.js';
import { SESSION_ROWS_MAX, SESSIONS_MAX } from '../../../protocol/base/limits.js';

test('a session keeps its last rows, each once', () => {
  const sessions = new RememberedSessions();
  assert.deepEqual(sessions.seen('a'), []);
  sessions.add('a', [1, 2, 3]);
  sessions.add('a', [2, 4]);
  assert.deepEqual(sessions.seen('a'), [1, 3, 2, 4]);
  assert.deepEqual(sessions.seen('b'), []);
  sessions.add(
    'a',
    Array.from({ length: SESSION_ROWS_MAX }, (_, n) => 100 + n),
  );
  assert.equal(sessions.seen('a').length, SESSION_ROWS_MAX);
  assert.equal(sessions.seen('a')[0], 100);
});

test('the session that was used longest ago is forgotten first', () => {
  const sessions = new RememberedSessions();
  for (let n = 0; n < SESSIONS_MAX; n += 1) sessions.add(`s${n}`, [n]);
  sessions.add('s0', [0]);
  sessions.add('new', [7]);
  assert.deepEqual(sessions.seen('s1'), []);
  assert.deepEqual(sessions.seen('s0'), [0]);
  assert.deepEqual(sessions.seen('new'), [7]);
});
