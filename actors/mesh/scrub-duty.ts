import type { Clock, Log } from '../../protocol/base/seams.js';
import { parseRfc3339Ms } from '../../protocol/base/time.js';
import type { Store } from '../../storage/port.js';
import type { NextRound } from '../core/loop.js';
import { type ScrubParts, type ScrubReport, scrub } from '../maintenance/scrub.js';
import type { MeshEvent } from './parts.js';

export interface ScrubDutyParts extends Omit<ScrubParts, 'dryRun'> {
  readonly clock: Clock;
  readonly log: Log;
  /** Between two scrubs; 0 disables them. */
  readonly intervalMs: number;
  readonly agentId: string;
  readonly onEvent: ((event: MeshEvent) => void) | undefined;
}

const LOOK_MS = 60_000;

/** Scrubs when the last scrub of this database, by any process, is long ago. */
export async function scrubDuty(parts: ScrubDutyParts): Promise<NextRound> {
  const { store, clock, log, intervalMs, onEvent, agentId } = parts;
  const notes = await store.query({ kind: 'integrity-notes' }, { lane: 'background' });
  if (!notes.ok) return { afterMs: LOOK_MS };
  const lastMs = parseRfc3339Ms(notes.value.scrub?.at ?? '');
  if (lastMs === null) {
    // A database without a scrub is new, or comes from a release without scrubs: do not scrub first thing at a start.
    await noteScrub(store, { first: true }, null);
    return { afterMs: LOOK_MS };
  }
  if (clock.nowMs() - lastMs < intervalMs) return { afterMs: LOOK_MS };
  const done = await scrub({ ...parts, dryRun: false });
  if (!done.ok) {
    log.warn({ code: done.error.code }, 'the scrub ended early; it is tried again');
    return { afterMs: LOOK_MS };
  }
  const report = done.value;
  if (!report.complete) return { afterMs: LOOK_MS };
  await noteScrub(store, factsOf(report), agentId);
  const problems = problemsOf(report);
  onEvent?.({ kind: 'scrubbed', problems, lost: report.lost_count });
  if (problems > 0) log.error({ code: 'SCRUB_FOUND_DAMAGE', ...factsOf(report) }, 'the scrub found damage');
  else log.info({ rows: report.rows, operations: report.operations }, 'the scrub found no damage');
  return { afterMs: LOOK_MS };
}

/** The number of all findings. */
export function problemsOf(report: ScrubReport): number {
  return (
    report.repaired.length +
    report.damaged_operations +
    report.digests.length +
    report.suspects +
    report.engine.length +
    report.lost_count
  );
}

/** The part of a report that is stored: numbers and ids, no content of memories. */
export function factsOf(report: ScrubReport): Readonly<Record<string, unknown>> {
  const { repaired, digests, complete: _, ...counts } = report;
  return {
    ...counts,
    repaired: repaired.length,
    repaired_subjects: repaired.slice(0, SHOWN).map(({ subject, problem }) => `${problem} ${subject}`),
    digests: digests.length,
  };
}

const SHOWN = 20;

/** Records a scrub; with `agentId` in the audit chain as well. */
export function noteScrub(
  store: Store,
  facts: Readonly<Record<string, unknown>>,
  agentId: string | null,
): ReturnType<typeof store.execute> {
  const audit = agentId === null ? null : { agentId, type: 'storage.scrubbed' };
  return store.execute({ kind: 'note-integrity', name: 'scrub', facts, audit }, { lane: 'background' });
}
