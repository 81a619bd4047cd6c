import assert from 'node:assert/strict';
import { type ScrubReport, scrub } from '../../actors/maintenance/scrub.js';
import { operationId } from '../../protocol/log/operation-log.js';
import { type Replica, verified } from './replicas.js';

/** Scrubs a replica; `peer` gives back what it has, and a silent one does not answer. */
export async function scrubbed(
  one: Pick<Replica, 'store' | 'nowMs'> & Partial<Pick<Replica, 'kinds'>>,
  peer: Replica | 'silent' | null = null,
  dryRun = false,
): Promise<ScrubReport> {
  const done = await scrub({
    store: one.store,
    kinds: one.kinds,
    dryRun,
    verifier: { singles: (operations) => operations.map(verified) },
    clock: { nowMs: () => one.nowMs },
    askBack: async (places) => {
      if (peer === null || peer === 'silent') return { operations: [], complete: peer === null };
      const wanted = new Set(places.map(({ origin, seq }) => operationId(origin, seq)));
      const operations = (await peer.read()).filter(({ origin, seq }) =>
        wanted.has(operationId(origin, seq)),
      );
      return { operations, complete: true };
    },
  });
  assert.ok(done.ok, JSON.stringify(done));
  return done.value;
}
