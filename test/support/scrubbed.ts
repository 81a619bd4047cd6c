import assert from 'node:assert/strict';
import { type ScrubReport, scrub } from '../../actors/maintenance/scrub.js';
import { operationId } from '../../protocol/log/operation-log.js';
import { type Replica, verified } from './replicas.js';

/** Scrubs a replica; `peer` gives back what it has. */
export async function scrubbed(
  one: Pick<Replica, 'store' | 'nowMs'> & Partial<Pick<Replica, 'kinds'>>,
  peer: Replica | null = null,
  dryRun = false,
): Promise<ScrubReport> {
  const done = await scrub({
    store: one.store,
    kinds: one.kinds,
    dryRun,
    verifier: { ready: () => Promise.resolve(), singles: (operations) => operations.map(verified) },
    askBack: async (places) => {
      if (peer === null) return [];
      const wanted = new Set(places.map(({ origin, seq }) => operationId(origin, seq)));
      return (await peer.read()).filter(({ origin, seq }) => wanted.has(operationId(origin, seq)));
    },
  });
  assert.ok(done.ok, JSON.stringify(done));
  return done.value;
}
