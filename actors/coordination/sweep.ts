import { ACTIONS_SWEPT_MAX } from '../../protocol/base/limits.js';
import type { Instant } from '../../protocol/base/meanings.js';
import type { Result } from '../../protocol/base/result.js';
import { ACTION_STATES, actionKind, isFinished } from '../../protocol/coordination/action-kind.js';
import { type FindRecords, type FindValue, type FoundRecords, rowsOf } from '../../protocol/kinds/find.js';
import type { Store } from '../../storage/port.js';

/** Removes the actions of this node that finished before an instant, with their edges and leases. */
export async function sweepActions(store: Store, before: Instant): Promise<void> {
  for (const state of ACTION_STATES.filter(isFinished)) await sweepState(store, state, before);
}

/** Goes through all of them: actions of other homes, and those that still stop others, stay. */
async function sweepState(store: Store, state: string, before: Instant): Promise<void> {
  let after: readonly FindValue[] | null = null;
  do {
    const asked: FindRecords = {
      ...{ kind: 'find-records', of: actionKind.name, where: { state, updated_at: { to: before } } },
      ...{ order: { by: 'updated_at' }, limit: ACTIONS_SWEPT_MAX, skipDamaged: true },
      ...{ viewer: null, now: before, ...(after === null ? {} : { after }) },
    };
    const page: Result<FoundRecords> = await store.query(asked);
    if (!page.ok) return;
    const ids = rowsOf(actionKind, page.value).map(({ action_id }) => action_id);
    if (ids.length > 0) {
      const swept = await store.execute({ kind: 'sweep-actions', ids, before }, { lane: 'background' });
      if (!swept.ok) return;
    }
    after = page.value.next;
  } while (after !== null);
}
