import { type Mesh, startMesh } from '../../actors/mesh/mesh.js';
import { errorRow } from '../../protocol/base/errors.js';
import { CHANGE_POLL_MS } from '../../protocol/base/limits.js';
import { fail } from '../../protocol/base/result.js';
import type { Random, Scheduler, Signer } from '../../protocol/base/seams.js';
import { CHAIN } from '../../protocol/chain.js';
import type { Verifier } from '../../protocol/replication/verifier.js';
import { HINTS_PATH } from '../../protocol/wire/hint.js';
import { signMessage } from '../../protocol/wire/message-signing.js';
import type { PeerRoute } from '../http/peer-route.js';
import { answerRaw } from '../http/server.js';
import type { Upgrade, UpgradeRoute } from '../http/upgrade.js';
import type { Metrics } from '../observability/metrics.js';
import type { FederationCondition, Replication, Services } from '../pipeline/call.js';
import { BACKGROUND_POLICY } from '../restart-policies.js';
import type { HintHub } from './hints/hint-hub.js';
import { MeshHost } from './mesh-host.js';
import type { OpenSurface } from './mesh-listener.js';
import { MeshPeers } from './mesh-peers.js';
import { openFileRoster, openReceiver, openVerifier } from './open-receiver.js';
import type { SyncReceiver } from './receive/sync-receiver.js';
import { commandRoutes, pullRoutes, rangesRoutes, syncRoutes } from './receive/sync-routes.js';

export interface MeshNodeParts {
  readonly services: Services;
  /** Signs messages and heads. */
  readonly signer: Signer;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly metrics: Metrics;
}

