import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/cl100k_base';
import { systemClock, systemScheduler } from '../../../node/seams.js';
import { loadTokenCounting, partsOf } from '../../../node/semantics/count-tokens.js';
import { ThreadTokenCounter } from '../../../node/semantics/thread-token-counter.js';
import fc from '../../support/properties.js';

const count = loadTokenCounting();
const counter = () => new ThreadTokenCounter({ clock: systemClock, scheduler: systemScheduler });

describe('counting tokens', () => {
  it('gives the tokenizer’s own count for prose, code and other scripts', () => {
    for (const text of [
      'The deploy runs at noon. '.repeat(50),
      'const a = [1, 2];\n\tif (a) {}',
      'Привет, мир',
      '',
    ]) {
      assert.equal(count(text), countTokens(text));
    }
  });

  it('is off by a token for each part of a run that no prose has', () => {
    for (const unit of ['a', 'ab', ' ', '!', '😀', '語']) {
      const text = `before ${unit.repeat(300)} behind`;
      const parts = [...partsOf(text)].length;
      assert.ok(parts > 1);
      assert.ok(Math.abs(count(text) - countTokens(text)) <= parts, unit);
    }
  });

  it('leaves nothing of a text out and splits no character', () => {
    const runs = fc.array(fc.tuple(fc.constantFrom('a', '😀', ' ', '!', '1', '語'), fc.nat({ max: 200 })));
    fc.assert(
      fc.property(runs, (pairs) => {
        const text = pairs.map(([unit, times]) => unit.repeat(times)).join('');
        const parts = [...partsOf(text)];
        assert.equal(parts.join(''), text);
        assert.ok(parts.every((part) => part.isWellFormed()));
      }),
    );
  });
});

describe('the thread that counts tokens', () => {
  it('counts up to the budget, call after call', async () => {
    const tokens = counter();
    const texts = ['one two three', 'four', 'five six'];
    assert.deepEqual(await tokens.counts(texts, 100), { ok: true, value: [3, 1, 2] });
    assert.deepEqual(await tokens.counts(texts, 3), { ok: true, value: [3, 1] });
  });

  it('answers DEADLINE when the time is over, and OVERLOADED when too much waits', async () => {
    const tokens = counter();
    const over = await tokens.counts(['a'], 1, systemClock.monotonicMs() - 1);
    const first = tokens.counts(['x'.repeat(1000)], 1);
    const large = await tokens.counts(['x'.repeat(33 * 1024 * 1024)], 1);
    assert.deepEqual(
      [over, large].map((answer) => !answer.ok && answer.error.code),
      ['DEADLINE', 'OVERLOADED'],
    );
    assert.ok((await first).ok);
  });

  it('goes on with the next call after one whose time was over while it waited', async () => {
    const tokens = counter();
    const first = tokens.counts(['one two '.repeat(50_000)], 1_000_000);
    const late = tokens.counts(['three'], 1, systemClock.monotonicMs() + 1);
    const last = tokens.counts(['four five'], 10);
    assert.deepEqual(await late, {
      ok: false,
      error: { code: 'DEADLINE', message: 'the tokens were not counted in time' },
    });
    assert.ok((await first).ok);
    assert.deepEqual(await last, { ok: true, value: [2] });
  });

  it('fails with UNAVAILABLE when it dies', async () => {
    const entry = new URL('data:text/javascript,throw new Error("no tables")');
    const tokens = new ThreadTokenCounter({ clock: systemClock, scheduler: systemScheduler, entry });
    const answer = await tokens.counts(['a'], 1);
    assert.ok(!answer.ok);
    assert.deepEqual([answer.error.code, /no tables/.test(answer.error.message)], ['UNAVAILABLE', true]);
  });
});
