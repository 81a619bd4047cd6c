import { z } from 'zod';
import { failed, ok } from '../../protocol/base/result.js';
import { addresseeOf, ownerOf } from '../../protocol/identity/owner.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import { contradictionQuestion } from '../operations/power/memory-detect-contradiction.js';
import type { JobWork } from './job-work.js';
import { editRead, memoryOfJob, similarMemories, textHash } from './memory-of-job.js';

const ANSWER = z.boolean();
/** So many ids are noted in a memory, the last ones. */
const NOTED_MAX = 20;
const KNOWN = z.array(z.string());

/**
 * Asks a model for each memory with a similar title whether a stored one contradicts it, and notes those that it does in its
 * metadata. Nothing else changes.
 */
export const comparePairs: JobWork<JobInput<'compare_pairs'>> = async (run, { memory_id: id }) => {
  const { services, deadlineMs, signal, caller } = run;
  const found = await memoryOfJob(run, id);
  if (!found.ok) return failed(found.error);
  const memory = found.value;
  if (memory === null) return ok({ skipped: 'the memory is gone' });
  const similar = await similarMemories(run, memory);
  if (!similar.ok) return failed(similar.error);
  const others = similar.value.filter((other) => isSeenAlike(memory, other));
  const confirmed: string[] = [];
  for (const other of others) {
    const step = `${textHash(run, memory)} and ${other.id} ${textHash(run, other)}`;
    const contradicts = await run.step(step, ANSWER, () =>
      services.models.ask(contradictionQuestion(memory, other), { deadlineMs, signal }),
    );
    if (!contradicts.ok) return failed(contradicts.error);
    if (contradicts.value) confirmed.push(other.id);
  }
  if (confirmed.length === 0) return ok({ compared: others.length, confirmed_contradictions: [] });
  const change = ({ metadata }: MemoryRow) => ({
    metadata: { ...metadata, confirmed_contradictions: withKnown(metadata, confirmed) },
  });
  // The text stays as its author wrote and signed it, so this write needs no signature.
  const edit = { name: 'contradictions', change, caller: { ...caller, local: true } };
  const noted = await editRead(run, memory, edit);
  if (!noted.ok) return failed(noted.error);
  const waits = noted.waits === true ? { pending_id: noted.value['pending_id'] } : {};
  return ok({ compared: others.length, confirmed_contradictions: confirmed, ...waits });
};

/** What the curator has found stays. */
const withKnown = (metadata: MemoryRow['metadata'], confirmed: readonly string[]): readonly string[] => {
  const known = KNOWN.safeParse(metadata['confirmed_contradictions']);
  return [...new Set([...(known.success ? known.data : []), ...confirmed])].slice(-NOTED_MAX);
};

const scopeOf = ({ metadata }: MemoryRow): unknown => metadata['scope'] ?? 'collective';

/** True when the same agents see both: what is noted in one tells of the other. */
export const isSeenAlike = (one: MemoryRow, other: MemoryRow): boolean =>
  scopeOf(one) === scopeOf(other) &&
  addresseeOf(one) === addresseeOf(other) &&
  (scopeOf(one) === 'collective' || ownerOf(one) === ownerOf(other));
