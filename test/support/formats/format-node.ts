import { join } from 'node:path';
import { applyPage } from '../../../actors/mesh/apply-verified.js';
import { systemCrypto } from '../../../node/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { publicKeyProblem } from '../../../protocol/identity/ed25519-admission.js';
import {
  type Have,
  haveOf,
  type OperationPage,
  peerOfOrigin,
  type SignedHead,
} from '../../../protocol/log/wire-operation.js';
import type { Peer } from '../../../protocol/peers/peer.js';
import { KINDS } from '../../../protocol/release.js';
import type { ApplyOutcome } from '../../../protocol/replication/apply-operations.js';
import { Verifier } from '../../../protocol/replication/verifier.js';
import { openDatabase } from '../../../storage/sqlite/open-database.js';
import type { SqliteConnection } from '../../../storage/sqlite/sqlite-connection.js';
import { entropyPeer } from '../entropy-mesh.js';
import { TestRoster } from '../receiver-node.js';
import { type Replica, replicaOver } from '../replicas.js';
import type { TestPeer } from '../test-peer.js';

/** Nodes that have a part in the kept databases, by name; the first one's database is kept. */
export const FORMAT_NODES = ['ash', 'birch', 'cedar', 'dogwood', 'elm', 'fresh'] as const;
export type FormatNodeName = (typeof FORMAT_NODES)[number];

/** Who they are: always the same keys. */
export const formatPeer = (name: FormatNodeName): TestPeer => entropyPeer(name);

/** What all nodes grant each other: one of them may write to the team's namespaces only. */
export const formatPeers = (state: Peer['state']): readonly Peer[] =>
  FORMAT_NODES.map((name) =>
    formatPeer(name).asPeer({ state, allowedNamespaces: name === 'dogwood' ? ['team/**'] : null }),
  );

const SIGNERS = new Map(FORMAT_NODES.map((name) => [formatPeer(name).peerId, formatPeer(name)]));

/** Opens a kept database, or a new one, as a node's with the release that runs. */
export function openFormat(path: string, name: FormatNodeName, nowMs: number, epoch: string): Replica {
  const { peerId, signer } = formatPeer(name);
  return replicaOver(openAs(path, peerId, nowMs, epoch), nowMs, signer);
}

/** Opens a database as a peer's. */
export function openAs(path: string, peerId: string, nowMs: number, epoch: string): SqliteConnection {
  return openDatabase({
    path,
    identity: { peerId },
    nowMs,
    crypto: systemCrypto,
    freshEpoch: epoch,
    busyTimeoutMs: 100,
    synchronous: 'OFF',
  });
}

/** A node that makes a part of a kept database's history. */
export interface FormatNode extends Replica {
  readonly path: string;
  readonly peer: TestPeer;
  /** Takes a page as from a peer, verified as the product verifies it. */
  take(page: OperationPage): Promise<ApplyOutcome>;
}

/** Starts a node on a file in a folder. */
export function formatNode(folder: string, file: string, name: FormatNodeName, nowMs: number): FormatNode {
  const path = join(folder, file);
  const peer = formatPeer(name);
  const one = openFormat(path, name, nowMs, `00000000${Buffer.from(name).toString('hex').slice(0, 6)}01`);
  const roster = new TestRoster(...formatPeers('member').filter(({ peerId }) => peerId !== peer.peerId));
  const verifier = new Verifier({ self: peer, roster, crypto: systemCrypto, publicKeyProblem, kinds: KINDS });
  return Object.assign(one, {
    path,
    peer,
    async take(page: OperationPage) {
      const taken = await applyPage(
        { store: one.store, clock: { nowMs: () => one.nowMs } },
        verifier.page(page),
        'peer-0000000000000000',
      );
      if (!taken.ok) throw new Error(taken.error.message);
      return taken.value;
    },
  });
}

/** Carries what one node has to another, under heads that the origins' nodes signed. */
export async function carry(from: FormatNode, to: FormatNode): Promise<ApplyOutcome> {
  const known = await to.store.query({ kind: 'known-origins' });
  if (!known.ok) throw new Error(known.error.message);
  return to.take(await pageFor(haveOf(known.value.heads), from));
}

/** What a node has for one that has less, as a peer answers a pull. */
export async function pageFor(have: Have, { store, nowMs }: Replica) {
  const read = await store.query({
    ...{ kind: 'read-operations', have, origins: null, limit: 10_000, bytesMax: 1e9 },
  });
  if (!read.ok) throw new Error(read.error.message);
  const { operations, ends } = read.value;
  const heads = Object.entries(ends).map(
    ([origin, { seq, hash }]): SignedHead => SIGNERS.get(peerOfOrigin(origin))!.sign({ origin, seq, hash }),
  );
  return { operations, heads, more: false, have: haveOf(ends), wall_clock: instantFromMs(nowMs) };
}
