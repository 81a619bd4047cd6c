import { randomInt } from 'node:crypto';

/**
 * Runs what draws everything from a seed: prints the seed first, and names it when the run fails. `TEST_SEED` in the
 * environment replays a run; what real processes make of the same draws also depends on their timing.
 */
export async function underSeed<T>(run: (seed: number) => Promise<T>, seed = drawSeed()): Promise<T> {
  console.log(`TEST_SEED=${seed}`);
  try {
    return await run(seed);
  } catch (error) {
    if (error instanceof Error) error.message += `\nTEST_SEED=${seed} draws the same again`;
    throw error;
  }
}

/** The seed that the environment names, or another one each time. */
export function drawSeed(named = process.env['TEST_SEED']): number {
  if (named === undefined || named === '') return randomInt(2 ** 31);
  const seed = Number(named);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error(`TEST_SEED: "${named}" is no whole number`);
  return seed;
}
