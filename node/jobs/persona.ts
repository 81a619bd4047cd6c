import { failed, ok } from '../../protocol/base/result.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import { memoryPersonaGenerate } from '../operations/personas/memory-persona-generate.js';
import type { JobWork } from './job-work.js';

/** Has a model write the next persona of an entity. The machine signs it, so its agent needs no signature. */
export const persona: JobWork<JobInput<'persona'>> = async (run, input) => {
  const caller = { ...run.caller, local: true };
  const written = await run.call(memoryPersonaGenerate, { name: 'persona', input, caller });
  if (!written.ok) {
    const { code } = written.error;
    return code === 'NO_REFLECTIONS' ? ok({ skipped: 'no reflection is left' }) : failed(written.error);
  }
  const { persona: stored, pending_id } = written.value as { persona?: { id: string }; pending_id?: string };
  return ok(written.waits === true ? { pending_id } : { persona: stored?.id });
};
