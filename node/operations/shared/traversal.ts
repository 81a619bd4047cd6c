import type { Instant } from '../../../protocol/base/meanings.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { GraphMoment } from '../../../protocol/graph/moment.js';
import type { Traversal } from '../../../protocol/graph/queries.js';
import type { ReadCall } from '../../pipeline/call.js';

/** Which links a question counts: those that held at `valid_at`, or else when they were believed, or else now. */
export function momentOf(
  { now }: Pick<ReadCall, 'now'>,
  input: {
    readonly valid_at?: Instant | undefined;
    readonly believed_at?: Instant | undefined;
    readonly include_invalidated: boolean;
  },
): GraphMoment {
  const believedAt = input.believed_at ?? null;
  const otherwise = input.include_invalidated ? null : (believedAt ?? now);
  return { validAt: input.valid_at ?? otherwise, believedAt };
}

/** An answer of a walk, or TRAVERSAL_BUDGET_EXCEEDED with the part of it that was found. */
export function boundedAnswer<A extends Record<string, unknown>>(
  { stopped, spent }: Traversal,
  answer: A,
): Result<A> {
  if (stopped === null) return ok(answer);
  return fail(
    'TRAVERSAL_BUDGET_EXCEEDED',
    `the walk was stopped after ${spent} links, which is as ${stopped === 'time' ? 'long' : 'many'} as one walk may take: ` +
      'ask for fewer hops; the answer has the part that was found',
    { ...answer, stopped_by: stopped, links_read: spent },
  );
}
