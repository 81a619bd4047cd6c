import { z } from 'zod';
import { failed, ok } from '../../protocol/base/result.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import { KINDS } from '../../protocol/memory/memory.js';
import { kindQuestion } from '../operations/power/kind-question.js';
import type { JobWork } from './job-work.js';
import { editRead, memoryOfJob, textHash } from './memory-of-job.js';

const KIND = z.enum(KINDS);

/** Has a model say the kind of a memory whose words do not say it, while that is still the one of a plain memory. */
export const classifyKind: JobWork<JobInput<'classify_kind'>> = async (run, { memory_id: id }) => {
  const { services, deadlineMs, signal } = run;
  const found = await memoryOfJob(run, id);
  if (!found.ok) return failed(found.error);
  const memory = found.value;
  if (memory === null) return ok({ skipped: 'the memory is gone' });
  if (memory.kind !== 'observation') return ok({ skipped: `the memory is of kind ${memory.kind}` });
  const kind = await run.step(`kind of ${textHash(run, memory)}`, KIND, () =>
    services.models.ask(kindQuestion(memory), { deadlineMs, signal }),
  );
  if (!kind.ok) return failed(kind.error);
  if (kind.value === 'observation') return ok({ kind: kind.value });
  const change = (row: typeof memory) => ({ kind: row.kind === 'observation' ? kind.value : row.kind });
  const updated = await editRead(run, memory, { name: 'kind', change });
  if (!updated.ok) return failed(updated.error);
  return ok({
    kind: kind.value,
    ...(updated.waits === true ? { pending_id: updated.value['pending_id'] } : {}),
  });
};
