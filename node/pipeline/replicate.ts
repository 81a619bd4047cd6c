import { operationId } from '../../protocol/log/operation-log.js';
import type { Replication, Services } from './call.js';
import type { CallStore } from './call-store.js';

/** Fields in addition to the ordinary answer of a write whose quorum was missed (decisions, "quorum missed"). */
export const MISSED_FIELDS = ['quorum_met', 'acks', 'needed', 'reason', 'durability', 'op_id'] as const;

/** How a write replicated, as fields of its answer. */
type Replicated = Readonly<Record<string, unknown>>;

/**
 * Waits until the operations of a call are on enough nodes, and says what its answer reports of that: `quorum_acks` when
 * they are, otherwise that they are only here. The write stays either way, and is pushed to the other nodes (interface §4.13).
 */
export async function withQuorum(
  { appended }: Pick<CallStore, 'appended'>,
  replication: Replication,
  services: Pick<Services, 'clock'>,
  deadlineMs: number | undefined,
): Promise<Replicated> {
  if (appended.length === 0 || replication.quorumWrites === 0) return {};
  const untilMs = Math.min(
    services.clock.monotonicMs() + replication.quorumTimeoutMs,
    deadlineMs ?? Number.POSITIVE_INFINITY,
  );
  const outcomes = await Promise.all(
    appended.map(({ origin, first, last }) => replication.replicated(origin, first, last, untilMs)),
  );
  const least = outcomes.reduce((worst, each) => (each.acks < worst.acks ? each : worst));
  if (least.met) return { quorum_acks: least.acks };
  const { acks, needed, reason } = least;
  const missed = appended[outcomes.indexOf(least)]!;
  return {
    quorum_met: false,
    acks,
    needed,
    reason,
    durability: 'local',
    op_id: operationId(missed.origin, missed.last),
  };
}

/** The answer of a process without a daemon: its write did not wait for the quorum. */
export function onlyHere({ appended }: Pick<CallStore, 'appended'>, needed: number): Replicated {
  const last = appended.at(-1);
  if (last === undefined) return {};
  const op_id = operationId(last.origin, last.last);
  return { quorum_met: false, acks: 1, needed, reason: 'no_daemon', durability: 'local', op_id };
}
