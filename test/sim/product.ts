import { startMesh } from '../../actors/mesh/mesh.js';
import { AuthorJudge } from '../../node/mesh/receive/author.js';
import { guardScopes } from '../../node/mesh/receive/scope-guard.js';
import { SyncReceiver } from '../../node/mesh/receive/sync-receiver.js';
import { type Origins, verifyOperations } from '../../node/mesh/receive/verify-operations.js';
import type { Replication } from '../../node/pipeline/call.js';
import { BACKGROUND_POLICY } from '../../node/runtime/policies.js';
import { decodeCursor } from '../../protocol/mesh/cursor.js';
import type { Peer, Roster } from '../../protocol/mesh/peer.js';
import type { OperationPage } from '../../protocol/mesh/wire.js';
import { failed, ok } from '../../protocol/result.js';
import { type JoinMesh, type Membership, type NodeRun, plain } from './sim-node.js';

const QUORUM_WITHIN_MS = 2000;
const TRUST_CURSORS: boolean = true;
const CATCH_UP_EVERY_MS = 2000;
const REQUEST_WITHIN_MS = 5000;

/** A node as the product composes it: its replication and its receiver, over the simulator's seams. */
export const product: JoinMesh = (run) => {
  const { node, services, scheduler, transport } = run;
  const { store, clock, crypto, random, log } = services;
  const roster = rosterOf(run);
  const origins: Origins = {
    keyOf: (peerId) =>
      peerId === node.peerId ? node.signer.publicKey : (roster.find(peerId)?.publicKey ?? null),
    scopeOf: (peerId) => roster.find(peerId) ?? { allowedNamespaces: null },
  };
  const authors = new AuthorJudge(crypto);
  const apply = async (page: OperationPage, from: string) => {
    const read = page.operations.map((operation) => ({ ok: true as const, operation }));
    const batch = verifyOperations(read, page.heads, origins, authors, crypto);
    const operations = await guardScopes(batch.operations, { store, origins, clock });
    const { heads } = batch;
    const applied = await store.execute({ kind: 'apply-operations', from, operations, heads, nonce: null });
    if (!applied.ok) return failed(applied.error);
    return ok({ ...applied.value, refused: [...batch.refused, ...applied.value.refused] });
  };
  const mesh = startMesh({
    self: { peerId: node.peerId, signer: node.signer },
    store,
    roster,
    transport,
    apply,
    settings: {
      quorumWrites: node.quorumWrites,
      quorumTimeoutMs: QUORUM_WITHIN_MS,
      catchupIntervalMs: CATCH_UP_EVERY_MS,
      pushBatchMax: 256,
      logPollMs: 500,
      requestTimeoutMs: REQUEST_WITHIN_MS,
    },
    clock,
    scheduler,
    random,
    log,
    policy: BACKGROUND_POLICY,
  });
  const replication: Replication = {
    quorumWrites: node.quorumWrites,
    quorumTimeoutMs: QUORUM_WITHIN_MS,
    accepting: () => mesh.accepting(),
    whenAccepting: () => mesh.whenAccepting(),
    replicated: (origin, from, to, deadlineMs) => mesh.replicated(origin, from, to, deadlineMs),
  };
  const receiver = new SyncReceiver({
    store,
    roster,
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
    oldStyle: null,
  });
  const membership: Membership = {
    receive: async (message) => {
      const { status, body } = await receiver.handle(message);
      const peerId = message.headers['x-peer-id'];
      if (status === 200 && peerId !== undefined)
        mesh.heard(peerId, TRUST_CURSORS ? claimOf(message.query) : null, placeOf(message.query));
      return { status, body: Buffer.from(body) };
    },
    operate: (name, input, caller, own) => plain(name, input, caller, { ...own, replication }),
    stop: () => mesh.stop(),
    remaining: () => [],
  };
  return Promise.resolve(membership);
};

/** What the cursor of a pull says that its sender has. */
const claimOf = (query: string) => (new URLSearchParams(query).get('place') === '1' ? null : placeOf(query));

function placeOf(query: string) {
  const cursor = new URLSearchParams(query).get('cursor');
  return cursor === null ? null : decodeCursor(cursor);
}

/** Everybody else, for as long as the world stands. */
function rosterOf({ node }: NodeRun): Roster {
  const peers: readonly Peer[] = node
    .others()
    .filter((other) => other !== node)
    .map((other) => other.peer);
  return {
    peers: () => peers,
    find: (peerId) => peers.find((peer) => peer.peerId === peerId) ?? null,
    onChange: () => () => undefined,
  };
}
