import type { Commits } from '../../actors/core/commits.js';
import { type Mesh, openMesh } from '../../actors/mesh/mesh.js';
import { errorRow } from '../../protocol/base/errors.js';
import { CHANGE_POLL_MS } from '../../protocol/base/limits.js';
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
import { HintHub } from './hints/hint-hub.js';
import { MeshHost } from './mesh-host.js';
import type { OpenSurface } from './mesh-listener.js';
import type { MeshPeers } from './mesh-peers.js';
import { openReceiver, openVerifier } from './open-receiver.js';
import type { SyncReceiver } from './receive/sync-receiver.js';
import { commandRoutes, pullRoutes, rangesRoutes, syncRoutes } from './receive/sync-routes.js';

export interface MeshNodeParts {
  readonly services: Services;
  readonly peers: MeshPeers;
  /** Signs messages and heads. */
  readonly signer: Signer;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly commits: Commits;
}

/** The mesh side of a daemon: the host that peers call, the receiver of their messages, and replication. */
export class MeshNode {
  /** How the pipeline waits for other nodes. Writes that come before replication has begun wait for its beginning. */
  readonly replication: Replication;
  readonly #parts: MeshNodeParts;
  readonly #mesh: Mesh;
  /** Null where the operator wants no hints. */
  readonly #hints: HintHub | null;
  readonly #receiver: SyncReceiver;
  readonly #host: MeshHost;
  #closed = false;

  constructor(parts: MeshNodeParts) {
    this.#parts = parts;
    const { services, peers, signer, scheduler, random, metrics } = parts;
    const { settings } = services;
    const { roster, transport } = peers;
    const verifier = openVerifier(services, roster);
    const mesh = replicationOf(parts, verifier);
    const hints = settings.meshHints
      ? new HintHub({ ...services, signer, roster, transport, mesh, scheduler, random })
      : null;
    const receiver = openReceiver(services, roster, verifier, metrics, {
      onContact: (peerId, have, reads) => mesh.contacted(peerId, have, reads),
      onDiffering: (peerId) => mesh.differing(peerId),
    });
    this.#mesh = mesh;
    this.#hints = hints;
    this.#receiver = receiver;
    this.#host = new MeshHost({
      ...services,
      scheduler,
      random,
      peers,
      signer,
      gate: (message) => receiver.admit(message),
      sign: (request) => signMessage({ ...request, ...services, signer, random }),
      hintLines: () => hints?.connected ?? [],
      replicationStatus: () => mesh.status(),
      acknowledgements: (origin, seq) => mesh.acknowledgements(origin, seq),
      syncRoutes: [syncRoutes, pullRoutes, rangesRoutes, commandRoutes].flatMap((routes) => routes(receiver)),
    });
    const { quorumWrites, quorumTimeoutMs } = settings;
    this.replication = {
      quorumWrites,
      quorumTimeoutMs,
      commands: CHAIN.commands,
      forward: (peerId, command) => mesh.forward(peerId, command),
      accepting: () => mesh.accepting(),
      whenAccepting: () => mesh.whenAccepting(),
      clockAheadMs: () => mesh.clockAheadMs(),
      replicated: (origin, from, to, deadlineMs) => mesh.replicated(origin, from, to, deadlineMs),
    };
  }

  get routes(): readonly PeerRoute[] {
    return this.#host.routes;
  }

  /** Called once the store answers. `openSurface` makes the surface that peers call. */
  async start(openSurface: OpenSurface): Promise<void> {
    await this.#host.start(openSurface);
    if (this.#closed) return;
    this.#mesh.start();
    this.#hints?.start();
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
    if (this.#hints?.running !== true) {
      return answerRaw(socket, 503, { code: 'UNAVAILABLE', message: 'this node is not ready for hints' });
    }
    this.#hints.accept(peer.value.peerId, request, socket, head);
  }

  /** A damaged row was found: it is repaired now. */
  suspected(): void {
    this.#mesh.rows.suspected();
  }

  /** Updates the gauges; a node without peers has none. */
  gauge(): void {
    if (this.#host.roster.peers().length === 0 && this.#host.wiredCount === 0) return;
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
    const status = this.#mesh.status();
    const { peers } = status;
    return {
      enabled: peers.length > 0 || this.#host.wiredCount > 0 || this.#host.state.formed !== null,
      peers: peers.length,
      healthy: peers.filter(({ state }) => state === 'healthy').length,
      quorum: status.quorum,
      accepting_writes: status.accepting,
      lag_operations_max: Math.max(0, ...peers.map(({ lagOperations }) => lagOperations)),
      under_replicated: status.underReplicated,
      dlq_depth: status.dlqDepth,
      quarantined: status.quarantined,
    };
  }

  drain(graceMs: number): Promise<void> {
    this.#closed = true;
    this.#hints?.stop();
    return this.#host.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#hints?.stop();
    await this.#mesh.stop();
    await this.#host.close();
  }
}

function replicationOf(
  { services, peers, signer, scheduler, random, metrics, commits }: MeshNodeParts,
  verifier: Verifier,
): Mesh {
  const { settings, store, clock, log, peerId } = services;
  const { roster, transport, wired } = peers;
  return openMesh({
    self: { peerId, signer },
    store,
    roster,
    transport,
    verifier,
    settings: {
      quorumWrites: settings.quorumWrites,
      quorumTimeoutMs: settings.quorumTimeoutMs,
      catchupIntervalMs: settings.catchupIntervalMs,
      pushBatchMax: settings.fedDlqReplayMaxBatch,
      logPollMs: CHANGE_POLL_MS,
      scrubIntervalMs: settings.scrubIntervalMs,
      payloadKeptMs: settings.payloadKeptMs,
      peersNamed: () => Math.max(wired.count, roster.lostMembers),
    },
    clock,
    scheduler,
    random,
    log,
    commits,
    policy: BACKGROUND_POLICY,
    onEvent: (event) => metrics.mesh.event(event),
  });
}
