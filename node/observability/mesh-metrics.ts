import { Counter, Gauge, type Registry } from 'prom-client';
import type { MeshEvent, MeshStatus } from '../../actors/mesh/parts.js';

/** What a node counts about replication; peers are labels, and a mesh has few of them. */
export class MeshMetrics {
  readonly #peers: Readonly<
    Record<'up' | 'lagOperations' | 'lagSeconds' | 'skew' | 'dlq' | 'quarantined', Gauge<'peer'>>
  >;
  readonly #quorum: Readonly<Record<'configured' | 'needed' | 'members', Gauge>>;
  readonly #accepting: Gauge;
  readonly #astray: Gauge;
  readonly #registry: Registry;
  #certificate: Gauge | null = null;
  readonly #dlqDepth: Gauge;
  readonly #quarantinedPeers: Gauge;
  readonly #underReplicated: Gauge;
  readonly #pushed: Counter<'peer'>;
  readonly #pulled: Counter<'peer'>;
  readonly #failures: Counter<'peer' | 'cause'>;
  readonly #quorums: Counter<'outcome'>;
  readonly #quarantines: Counter;
  readonly #diverged: Gauge;
  readonly #comparisons: Counter<'outcome'>;
  readonly #repaired: Counter;
  readonly #scrubFound: Gauge;
  readonly #scrubLost: Gauge;

  constructor(registry: Registry) {
    this.#registry = registry;
    const registers = [registry];
    const perPeer = (name: string, help: string) =>
      new Gauge({ name, help, labelNames: ['peer'] as const, registers });
    this.#peers = {
      up: perPeer('svc_peer_up', '1 when the last message to the peer was answered'),
      lagOperations: perPeer('svc_peer_lag_operations', 'Own operations that the peer lacks'),
      lagSeconds: perPeer('svc_peer_lag_seconds', 'Age of the oldest own operation that the peer lacks'),
      skew: perPeer('svc_peer_clock_skew_ms', "The peer's clock minus this one's"),
      dlq: perPeer(
        'svc_peer_dlq_depth',
        'Operations owed to the peer after a failure, or without effect there',
      ),
      quarantined: perPeer('svc_peer_quarantined', '1 while deliveries to the peer are suspended'),
    };
    const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
    this.#quorum = {
      configured: gauge('svc_quorum_configured', 'Nodes that a write should be on, as configured'),
      needed: gauge('svc_quorum_needed', 'Nodes that a write waits for: no more than the mesh has'),
      members: gauge('svc_mesh_members', 'Nodes of the mesh, this one included'),
    };
    this.#accepting = gauge(
      'svc_mesh_accepting_writes',
      '0 while writes wait for operations that this database lost',
    );
    this.#astray = gauge(
      'svc_mesh_addresses_astray',
      'Addresses of --quorum-peers at which no enrolled peer answers',
    );
    this.#dlqDepth = gauge('svc_federation_push_dlq_depth', 'Operations owed to peers after a failure');
    this.#quarantinedPeers = gauge('svc_peers_quarantined', 'Peers to which deliveries are suspended');
    this.#underReplicated = gauge('svc_operations_under_replicated', 'Own operations on fewer nodes than W');
    this.#diverged = gauge('svc_mesh_diverged_peers', 'Peers whose rows differ and could not be repaired');
    this.#scrubFound = gauge('svc_scrub_found', 'Damaged items that the last scrub found, repaired or not');
    this.#scrubLost = gauge('svc_scrub_lost_operations', 'Operations that the last scrub could not recover');
    this.#comparisons = new Counter({
      name: 'svc_anti_entropy_total',
      help: 'Comparisons of the rows with a peer, by outcome',
      labelNames: ['outcome'] as const,
      registers,
    });
    this.#repaired = new Counter({
      name: 'svc_rows_repaired_total',
      help: 'Rows and digests that did not match the log',
      registers,
    });
    const byPeer = (name: string, help: string) =>
      new Counter({ name, help, labelNames: ['peer'] as const, registers });
    this.#pushed = byPeer('svc_operations_pushed_total', 'Own operations that a peer accepted');
    this.#pulled = byPeer('svc_operations_pulled_total', 'Operations accepted from a peer');
    this.#failures = new Counter({
      name: 'svc_push_failures_total',
      help: 'Failed deliveries, by peer and cause',
      labelNames: ['peer', 'cause'] as const,
      registers,
    });
    this.#quorums = new Counter({
      name: 'svc_quorum_total',
      help: 'Writes that waited for a quorum, by outcome',
      labelNames: ['outcome'] as const,
      registers,
    });
    this.#quarantines = new Counter({
      name: 'svc_federation_push_dlq_quarantined_total',
      help: 'Times that deliveries to a peer were suspended',
      registers,
    });
  }

  /** Counts an event; for `MeshParts.onEvent`. */
  event(event: MeshEvent): void {
    if (event.kind === 'pushed') this.#pushed.inc({ peer: event.peerId }, event.operations);
    if (event.kind === 'pulled') this.#pulled.inc({ peer: event.peerId }, event.operations);
    if (event.kind === 'push-failed') this.#failures.inc({ peer: event.peerId, cause: event.cause });
    if (event.kind === 'quorum') this.#quorums.inc({ outcome: event.met ? 'met' : 'missed' });
    if (event.kind === 'scrubbed') {
      this.#scrubFound.set(event.problems);
      this.#scrubLost.set(event.lost);
    }
    if (event.kind === 'compared') {
      this.#comparisons.inc({ outcome: event.comparison });
      this.#repaired.inc(event.repaired);
    }
    if (event.kind === 'quarantined') this.#quarantines.inc();
  }

  /** Takes the state of replication, at intervals. */
  status({ peers, dlqDepth, quarantined, underReplicated, diverged, quorum, accepting }: MeshStatus): void {
    // A peer that left is no longer a label.
    for (const each of Object.values(this.#peers)) each.reset();
    for (const { peerId: peer, state, lagOperations, lagSeconds, skewMs, dlq, quarantined: rests } of peers) {
      this.#peers.up.set({ peer }, state === 'healthy' ? 1 : 0);
      this.#peers.lagOperations.set({ peer }, lagOperations);
      this.#peers.lagSeconds.set({ peer }, lagSeconds);
      if (skewMs !== null) this.#peers.skew.set({ peer }, skewMs);
      this.#peers.dlq.set({ peer }, dlq);
      this.#peers.quarantined.set({ peer }, rests ? 1 : 0);
    }
    this.#diverged.set(diverged);
    for (const name of ['configured', 'needed', 'members'] as const) this.#quorum[name].set(quorum[name]);
    this.#accepting.set(accepting ? 1 : 0);
    this.#dlqDepth.set(dlqDepth);
    this.#quarantinedPeers.set(quarantined);
    this.#underReplicated.set(underReplicated);
  }
  /** Takes the end of this node's mesh certificate, if it has one, and the addresses without a peer. */
  host(certificateEndsMs: number | null, astray: number): void {
    this.#astray.set(astray);
    if (certificateEndsMs === null) return;
    this.#certificate ??= new Gauge({
      name: 'svc_mesh_certificate_expires_timestamp_seconds',
      help: "When this node's certificate ends, in Unix seconds",
      registers: [this.#registry],
    });
    this.#certificate.set(certificateEndsMs / 1000);
  }
}
