import { type Mesh, openMesh } from '../../actors/mesh/mesh.js';
import type { MeshEvent, MeshStatus } from '../../actors/mesh/parts.js';
import { PeerClient } from '../../actors/mesh/peer-client.js';
import { CHANGE_POLL_MS } from '../../protocol/base/limits.js';
import type { Random, Scheduler, Signer } from '../../protocol/base/seams.js';
import { signMessage } from '../../protocol/wire/message-signing.js';
import type { Services } from '../pipeline/call.js';
import { BACKGROUND_POLICY } from '../restart-policies.js';
import { followFolder } from './follow-folder.js';
import type { WiredPeer } from './mesh-answers.js';
import { MeshPeers } from './mesh-peers.js';
import { openFileRoster, openVerifier } from './open-receiver.js';
import { Relay } from './relay.js';
import { RosterExchange } from './roster-exchange.js';
import { removalTeller } from './tell-removal.js';
import type { WatchedFiles } from './tls/watched-files.js';

export interface PeerExchangeParts {
  readonly services: Services;
  readonly signer: Signer;
  readonly scheduler: Scheduler;
  readonly random: Random;
  /** Most operations of one message. */
  readonly batchMax: number;
  /** True to trust peers of the settings by the fingerprints of their certificates, whoever signed them. */
  readonly pinnedOnly: boolean;
  readonly onEvent: (event: MeshEvent) => void;
  /** Operations of other nodes were given to a peer. */
  readonly relayed: (operations: number) => void;
}

/** As replication waits. */
const REQUEST_TIMEOUT_MS = 10_000;

/** Replication without a listener: this process calls its peers, and they do not call it. */
export class PeerExchange {
  readonly #peers: MeshPeers;
  readonly #mesh: Mesh;
  readonly #rosters: RosterExchange;
  readonly #relay: Relay;
  readonly #tellRemoval: () => void;
  readonly #scheduler: Scheduler;
  #watch: WatchedFiles | null = null;

  /** Throws StartRefusedError when the mesh's folder or a file of the settings cannot be used. */
  constructor(parts: PeerExchangeParts) {
    const { services, signer, scheduler, random, batchMax, pinnedOnly, onEvent, relayed: sent } = parts;
    const { settings, store, clock, log, peerId } = services;
    const seams = { ...services, scheduler, random };
    const peers = new MeshPeers({ ...seams, manual: openFileRoster(services), pinnedOnly });
    const { state, roster, transport } = peers;
    this.#peers = peers;
    this.#tellRemoval = removalTeller(state, peerId, log);
    this.#scheduler = scheduler;
    this.#rosters = new RosterExchange({
      ...{ state, roster, transport, clock, scheduler, log },
      sign: (request) => signMessage({ ...request, peerId, signer, random }),
    });
    const self = { peerId, signer };
    this.#relay = new Relay({
      ...{ ...seams, ...self, roster, batchMax, sent, intervalMs: settings.catchupIntervalMs },
      client: new PeerClient({ self, transport, clock, random, requestTimeoutMs: REQUEST_TIMEOUT_MS }),
    });
    this.#mesh = openMesh({
      self,
      ...{ store, roster, transport, clock, scheduler, random, log, onEvent },
      verifier: openVerifier(services, roster),
      settings: {
        quorumWrites: 0,
        quorumTimeoutMs: settings.quorumTimeoutMs,
        catchupIntervalMs: settings.catchupIntervalMs,
        pushBatchMax: batchMax,
        pullBatchMax: batchMax,
        logPollMs: CHANGE_POLL_MS,
      },
      policy: BACKGROUND_POLICY,
    });
  }

  start(): void {
    const { state, roster, wired } = this.#peers;
    this.#watch = followFolder(state, this.#scheduler);
    // A node that was removed is not called any more.
    roster.onChange(() => {
      this.#peers.keepMembers();
      this.#tellRemoval();
    });
    this.#tellRemoval();
    this.#mesh.start();
    this.#rosters.start();
    this.#relay.start();
    wired.start(roster);
  }

  status(): MeshStatus {
    return this.#mesh.status();
  }

  /** The addresses of the settings, and who answers there. */
  get wired(): readonly WiredPeer[] {
    return this.#peers.wired.list();
  }

  /** True where this node is a member of a mesh, whose members are called at their own addresses. */
  get isFormed(): boolean {
    return this.#peers.state.formed !== null;
  }

  /** Waits for what is being applied, and keeps how far each peer is. */
  async stop(): Promise<void> {
    this.#watch?.stop();
    this.#rosters.stop();
    this.#relay.stop();
    this.#peers.wired.stop();
    await this.#mesh.stop();
    this.#peers.unfollow();
    await this.#peers.close();
  }
}
