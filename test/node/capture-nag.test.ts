import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CaptureNag } from '../../node/mcp/capture-nag.js';
import { OPERATIONS } from '../../node/operations/registry.js';

const named = (name: string) => OPERATIONS.find((operation) => operation.name === name)!;
const READ = named('memory_recall');

/** The calls of an agent that bring a reminder, by their number. */
const reminded = (nag: CaptureNag, calls: number, agent = 'ai:a') =>
  Array.from({ length: calls }, (_, n) => (nag.after(READ, agent) === null ? 0 : n + 1)).filter((n) => n > 0);

describe('the reminder to capture', () => {
  it('comes once at each of two numbers of calls, and again after a write', () => {
    const nag = new CaptureNag({ first: 5, second: 20 });
    assert.deepEqual(reminded(nag, 40), [5, 20]);
    assert.equal(nag.after(named('memory_capture_turn'), 'ai:a'), null);
    assert.deepEqual(reminded(nag, 40), [5, 20]);
  });

  it('counts each agent for itself, and what only marks as a read', () => {
    const nag = new CaptureNag({ first: 2, second: 0 });
    assert.equal(nag.after(READ, 'ai:a'), null);
    assert.equal(nag.after(READ, 'ai:b'), null);
    assert.notEqual(nag.after(named('memory_deref'), 'ai:a'), null);
  });

  it('never comes with thresholds of 0', () => {
    assert.deepEqual(reminded(new CaptureNag({ first: 0, second: 0 }), 40), []);
  });
});
