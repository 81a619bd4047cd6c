import { z } from 'zod';
import { failed, ok } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import { tagQuestion } from '../operations/power/tag-question.js';
import type { JobWork } from './job-work.js';
import { editRead, memoryOfJob, textHash } from './memory-of-job.js';

const TAGS = z.array(z.string());

/**
 * Has a model tag a memory after its store. The tags stand in its metadata, beside those of its author: a memory with
 * `auto_tags` has been curated (reference-gaps §8), also by this job before its process was killed.
 */
export const autoTag: JobWork<JobInput<'auto_tag'>> = async (run, { memory_id: id }) => {
  const { services, caller, deadlineMs, signal } = run;
  const { models, clock } = services;
  const found = await memoryOfJob(run, id);
  if (!found.ok) return failed(found.error);
  const memory = found.value;
  if (memory === null) return ok({ skipped: 'the memory is gone' });
  if (memory.metadata['auto_tags'] !== undefined) return ok({ skipped: 'the memory has tags of a model' });
  const tags = await run.step(`tags of ${textHash(run, memory)}`, TAGS, () =>
    models.ask(tagQuestion(memory), { deadlineMs, signal }),
  );
  if (!tags.ok) return failed(tags.error);
  const curated = { auto_tags: tags.value, curated_at: instantFromMs(clock.nowMs()) };
  const change = ({ metadata }: MemoryRow) => ({ metadata: { ...metadata, ...curated } });
  // The text stays as its author wrote and signed it, so this write needs no signature.
  const updated = await editRead(run, memory, { name: 'tags', change, caller: { ...caller, local: true } });
  if (!updated.ok) return failed(updated.error);
  return ok({
    tags: tags.value,
    ...(updated.waits === true ? { pending_id: updated.value['pending_id'] } : {}),
  });
};
