import { prerequisitesOf } from '../../../protocol/coordination/action-rows.js';
import type { ActionWaits } from '../../../protocol/coordination/queries.js';
import type { DecisionContext } from '../../../protocol/decide/deciding.js';
import { handles, ReadHandlers } from '../../../protocol/decide/handlers.js';
import { ownOrigin, recordsWith, subjectRow } from '../../../protocol/decide/reads.js';
import type { Row } from '../../../protocol/decide/rows.js';
import type { Answers } from '../../../protocol/release.js';
import { recordSource } from '../kinds/find-rows.js';
import type { QueryParts } from './query-parts.js';

const NO_STAMP: Row['stamp'] = { hlc: '', origin: '', origin_seq: 0, seen: {} };

/** What stands between an action and its claim: the rule itself, over the rows that a reader sees. */
export function actionWaits(
  { find, kinds, statements }: QueryParts,
  { id, namespace }: ActionWaits,
): Answers['action-waits'] {
  const reads = new ReadHandlers([
    // A reader looks each action up by the id that callers use, whichever node made it.
    handles(ownOrigin, () => ({ origin: '/', seq: 0 })),
    handles(subjectRow, () => null),
    handles(recordsWith, ({ kind, member, value, limit }): readonly Row[] =>
      find
        .all(recordSource(kinds.of(kind)), { where: { [member]: value }, limit })
        .map((image) => ({ id: '', namespace, image, stamp: NO_STAMP })),
    ),
  ]);
  return statements.snapshot(() => {
    const asking = prerequisitesOf({ action_id: id, namespace });
    let step = asking.next();
    // No read of it looks at the call.
    while (!step.done) step = asking.next(reads.answer(step.value, {} as DecisionContext) as never);
    return { waits: step.value };
  });
}
