import { type Mesh, openMesh } from '../../actors/mesh/mesh.js';
import type { MeshEvent } from '../../actors/mesh/parts.js';
import { SyncReceiver } from '../../node/mesh/receive/sync-receiver.js';
import { BACKGROUND_POLICY } from '../../node/restart-policies.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import { ok } from '../../protocol/base/result.js';
import { publicKeyProblem } from '../../protocol/identity/ed25519-admission.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { KINDS } from '../../protocol/release.js';
import { Verifier } from '../../protocol/replication/verifier.js';
import type { PeerReply, PeerRequest } from '../../protocol/wire/transport.js';
import type { Connection } from '../../storage/sql/connection.js';
import { keptLog } from './mesh.js';
import { TestRoster } from './receiver-node.js';
import { type Replica, replica } from './replicas.js';
import { TestPeer } from './test-peer.js';

/** A node that replicates and compares with others in this process, over a real store in memory. */
export interface EntropyNode {
  readonly peerId: string;
  readonly replica: Replica;
  readonly db: Connection;
  readonly mesh: Mesh;
  readonly roster: TestRoster;
  readonly log: ReturnType<typeof keptLog>;
  readonly events: MeshEvent[];
  /** Comparisons by their outcome. */
  outcomes(): string[];
}

/** What a node may do to a message that it is sent; null lets it through. */
export type Intercept = (to: string, request: PeerRequest) => PeerReply | null;

/** The peer that a node of such a mesh is, by its name. */
export const entropyPeer = (name: string) => new TestPeer(`entropy ${name}`);

/**
 * Starts nodes that know each other. `scopes`: globs that all others grant a node, by its name. `replicas`: what a node
 * goes on with instead of an empty database, by its name. `others`: peers that all know and that are not there.
 */
export function startEntropyMesh(
  names: readonly string[],
  options: {
    readonly scopes?: Readonly<Record<string, readonly string[]>>;
    readonly replicas?: Readonly<Record<string, Replica>>;
    readonly others?: readonly Peer[];
    readonly intercept?: Intercept;
    readonly intervalMs?: number;
  } = {},
) {
  const peers = new Map(names.map((name) => [name, entropyPeer(name)]));
  const receivers = new Map<string, SyncReceiver>();
  const nodes = new Map<string, EntropyNode>();
  const asPeer = (name: string, fields: Partial<Peer> = {}): Peer =>
    peers.get(name)!.asPeer({
      url: `http://${name}`,
      allowedNamespaces: options.scopes?.[name] ?? null,
      ...fields,
    });
  for (const name of names) {
    const { peerId, signer } = peers.get(name)!;
    const one = options.replicas?.[name] ?? replica(peerId.slice('peer-'.length), Date.now());
    const members = names.filter((each) => each !== name).map((each) => asPeer(each));
    const roster = new TestRoster(...members, ...(options.others ?? []));
    const log = keptLog();
    const events: MeshEvent[] = [];
    let mesh: Mesh | null = null;
    const self = { peerId, signer };
    const verifier = new Verifier({ self, roster, crypto: systemCrypto, publicKeyProblem, kinds: KINDS });
    const receiver = new SyncReceiver({
      screen: { passed: () => Promise.resolve(ok(null)) },
      store: one.store,
      roster,
      verifier,
      policy: {
        requireSignature: true,
        requireNonce: true,
        certificateBinding: 'warn',
        trustBodyAgentId: false,
      },
      isListed: () => false,
      peerId,
      signer,
      pageSizeMax: 1000,
      clock: systemClock,
      crypto: systemCrypto,
      log,
      metrics: { messageRefused: () => {}, operationsReceived: () => {} },
      legacy: null,
      onContact: (from, have) => mesh?.contacted(from, have),
      onDiffering: (from) => mesh?.differing(from),
    });
    receivers.set(`http://${name}`, receiver);
    mesh = openMesh({
      self,
      store: one.store,
      roster,
      transport: {
        async send(peer, request) {
          const stopped = options.intercept?.(peer.url!, request) ?? null;
          if (stopped !== null) return stopped;
          const to = receivers.get(peer.url!);
          if (to === undefined) return { kind: 'unreachable', message: 'it is not there' };
          const body = request.body ?? new Uint8Array(0);
          const answer = await to.handle({ ...request, body, fingerprint: null });
          return { kind: 'answer', status: answer.status, body: new TextEncoder().encode(answer.body) };
        },
      },
      verifier,
      settings: {
        quorumWrites: 0,
        quorumTimeoutMs: 2000,
        catchupIntervalMs: 100,
        pushBatchMax: 1000,
        logPollMs: 20,
        entropyIntervalMs: options.intervalMs ?? 100,
      },
      clock: { ...systemClock },
      scheduler: systemScheduler,
      random: systemRandom,
      log,
      policy: BACKGROUND_POLICY,
      onEvent: (event) => events.push(event),
    });
    mesh.start();
    nodes.set(name, {
      peerId,
      replica: one,
      db: one.db,
      mesh,
      roster,
      log,
      events,
      outcomes: () => events.flatMap((event) => (event.kind === 'compared' ? [event.comparison] : [])),
    });
  }
  return {
    node: (name: string) => nodes.get(name)!,
    asPeer,
    async stop() {
      await Promise.all([...nodes.values()].map(({ mesh }) => mesh.stop()));
      await Promise.all([...nodes.values()].map(({ replica: { store } }) => store.close()));
    },
  };
}
