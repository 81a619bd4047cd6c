import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, it } from 'node:test';
import { drawSeed, underSeed } from './seed.js';
import { event, until, untilAnswer, within } from './wait.js';

const SOON = { withinMs: 30 } as const;
const never = () => new Promise<never>(() => {});

describe('waiting', () => {
  it('ends at its deadline and says what for and what was seen, also when no answer comes', async () => {
    const seen = () => 'the output';
    await assert.rejects(
      until('it holds', () => false, { ...SOON, seen }),
      /30 ms in vain: it holds\n+the output/,
    );
    await assert.rejects(until('it holds', never, SOON), /in vain: it holds\nnothing was answered/);
    const two = async () => ({ n: 2 });
    await assert.rejects(
      untilAnswer('it is 3', two, ({ n }) => n === 3, SOON),
      /in vain: it is 3\n\{"n":2\}/,
    );
    await assert.rejects(within('it comes', never(), SOON), /in vain: it comes$/);
    await assert.rejects(event('it happens', new EventEmitter(), 'x', SOON), /in vain: it happens$/);
  });

  it('answers what fits, and passes on why asking failed', async () => {
    let asked = 0;
    const counted = async () => {
      asked += 1;
      return asked;
    };
    assert.equal(await untilAnswer('the third', counted, (count) => count === 3), 3);
    await assert.rejects(
      until('it holds', () => {
        throw new Error('it broke');
      }),
      /it broke/,
    );
  });
});

describe('a seed', () => {
  it('is named by what fails under it', async () => {
    const failing = (seed: number) => Promise.reject(new Error(`drawn from ${seed}`));
    await assert.rejects(underSeed(failing, 77), /drawn from 77\nTEST_SEED=77 draws the same again/);
  });

  it('is the one that the environment names, or refused', () => {
    assert.equal(drawSeed('77'), 77);
    assert.throws(() => drawSeed('7x'), /"7x" is no whole number/);
    assert.ok(Number.isSafeInteger(drawSeed('')));
  });
});
