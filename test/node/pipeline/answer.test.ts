import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Answer, type Answered, shapedAnswer } from '../../../node/pipeline/answer.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import { aCaller, anOperation, someServices } from './operations.js';

const PLACE = { action: 'store', namespace: 'team' };
const WAITING = { status: 'pending', pending_id: 'p1', reason: 'asks', ...PLACE } as const;

const services = someServices({
  clock: { nowMs: () => 0, monotonicMs: () => 0 },
  settings: { requireAttestation: false } as never,
  machineKey: null,
});
const answerTo = (said: Result<Record<string, unknown>>): Promise<Answer> =>
  runOperation(
    anOperation({ run: () => Promise.resolve(said) }),
    { surface: 'http', caller: aCaller(), input: {}, unknownFields: 'refuse' },
    services,
  );
const shape = ({ status }: Record<string, unknown>) => ({ shaped: status });

describe('an answer waits for an approval', () => {
  it('where its command was put aside, and then no shape of a surface drops what it says', async () => {
    const answer = await answerTo(fail('APPROVAL_PENDING', 'asks', WAITING));
    assert.deepEqual(answer, { ok: true, value: WAITING, waits: true });
    assert.deepEqual(shapedAnswer(shape, answer as Answered), WAITING);
  });

  it('also when it has crossed the local socket', async () => {
    const answer = JSON.parse(
      JSON.stringify(await answerTo(fail('APPROVAL_PENDING', 'asks', WAITING))),
    ) as Answer;
    assert.deepEqual(answer, { ok: true, value: WAITING, waits: true });
  });

  it('never because of what it holds', async () => {
    const answer = await answerTo(ok({ ...WAITING }));
    assert.deepEqual(answer, { ok: true, value: WAITING });
    assert.deepEqual(shapedAnswer(shape, answer as Answered), { shaped: 'pending' });
  });
});
