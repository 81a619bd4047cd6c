import { execFileSync } from 'node:child_process';

/**
 * A number that the commit gives, so that runs of different commits look at different members of a long list, and runs of
 * one commit at the same. 0 outside of a clone.
 */
export const TURN = ((): number => {
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number.parseInt(commit.slice(0, 8), 16);
  } catch {
    return 0;
  }
})();

/** So many neighbours of a list, those whose turn it is; the last ones are neighbours of the first. */
export function inTurn<T>(all: readonly T[], count: number, turn = TURN): readonly T[] {
  const from = (turn % Math.ceil(all.length / count)) * count;
  return [...all, ...all].slice(from, from + Math.min(count, all.length));
}

/** The first of so many neighbouring numbers whose turn it is, so that those from 1 to a last one all have theirs. */
export const windowIn = (last: number, count: number, turn = TURN): number =>
  1 + (turn % Math.ceil(last / count)) * count;
