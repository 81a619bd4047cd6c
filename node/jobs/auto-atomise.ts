import { failed, ok } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import { memoryAtomise } from '../operations/power/memory-atomise.js';
import type { JobWork } from './job-work.js';

/** Has a model split a memory after its store, as its author would; a run after a kill goes on behind the atoms that are there. */
export const autoAtomise: JobWork<JobInput<'auto_atomise'>> = async (run, asked) => {
  const { memory_id: id, threshold, max_tokens } = asked;
  const { services, caller, deadlineMs } = run;
  const now = instantFromMs(services.clock.nowMs());
  const seen = { kind: 'get-memory', id, linksMax: 0, viewer: caller.viewer, now } as const;
  const found = await services.store.query(seen);
  if (!found.ok)
    return found.error.code === 'NOT_FOUND' ? ok({ skipped: 'the memory is gone' }) : failed(found.error);
  const counted = await services.tokens.counts([found.value.memory.content], threshold, deadlineMs);
  if (!counted.ok) return failed(counted.error);
  const [tokens = 0] = counted.value;
  if (tokens <= threshold) return ok({ skipped: `the memory has ${tokens} tokens` });
  const split = await run.call(memoryAtomise, {
    name: 'atoms',
    input: { memory_id: id, max_atom_tokens: max_tokens },
  });
  return split.ok ? ok(split.value) : failed(split.error);
};
