import { LeaseTerms } from '../../actors/coordination/leases.js';
import { finishErasures } from '../../actors/maintenance/erasures.js';
import { scrub } from '../../actors/maintenance/scrub.js';
import { askBack } from '../../actors/mesh/ask-back.js';
import { openMesh } from '../../actors/mesh/mesh.js';
import type { PeerStatus } from '../../actors/mesh/parts.js';
import { PeerClient } from '../../actors/mesh/peer-client.js';
import { SyncReceiver } from '../../node/mesh/receive/sync-receiver.js';
import type { Replication } from '../../node/pipeline/call.js';
import { BACKGROUND_POLICY } from '../../node/restart-policies.js';
import { ok } from '../../protocol/base/result.js';
import type { Scheduler, Timer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { publicKeyProblem } from '../../protocol/identity/ed25519-admission.js';
import { decodeCursor } from '../../protocol/log/cursor.js';
import { Verifier } from '../../protocol/replication/verifier.js';
import { hasActions } from './action-calls.js';
import { SIM_CHAIN } from './sim-kinds.js';
import { type JoinMesh, type Membership, plain } from './sim-node.js';

const QUORUM_WITHIN_MS = 2000;
const TRUST_CURSORS: boolean = true;
const CATCH_UP_EVERY_MS = 2000;
const REQUEST_WITHIN_MS = 5000;
const COMPARE_EVERY_MS = 5000;
const ERASE_EVERY_MS = 2000;
const ERASE_WITHIN_MS = 500;

/** A node as the product composes it: its replication and its receiver, over the simulator's seams. */
export const product: JoinMesh = (run) => {
  const { node, services, scheduler, transport } = run;
  const { store, clock, crypto, random, log } = services;
  const { roster } = node;
  const self = { peerId: node.peerId, signer: node.signer };
  const verifier = new Verifier({ self, roster, crypto, publicKeyProblem, kinds: node.kinds });
  const mesh = openMesh({
    self,
    store,
    roster,
    transport,
    verifier,
    settings: {
      quorumWrites: node.quorumWrites,
      quorumTimeoutMs: QUORUM_WITHIN_MS,
      catchupIntervalMs: CATCH_UP_EVERY_MS,
      pushBatchMax: 256,
      logPollMs: 500,
      requestTimeoutMs: REQUEST_WITHIN_MS,
      entropyIntervalMs: COMPARE_EVERY_MS,
    },
    clock,
    scheduler,
    random,
    log,
    policy: BACKGROUND_POLICY,
  });
  mesh.start();
  const isCounting = hasActions(node.parts.world, node.parts.mutant);
  const terms = new LeaseTerms(store, clock);
  const counting = isCounting ? repeated(scheduler, async () => (await terms.round()).afterMs) : null;
  const erasing = repeated(scheduler, async () => {
    const parts = { store, clock, removeFiles: () => null };
    await finishErasures(parts, instantFromMs(clock.nowMs()), ERASE_WITHIN_MS);
    return ERASE_EVERY_MS;
  });
  const replication: Replication = {
    quorumWrites: node.quorumWrites,
    quorumTimeoutMs: QUORUM_WITHIN_MS,
    accepting: () => mesh.accepting(),
    whenAccepting: () => mesh.whenAccepting(),
    clockAheadMs: () => mesh.clockAheadMs(),
    replicated: (origin, from, to, deadlineMs) => mesh.replicated(origin, from, to, deadlineMs),
    forward: (peerId, command) => mesh.forward(peerId, command),
    commands: SIM_CHAIN.commands,
  };
  const receiver = new SyncReceiver({
    screen: { passed: () => Promise.resolve(ok(null)) },
    store,
    roster,
    verifier,
    policy: {
      requireSignature: true,
      requireNonce: true,
      certificateBinding: 'warn',
      trustBodyAgentId: false,
    },
    isListed: () => false,
    peerId: node.peerId,
    signer: node.signer,
    pageSizeMax: services.settings.pageSizeMax,
    clock,
    crypto,
    log,
    metrics: { messageRefused: () => undefined, operationsReceived: () => undefined },
    legacy: null,
    commands: SIM_CHAIN.commands,
    onDiffering: (peerId) => mesh.differing(peerId),
  });
  const membership: Membership = {
    receive: async (message) => {
      const { status, body } = await receiver.handle(message);
      const peerId = message.headers['x-peer-id'];
      if (status === 200 && peerId !== undefined)
        mesh.contacted(peerId, TRUST_CURSORS ? claimOf(message.query) : null, placeOf(message.query));
      return { status, body: Buffer.from(body) };
    },
    operate: (name, input, caller, own) => plain(name, input, caller, { ...own, replication }),
    scrub: async () => {
      const client = new PeerClient({ self, transport, clock, random, requestTimeoutMs: REQUEST_WITHIN_MS });
      const done = await scrub({
        store,
        verifier,
        askBack: (places) => askBack(client, roster.peers(), places),
        dryRun: false,
      });
      return done.ok ? done.value.lost : [done.error.code];
    },
    suspected: () => mesh.rows.suspected(),
    alarms: () => mesh.status().peers.flatMap(alarmsOf),
    stop: () => {
      counting?.cancel();
      erasing.cancel();
      return mesh.stop();
    },
    remaining: () => [],
  };
  return Promise.resolve(membership);
};

/** A duty, as the owner of a database has it; each round says when the next one comes. */
function repeated(scheduler: Scheduler, round: () => Promise<number>): Timer {
  let stopped = false;
  let timer: Timer | null = null;
  const next = (afterMs: number) => {
    timer = scheduler.after(afterMs, () => {
      void round().then((restMs) => {
        if (!stopped) next(restMs);
      });
    });
  };
  next(0);
  return {
    cancel: () => {
      stopped = true;
      timer?.cancel();
    },
  };
}

const alarmsOf = ({ peerId, diverged, quarantined }: PeerStatus): string[] => [
  ...(diverged ? [`rows differ from ${peerId}`] : []),
  ...(quarantined ? [`deliveries to ${peerId} are in quarantine`] : []),
];

/** What the cursor of a pull says that its sender has. */
const claimOf = (query: string) => (new URLSearchParams(query).get('place') === '1' ? null : placeOf(query));

function placeOf(query: string) {
  const cursor = new URLSearchParams(query).get('cursor');
  return cursor === null ? null : decodeCursor(cursor);
}
