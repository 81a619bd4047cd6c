import type { Store } from '../../storage/port.js';

const RETRY_PARKED_LIMIT = 500;
/** After this many failures the rest waits for the next start. */
const PARKED_BROKEN_MAX = 200;

/** Retries parked operations: this release may have a rule for them. A failing one does not delay the others. */
export async function retryParked(store: Store): Promise<void> {
  let place = { after: 0, skip: 0, limit: RETRY_PARKED_LIMIT };
  for (let broken = 0; broken < PARKED_BROKEN_MAX; ) {
    const retried = await store.execute({ kind: 'retry-parked', ...place }, { lane: 'background' });
    if (retried.ok) {
      if (retried.value.last === null) return;
      const limit = Math.min(RETRY_PARKED_LIMIT, 2 * place.limit);
      place = { after: retried.value.last, skip: 0, limit };
      continue;
    }
    if (retried.error.code !== 'INTERNAL' && retried.error.code !== 'DATA_DAMAGED') return;
    broken += 1;
    if (place.limit > 1) place = { ...place, limit: Math.floor(place.limit / 2) };
    else place = { ...place, skip: place.skip + 1 };
  }
}
