import { CLOCK_AHEAD_MS_MAX } from '../../protocol/base/limits.js';
import { type Failure, failure } from '../../protocol/base/result.js';
import type { Replication } from './call.js';

/** Why this node writes nothing now: its clock is so far ahead of its peers' that they would not take it. */
export function clockProblem(replication: Pick<Replication, 'clockAheadMs'>): Failure | null {
  const aheadMs = replication.clockAheadMs();
  if (aheadMs <= CLOCK_AHEAD_MS_MAX) return null;
  const seconds = Math.round(aheadMs / 1000);
  const message = `this node's clock is ${seconds} s ahead of all peers that answer, so they would refuse the write: set the clock and try again`;
  return failure('CLOCK_AHEAD', message, { ahead_seconds: seconds });
}
