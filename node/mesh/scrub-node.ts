import { type ScrubReport, scrub } from '../../actors/maintenance/scrub.js';
import { askBack } from '../../actors/mesh/ask-back.js';
import { PeerClient } from '../../actors/mesh/peer-client.js';
import { factsOf, noteScrub, problemsOf } from '../../actors/mesh/scrub-duty.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Scheduler } from '../../protocol/base/seams.js';
import type { Roster } from '../../protocol/peers/peer.js';
import { peerOfStatement } from '../../protocol/peers/roster-statement.js';
import type { Services } from '../pipeline/call.js';
import { MeshState } from './forming/mesh-state.js';
import { openVerifier } from './open-receiver.js';
import { UndiciTransport } from './undici-transport.js';

const TIMEOUT_MS = 10_000;

/**
 * Scrubs a node's database from a separate process, with or without its running daemon. Asks members of its mesh for what
 * the log lost. Only the daemon's scrub asks peers that are wired by hand.
 */
export async function scrubNode(
  services: Services,
  scheduler: Scheduler,
  options: { readonly dryRun: boolean; readonly agentId: string },
): Promise<Result<{ readonly found: number; readonly report: ScrubReport }>> {
  const { store, settings, peerId, machineKey, clock, random } = services;
  const state = new MeshState(settings.home, { ...services, scheduler });
  state.reload();
  const { formed } = state;
  const peers = [...(formed?.statements.values() ?? [])]
    .map(({ statement }) => peerOfStatement(statement))
    .filter((peer) => peer.peerId !== peerId);
  const roster: Roster = {
    peers: () => peers,
    find: (id) => peers.find((peer) => peer.peerId === id) ?? null,
    onChange: () => () => {},
  };
  const transport = new UndiciTransport({
    scheduler,
    trustOf: (peer) => ({
      client: formed?.pair ?? null,
      authorities: formed === null ? null : [formed.authority],
      names: 'peer',
      fingerprints: peer.fingerprints,
    }),
  });
  const client =
    machineKey === null
      ? null
      : new PeerClient({
          self: { peerId, signer: machineKey },
          transport,
          clock,
          random,
          requestTimeoutMs: TIMEOUT_MS,
        });
  try {
    const done = await scrub({
      store,
      verifier: openVerifier(services, roster),
      askBack: (places) => (client === null ? Promise.resolve([]) : askBack(client, peers, places)),
      dryRun: options.dryRun,
    });
    if (!done.ok) return failed(done.error);
    const found = { found: problemsOf(done.value), report: done.value };
    if (options.dryRun) return ok(found);
    const noted = await noteScrub(store, factsOf(done.value), options.agentId);
    return noted.ok ? ok(found) : failed(noted.error);
  } finally {
    await transport.close();
  }
}
