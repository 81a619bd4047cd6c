import { z } from 'zod';
import { failed, ok } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import { memoryUpdate } from '../operations/lifecycle/memory-update.js';
import { tagQuestion } from '../operations/power/tag-question.js';
import type { JobWork } from './job-work.js';

const TAGS = z.array(z.string());

/**
 * Has a model tag a memory after its store. The tags stand in its metadata, beside those of its author: a memory with
 * `auto_tags` has been curated (reference-gaps §8), also by this job before its process was killed.
 */
export const autoTag: JobWork<JobInput<'auto_tag'>> = async (run, { memory_id: id }) => {
  const { services, caller, deadlineMs, signal } = run;
  const { store, models, clock } = services;
  const now = instantFromMs(clock.nowMs());
  const found = await store.query({ kind: 'get-memory', id, linksMax: 0, viewer: caller.viewer, now });
  if (!found.ok)
    return found.error.code === 'NOT_FOUND' ? ok({ skipped: 'the memory is gone' }) : failed(found.error);
  const { memory } = found.value;
  if (memory.metadata['auto_tags'] !== undefined) return ok({ skipped: 'the memory has tags of a model' });
  const tags = await run.step(`tags of version ${memory.version}`, TAGS, () =>
    models.ask(tagQuestion(memory), { deadlineMs, signal }),
  );
  if (!tags.ok) return failed(tags.error);
  const metadata = { ...memory.metadata, auto_tags: tags.value, curated_at: now };
  const input = { id, metadata, expected_version: memory.version };
  // The text stays as its author wrote and signed it, so this write needs no signature.
  const updated = await run.call(memoryUpdate, { name: 'tags', input, caller: { ...caller, local: true } });
  if (!updated.ok) return failed(updated.error);
  return ok({
    tags: tags.value,
    ...(updated.waits === true ? { pending_id: updated.value['pending_id'] } : {}),
  });
};
