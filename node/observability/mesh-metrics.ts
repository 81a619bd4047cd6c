import { Counter, Gauge, type Registry } from 'prom-client';
import type { MeshEvent, MeshStatus } from '../../actors/mesh/parts.js';

/** What a node counts of replication; peers are labels, of which a mesh has few. */
export class MeshMetrics {
  readonly #peers: Readonly<Record<'up' | 'lagOperations' | 'lagSeconds' | 'skew', Gauge<'peer'>>>;
  readonly #dlqDepth: Gauge;
  readonly #quarantinedPeers: Gauge;
  readonly #underReplicated: Gauge;
  readonly #pushed: Counter<'peer'>;
  readonly #pulled: Counter<'peer'>;
  readonly #failures: Counter<'peer' | 'cause'>;
  readonly #quorums: Counter<'outcome'>;
  readonly #quarantines: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    const perPeer = (name: string, help: string) =>
      new Gauge({ name, help, labelNames: ['peer'] as const, registers });
    this.#peers = {
      up: perPeer('svc_peer_up', '1 when the last message to the peer was answered'),
      lagOperations: perPeer('svc_peer_lag_operations', 'Own operations that the peer lacks'),
      lagSeconds: perPeer('svc_peer_lag_seconds', 'Age of the oldest own operation that the peer lacks'),
      skew: perPeer('svc_peer_clock_skew_ms', "The peer's clock minus this one's"),
    };
    const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
    this.#dlqDepth = gauge('svc_federation_push_dlq_depth', 'Operations owed to peers after a failure');
    this.#quarantinedPeers = gauge('svc_peers_quarantined', 'Peers whose deliveries rest');
    this.#underReplicated = gauge('svc_operations_under_replicated', 'Own operations on fewer nodes than W');
    const byPeer = (name: string, help: string) =>
      new Counter({ name, help, labelNames: ['peer'] as const, registers });
    this.#pushed = byPeer('svc_operations_pushed_total', 'Own operations that a peer took');
    this.#pulled = byPeer('svc_operations_pulled_total', 'Operations taken from a peer');
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
      help: 'Times that deliveries to a peer were put aside',
      registers,
    });
  }

  /** Takes what happened; for `MeshParts.onEvent`. */
  event(event: MeshEvent): void {
    if (event.kind === 'pushed') this.#pushed.inc({ peer: event.peerId }, event.operations);
    if (event.kind === 'pulled') this.#pulled.inc({ peer: event.peerId }, event.operations);
    if (event.kind === 'push-failed') this.#failures.inc({ peer: event.peerId, cause: event.cause });
    if (event.kind === 'quorum') this.#quorums.inc({ outcome: event.met ? 'met' : 'missed' });
    if (event.kind === 'quarantined') this.#quarantines.inc();
  }

  /** Takes how replication stands, every now and then. */
  status({ peers, dlqDepth, quarantined, underReplicated }: MeshStatus): void {
    // A peer that left is no label any more.
    for (const each of Object.values(this.#peers)) each.reset();
    for (const { peerId: peer, state, lagOperations, lagSeconds, skewMs } of peers) {
      this.#peers.up.set({ peer }, state === 'healthy' ? 1 : 0);
      this.#peers.lagOperations.set({ peer }, lagOperations);
      this.#peers.lagSeconds.set({ peer }, lagSeconds);
      if (skewMs !== null) this.#peers.skew.set({ peer }, skewMs);
    }
    this.#dlqDepth.set(dlqDepth);
    this.#quarantinedPeers.set(quarantined);
    this.#underReplicated.set(underReplicated);
  }
}