/** The mesh side of a daemon: the host that peers call, the receiver of their messages, and replication. */
export class MeshNode {
  readonly #parts: MeshNodeParts;
  readonly #host: MeshHost;
  #mesh: Mesh | null = null;
  readonly #receiver: SyncReceiver;
  readonly #verifier: Verifier;
  #closed = false;
  /** Resolved when replication has begun, or never will. */
  #begun!: () => void;
  readonly #whenBegun = new Promise<void>((resolve) => {
    this.#begun = resolve;
  });
  #hints: HintHub | null = null;

  constructor(parts: MeshNodeParts) {
    this.#parts = parts;
    const { services, metrics, scheduler, random } = parts;
    const manual = openFileRoster(services);
    const peers = new MeshPeers({ ...services, scheduler, random, manual });
    this.#verifier = openVerifier(services, peers.roster);
    const receiver = openReceiver(services, peers.roster, this.#verifier, metrics, {
      onContact: (peerId, have, reads) => this.#mesh?.contacted(peerId, have, reads),
      onDiffering: (peerId) => this.#mesh?.differing(peerId),
    });
    this.#receiver = receiver;
    this.#host = new MeshHost({
      ...services,
      scheduler,
      random,
      peers,
      signer: parts.signer,
      gate: (message) => receiver.admit(message),
      sign: (request) => signMessage({ ...request, ...services, signer: parts.signer, random }),
      hintLines: () => this.#hints?.connected ?? [],
      replicationStatus: () => this.#mesh?.status() ?? null,
      acknowledgements: (origin, seq) => this.#mesh?.acknowledgements(origin, seq) ?? [],
      syncRoutes: [syncRoutes, pullRoutes, rangesRoutes, commandRoutes].flatMap((routes) => routes(receiver)),
    });
  }

  get routes(): readonly PeerRoute[] {
    return this.#host.routes;
  }

  /** True for another node that belongs to the mesh now. */
  isMember(peerId: string): boolean {
    return this.#host.roster.find(peerId)?.state === 'member';
  }

  /** How the pipeline waits for other nodes. Writes that come before replication has begun wait for its beginning. */
  replication(): Replication {
    const { quorumWrites, quorumTimeoutMs } = this.#parts.services.settings;
    return {
      quorumWrites,
      quorumTimeoutMs,
      forward: (peerId, command) =>
        this.#mesh?.forward(peerId, command) ??
        Promise.resolve(
          fail('HOME_UNREACHABLE', `replication has not begun, so ${peerId} cannot be asked yet; try again`),
        ),
      commands: CHAIN.commands,
      accepting: () => this.#mesh?.accepting() ?? this.#closed,
      whenAccepting: async () => {
        await this.#whenBegun;
        await this.#mesh?.whenAccepting();
      },
      clockAheadMs: () => this.#mesh?.clockAheadMs() ?? 0,
      replicated: (origin, from, to, deadlineMs) =>
        this.#mesh?.replicated(origin, from, to, deadlineMs) ??
        Promise.resolve({ acks: 1, needed: quorumWrites, met: quorumWrites <= 1, reason: 'unreachable' }),
    };
  }

  /** Called once the store answers. `openSurface` makes the surface that peers call. */
  async start(openSurface: OpenSurface): Promise<void> {
    const { services, signer, scheduler, random, metrics } = this.#parts;
    const { settings, store, clock, log, peerId } = services;
    await this.#host.start(openSurface);
    this.#mesh = startMesh({
      self: { peerId, signer },
      store,
      roster: this.#host.roster,
      transport: this.#host.transport,
      verifier: this.#verifier,
      settings: {
        quorumWrites: settings.quorumWrites,
        quorumTimeoutMs: settings.quorumTimeoutMs,
        catchupIntervalMs: settings.catchupIntervalMs,
        pushBatchMax: settings.fedDlqReplayMaxBatch,
        logPollMs: CHANGE_POLL_MS,
        scrubIntervalMs: settings.scrubIntervalMs,
        payloadKeptMs: settings.payloadKeptMs,
        peersNamed: () => this.#host.wiredCount,
      },
      clock,
      scheduler,
      random,
      log,
      policy: BACKGROUND_POLICY,
      onEvent: (event) => metrics.mesh.event(event),
      onGrown: () => this.#hints?.grown(),
    });
    this.#begun();
    if (!settings.meshHints) return;
    // Only daemons load it.
    const { HintHub } = await import('./hints/hint-hub.js');
    if (this.#closed) return;
    this.#hints = new HintHub({
      peerId,
      signer,
      roster: this.#host.roster,
      transport: this.#host.transport,
      hinted: (from) => this.#mesh?.hint(from),
      news: (to) => this.#mesh?.news(to) ?? null,
      clock,
      scheduler,
      random,
      log,
    });
  }

  /** The route for hints, for the listener of peers; null without replication. */
  get upgrade(): UpgradeRoute | null {
    const { settings } = this.#parts.services;
    return settings.meshHints ? { path: HINTS_PATH, take: (upgrade) => this.#take(upgrade) } : null;
  }

  /** True when peers may call the node's own API: it is wired, or a peer is enrolled by hand. */
  get callsAtApi(): boolean {
    const { quorumPeers, mtlsAllowlist } = this.#parts.services.settings;
    return quorumPeers.length > 0 || mtlsAllowlist !== null || this.#host.roster.peers().length > 0;
  }

  #take(upgrade: Upgrade): void {
    this.#takeLine(upgrade).catch((error: unknown) => {
      this.#parts.services.log.error({ err: error }, 'a line for hints could not be opened');
      upgrade.socket.destroy();
    });
  }

  async #takeLine({ request, socket, head, message }: Upgrade): Promise<void> {
    const peer = await this.#receiver.admit(message);
    if (!peer.ok) return answerRaw(socket, errorRow(peer.error.code).http, peer.error);
    if (this.#hints === null) {
      return answerRaw(socket, 503, { code: 'UNAVAILABLE', message: 'this node is not ready for hints' });
    }
    this.#hints.accept(peer.value.peerId, request, socket, head);
  }

  /** A damaged row was found: it is repaired now. */
  suspected(): void {
    this.#mesh?.rows.suspected();
  }

  /** Updates the gauges; a node without peers has none. */
  gauge(): void {
    if (this.#mesh === null || (this.#host.roster.peers().length === 0 && this.#host.wiredCount === 0))
      return;
    const { mesh } = this.#parts.metrics;
    mesh.status(this.#mesh.status());
    const { certificate_expires: ends, wired } = this.#host.status();
    mesh.host(
      ends === null ? null : Date.parse(ends),
      wired.filter(({ state }) => state !== 'attached').length,
    );
  }

  /** The state of replication, for capabilities. */
  condition(): FederationCondition {
    const status = this.#mesh?.status();
    const { quorumWrites } = this.#parts.services.settings;
    const peers = status?.peers ?? [];
    return {
      enabled: peers.length > 0 || this.#host.wiredCount > 0 || this.#host.state.formed !== null,
      peers: peers.length,
      healthy: peers.filter(({ state }) => state === 'healthy').length,
      quorum: status?.quorum ?? { configured: quorumWrites, needed: 1, members: 1 },
      accepting_writes: status?.accepting ?? true,
      lag_operations_max: Math.max(0, ...peers.map(({ lagOperations }) => lagOperations)),
      under_replicated: status?.underReplicated ?? 0,
      dlq_depth: status?.dlqDepth ?? 0,
      quarantined: status?.quarantined ?? 0,
    };
  }

  drain(graceMs: number): Promise<void> {
    this.#closed = true;
    this.#hints?.stop();
    return this.#host.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#begun();
    this.#hints?.stop();
    await this.#mesh?.stop();
    await this.#host.close();
  }
}
