import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErasedTraces } from '../../storage/sql/erased-traces.js';
import { rowsWith } from '../support/rows-with.js';
import { openTestDatabase } from '../support/test-store.js';
import { openOptions } from './older-databases.js';

const [GONE, STAYS] = ['11111111-0000-4000-8000-000000000001', '11111111-0000-4000-8000-000000000002'];
const MARK = 'zqmark';
const AT = '2026-01-01T00:00:00.000Z';

const body = (memory_id: string) =>
  JSON.stringify({
    ...{ event: 'memory_delete', memory_id, namespace: 'lab', agent_id: 'ai:a', correlation_id: 'c' },
    ...{ title: `${MARK} of ${memory_id}`, tier: 'mid', reason: 'delete', delivered_at: AT },
  });

describe('the traces of erased memories', () => {
  it('go from events that wait, dead letters, and jobs with what they came to; others stay', () => {
    const db = openTestDatabase(openOptions(':memory:', 0));
    for (const [at, id] of [GONE, STAYS].entries()) {
      const event = { event: 'memory_delete', memory_id: id, namespace: 'lab', agent_id: 'ai:a' };
      db.prepare('INSERT INTO announced_events (seq, event, audience, at, at_ms) VALUES (?, ?, ?, ?, ?)').run(
        at + 1,
        JSON.stringify({ ...event, details: { title: `${MARK} of ${id}` } }),
        '{}',
        AT,
        0,
      );
      db.prepare(
        `INSERT INTO subscription_events (seq, subscription_id, correlation_id, event_type, payload, delivered_at,
           delivery_status, attempts, next_attempt_ms, replays) VALUES (?, 's', ?, 'memory_delete', ?, ?, 'pending', 1, 0, 0)`,
      ).run(at + 1, `c${at}`, body(id), AT);
      db.prepare(
        `INSERT INTO subscription_dlq (id, subscription_id, correlation_id, event_type, payload, retry_count, last_error,
           first_failed_at, last_failed_at) VALUES (?, 's', 'c', 'memory_delete', ?, 1, 'down', ?, ?)`,
      ).run(at + 1, body(id), AT, AT);
      for (const [column, said] of Object.entries({
        steps: `{"${id}":"${MARK}"}`,
        result: `"${MARK} ${id}"`,
      }))
        db.prepare(
          `INSERT INTO jobs (id, type, state, caller, local, input, due_at, created_at, runs, attempts, interruptions,
             waits, steps, result) VALUES (?, 'curator', 'done', 'ai:a', 1, '{}', ?, ?, 0, 0, 0, 0, ?, ?)`,
        ).run(
          `job-${at}-${column}`,
          AT,
          AT,
          column === 'steps' ? said : '{}',
          column === 'result' ? said : null,
        );
    }
    const columns = ['announced_events.event', 'jobs.result', 'jobs.steps'];
    const all = [...columns, 'subscription_dlq.payload', 'subscription_events.payload'];
    assert.deepEqual(rowsWith(db, MARK), all);
    new ErasedTraces(db).drop([GONE]);
    assert.deepEqual(rowsWith(db, `${MARK} of ${GONE}`), []);
    assert.deepEqual(rowsWith(db, GONE), [
      ...['announced_events.event', 'subscription_dlq.payload', 'subscription_events.payload'],
    ]);
    assert.deepEqual(rowsWith(db, MARK), all);
    new ErasedTraces(db).drop([STAYS]);
    assert.deepEqual(rowsWith(db, MARK), []);
    db.close();
  });
});
