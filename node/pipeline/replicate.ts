import { ok, type Result } from '../../protocol/base/result.js';
import { operationId } from '../../protocol/log/operation-log.js';
import type { Replication, Services } from './call.js';
import type { CallStore } from './call-store.js';
import { waitsForApproval } from './governed-store.js';

/** Fields in addition to the ordinary answer of a write whose quorum was missed (decisions, "quorum missed"). */
export const MISSED_FIELDS = ['quorum_met', 'acks', 'needed', 'reason', 'durability', 'op_id'] as const;

/** The answer in the shape of a surface. A shape drops fields that it does not know, but not how a write replicated. */
export function shapedAnswer(
  shape: ((answer: Record<string, unknown>) => Record<string, unknown>) | undefined,
  answer: Record<string, unknown>,
): Record<string, unknown> {
  if (shape === undefined || waitsForApproval(answer)) return answer;
  if (answer['quorum_acks'] !== undefined) return { ...shape(answer), quorum_acks: answer['quorum_acks'] };
  if (answer['quorum_met'] !== false) return shape(answer);
  return { ...shape(answer), ...Object.fromEntries(MISSED_FIELDS.map((field) => [field, answer[field]])) };
}

/**
 * Waits until the operations of a call are on enough nodes, and reports that in its answer: `quorum_acks` when they are,
 * otherwise that they are only here. The write stays either way, and is pushed to the other nodes (interface §4.13).
 */
export async function withQuorum(
  answer: Record<string, unknown>,
  { appended }: Pick<CallStore, 'appended'>,
  replication: Replication,
  services: Pick<Services, 'clock'>,
  deadlineMs: number | undefined,
): Promise<Result<Record<string, unknown>>> {
  if (appended.length === 0 || replication.quorumWrites === 0) return ok(answer);
  const untilMs = Math.min(
    services.clock.monotonicMs() + replication.quorumTimeoutMs,
    deadlineMs ?? Number.POSITIVE_INFINITY,
  );
  const outcomes = await Promise.all(
    appended.map(({ origin, first, last }) => replication.replicated(origin, first, last, untilMs)),
  );
  const least = outcomes.reduce((worst, each) => (each.acks < worst.acks ? each : worst));
  if (least.met) return ok({ ...answer, quorum_acks: least.acks });
  const { acks, needed, reason } = least;
  const missed = appended[outcomes.indexOf(least)]!;
  return ok({
    ...answer,
    quorum_met: false,
    acks,
    needed,
    reason,
    durability: 'local',
    op_id: operationId(missed.origin, missed.last),
  });
}

/** The answer of a process that writes without a daemon, so nobody waited for the quorum. */
export function onlyHere(
  answer: Record<string, unknown>,
  { appended }: Pick<CallStore, 'appended'>,
  needed: number,
): Record<string, unknown> {
  const last = appended.at(-1);
  if (last === undefined) return answer;
  const op_id = operationId(last.origin, last.last);
  return { ...answer, quorum_met: false, acks: 1, needed, reason: 'no_daemon', durability: 'local', op_id };
}
