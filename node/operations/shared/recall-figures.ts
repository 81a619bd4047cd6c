import { z } from 'zod';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { ReadCall } from '../../pipeline/call.js';

/** How recall did, as far as it is recorded. */
export const shownFigures = z.object({
  recalls: z.int().describe('Recorded with what was asked'),
  without_row: z.int().describe('Answers without a row'),
  weak: z.int().describe('Answers of weak rows only'),
  keyword: z.int().describe('By words only'),
  rows_per_answer: z.number().nullable().describe('Of the answers with rows'),
  used_share: z
    .number()
    .nullable()
    .describe('Share of the answers with rows of which a row was used or a memory came, 0 to 1'),
  since: z.string().nullable().describe('When the oldest was made'),
});

/** The agent whose recalls a caller may list; null for those of all. */
export const recallsOf = ({ caller: { viewer, admin, agentId } }: ReadCall): string | null =>
  viewer.all || admin ? null : agentId;

/** The figures of the recalls that a caller may list. */
export async function recallFigures(call: ReadCall): Promise<Result<z.output<typeof shownFigures>>> {
  const found = await call.services.store.query({ kind: 'recall-figures', agentId: recallsOf(call) });
  if (!found.ok) return failed(found.error);
  const { recalls, without_row, weak, keyword, rows, answers_used, since } = found.value;
  const answers = recalls - without_row;
  const share = (part: number) => (answers === 0 ? null : Math.round((part / answers) * 1000) / 1000);
  return ok({
    ...{ recalls, without_row, weak, keyword, since },
    rows_per_answer: share(rows),
    used_share: share(answers_used),
  });
}
