import { type Mesh, startMesh } from '../../actors/mesh/mesh.js';
import { CHANGE_POLL_MS } from '../../protocol/limits.js';
import type { Random, Scheduler, Signer } from '../../protocol/seams.js';
import type { ListenerTls } from '../http/listener-tls.js';
import type { PeerRoute } from '../http/peer-route.js';
import type { HttpSurface } from '../http/server.js';
import type { Metrics } from '../observability/metrics.js';
import type { Replication, Services } from '../pipeline/call.js';
import { BACKGROUND_POLICY } from '../runtime/policies.js';
import { MeshHost } from './mesh-host.js';
import { openFileRoster, openReceiver } from './open-receiver.js';
import type { SyncReceiver } from './receive/sync-receiver.js';
import { syncRoutes } from './receive/sync-routes.js';

export interface MeshNodeParts {
  readonly services: Services;
  /** Signs messages and heads. */
  readonly signer: Signer;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly openSurface: (tls: ListenerTls, routes: readonly PeerRoute[]) => HttpSurface;
}

/** All of the mesh that a daemon has: the host that peers talk to, the receiver of their messages, and replication. */
export class MeshNode {
  readonly #parts: MeshNodeParts;
  readonly #host: MeshHost;
  #mesh: Mesh | null = null;
  #receiver: SyncReceiver | null = null;
  #closed = false;
  /** Replication has begun, or never will. */
  #begun!: () => void;
  readonly #whenBegun = new Promise<void>((resolve) => {
    this.#begun = resolve;
  });

  constructor(parts: MeshNodeParts) {
    this.#parts = parts;
    const { services, metrics } = parts;
    this.#host = new MeshHost({
      ...services,
      scheduler: parts.scheduler,
      random: parts.random,
      manual: openFileRoster(services),
      openSurface: parts.openSurface,
      replicationStatus: () => this.#mesh?.status() ?? null,
      syncRoutes: (roster) => {
        this.#receiver = openReceiver(services, roster, metrics, {
          onHeard: (peerId, have, reads) => this.#mesh?.heard(peerId, have, reads),
        });
        return syncRoutes(this.#receiver);
      },
    });
  }

  get routes(): readonly PeerRoute[] {
    return this.#host.routes;
  }

  /** How the pipeline waits for other nodes. Writes that come before replication has begun wait for that. */
  replication(): Replication {
    const { quorumWrites, quorumTimeoutMs } = this.#parts.services.settings;
    return {
      quorumWrites,
      quorumTimeoutMs,
      accepting: () => this.#mesh?.accepting() ?? this.#closed,
      whenAccepting: async () => {
        await this.#whenBegun;
        await this.#mesh?.whenAccepting();
      },
      replicated: (origin, from, to, deadlineMs) =>
        this.#mesh?.replicated(origin, from, to, deadlineMs) ??
        Promise.resolve({ acks: 1, needed: quorumWrites, met: quorumWrites <= 1, reason: 'unreachable' }),
    };
  }

  /** Once the store answers. */
  async start(): Promise<void> {
    const { services, signer, scheduler, random, metrics } = this.#parts;
    const { settings, store, clock, log, peerId } = services;
    await this.#host.start();
    this.#mesh = startMesh({
      self: { peerId, signer },
      store,
      roster: this.#host.roster,
      transport: this.#host.transport,
      apply: (page, from) => this.#receiver!.take(page, from),
      settings: {
        quorumWrites: settings.quorumWrites,
        quorumTimeoutMs: settings.quorumTimeoutMs,
        catchupIntervalMs: settings.catchupIntervalMs,
        pushBatchMax: settings.fedDlqReplayMaxBatch,
        logPollMs: CHANGE_POLL_MS,
      },
      clock,
      scheduler,
      random,
      log,
      policy: BACKGROUND_POLICY,
      onEvent: (event) => metrics.mesh.event(event),
    });
    this.#begun();
  }

  /** Brings the gauges up to date; a node without peers has none. */
  gauge(): void {
    if (this.#mesh === null || this.#host.roster.peers().length === 0) return;
    this.#parts.metrics.mesh.status(this.#mesh.status());
  }

  /** Acknowledgements of an own operation, one line for each node; none before replication has begun. */
  acknowledgements(origin: string, seq: number) {
    return this.#mesh?.acknowledgements(origin, seq) ?? [];
  }

  drain(graceMs: number): Promise<void> {
    return this.#host.drain(graceMs);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#begun();
    await this.#mesh?.stop();
    await this.#host.close();
  }
}
