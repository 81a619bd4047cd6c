import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { product } from './product.js';
import { runSeed } from './run-seed.js';
import { runScenario } from './scenario.js';
import { failingSeeds } from './seeds.js';

/** Seeds that failed once. */
export const KEPT_SEEDS: readonly number[] = [
  ...new Set(
    readFileSync(new URL('../../../fixtures/seeds.txt', import.meta.url), 'utf8')
      .split('\n')
      .flatMap((line) => /^\d+/.exec(line)?.[0] ?? [])
      .map(Number),
  ),
];

export async function keepsItsPromises(seeds: readonly number[], workers: number): Promise<void> {
  const { failures } = await failingSeeds(seeds, workers);
  assert.equal(failures.join('\n'), '');
}

export async function repairsSums(seeds: readonly number[]): Promise<void> {
  for (const seed of seeds) {
    const damages = ['digest changed'] as const;
    const { violations } = await runScenario({
      seed,
      join: product,
      nodes: 4,
      faults: ['damage', 'crash'],
      damages,
    });
    assert.deepEqual(violations, [], `seed ${seed}`);
  }
}

export async function doesTheSameTwice(seeds: readonly number[]): Promise<void> {
  const options = { mutant: null, faults: null, nodes: null, twice: true, plain: false };
  for (const seed of seeds) {
    const { outcome } = await runSeed(seed, options, false);
    assert.deepEqual(
      outcome.violations.filter(({ check }) => check === 'digest'),
      [],
    );
  }
}
