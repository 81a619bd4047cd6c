import * as limits from '../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Log } from '../../protocol/base/seams.js';
import type { Subject } from '../../protocol/kinds/kind.js';
import { operationId } from '../../protocol/log/operation-log.js';
import type { Suspect } from '../../protocol/replication/repair-queries.js';
import type { RepairedRow } from '../../protocol/replication/repair-subjects.js';
import type { NextRound } from '../core/loop.js';
import { type AskBack, type RowRepair, repairRows } from './repair-rows.js';

export interface SuspectParts extends RowRepair {
  /** Asks the peers for operations. */
  readonly askBack: AskBack;
}

/** The outcome of a repair of suspects. */
export interface SuspectReport {
  readonly repaired: readonly RepairedRow[];
  /** Subjects that stay suspect. */
  readonly left: readonly Subject[];
}

/** Most suspects examined together. */
export const SUSPECTS_MAX = 1000;

/**
 * Repairs damaged rows from the own log, and from peers where the own log lost operations. A row without any history in
 * a log stays suspect, and commands about it fail.
 */
export async function repairSuspects(
  parts: SuspectParts,
  suspects: readonly Suspect[],
): Promise<Result<SuspectReport>> {
  const repaired: RepairedRow[] = [];
  const left: Subject[] = [];
  for (let at = 0; at < suspects.length; at += limits.REPAIR_SUBJECTS_MAX) {
    const done = await repairSome(parts, suspects.slice(at, at + limits.REPAIR_SUBJECTS_MAX));
    if (!done.ok) return done;
    repaired.push(...done.value.repaired);
    left.push(...done.value.left);
  }
  return ok({ repaired, left });
}

async function repairSome(parts: SuspectParts, suspects: readonly Suspect[]): Promise<Result<SuspectReport>> {
  const { store, askBack } = parts;
  const request = { operations: [], withheld: [], recount: [], dryRun: false };
  const subjects = suspects.map(({ subject }) => subject);
  const own = await repairRows(parts, { ...request, subjects });
  if (!own.ok) return failed(own.error);
  let { missing } = own.value;
  const repaired = [...own.value.repaired];
  if (missing.length > 0) {
    const operations = await askBack(missing.slice(0, limits.RANGE_OPERATIONS_MAX));
    const wanting = missing.map(({ kind, subject: id }) => ({ kind, id }));
    const again = await repairRows(parts, { ...request, subjects: wanting, operations });
    if (!again.ok) return failed(again.error);
    ({ missing } = again.value);
    repaired.push(...again.value.repaired);
  }
  const lost = new Map<string, Subject>();
  for (const { origin, seq, kind, subject: id } of missing) {
    const stored = await store.query(
      { kind: 'find-operation', opId: operationId(origin, seq) },
      { lane: 'background' },
    );
    if (!stored.ok) return failed(stored.error);
    // An operation that came without its payload never had an effect here.
    if (stored.value === null || stored.value.parked === null) lost.set(nameOf({ kind, id }), { kind, id });
  }
  const settled = await store.execute(
    { kind: 'settle-suspects', subjects: subjects.filter((subject) => !lost.has(nameOf(subject))) },
    { lane: 'background' },
  );
  return settled.ok ? ok({ repaired, left: [...lost.values()] }) : failed(settled.error);
}

/** Between two checks for suspects; a new one wakes the loop, but other processes mark some too. */
const LOOK_MS = 10_000;
/** A row that could not be repaired is tried again after this, however often a caller asks. */
const REST_MS = 30_000;

export interface SuspectsJobParts extends SuspectParts {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly log: Log;
}

/** The background repair of rows that commands and queries found damaged. */
export class SuspectsJob {
  /** Monotonic instants. */
  private readonly restUntilMs = new Map<string, number>();

  constructor(private readonly parts: SuspectsJobParts) {}

  async round(): Promise<NextRound> {
    const { store, clock, log } = this.parts;
    const listed = await store.query({ kind: 'list-suspects', limit: SUSPECTS_MAX }, { lane: 'background' });
    if (!listed.ok) return { afterMs: LOOK_MS };
    const nowMs = clock.monotonicMs();
    for (const [subject, untilMs] of this.restUntilMs) if (untilMs <= nowMs) this.restUntilMs.delete(subject);
    const due = listed.value.suspects.filter(({ subject }) => !this.restUntilMs.has(nameOf(subject)));
    if (due.length === 0) return { afterMs: LOOK_MS };
    const done = await repairSuspects(this.parts, due);
    if (!done.ok) {
      log.warn({ code: done.error.code }, 'damaged rows could not be repaired yet');
      return { afterMs: LOOK_MS };
    }
    const { repaired, left } = done.value;
    for (const subject of left) this.restUntilMs.set(nameOf(subject), clock.monotonicMs() + REST_MS);
    if (repaired.length > 0)
      log.warn(
        { code: 'DAMAGE_REPAIRED', rows: shown(repaired.map(({ kind, subject: id }) => ({ kind, id }))) },
        REPAIRED,
      );
    if (left.length > 0) log.error({ code: 'DAMAGE_LEFT', rows: shown(left) }, LEFT);
    return { afterMs: LOOK_MS };
  }

  /** A peer is back that may have missing operations. */
  retry(): void {
    this.restUntilMs.clear();
  }
}

const REPAIRED = 'damaged rows were repaired';
const LEFT = 'damaged rows could not be repaired: no log that can be reached has their history';
const SHOWN = 20;
const nameOf = ({ kind, id }: Subject): string => `${kind} ${id}`;
const shown = (subjects: readonly Subject[]) => subjects.slice(0, SHOWN).map(nameOf);
