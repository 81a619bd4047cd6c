import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Job } from '../../protocol/jobs/job-kind.js';
import { attemptsOf, JOB_TYPES, type JobTypeName } from '../../protocol/jobs/job-types.js';
import type { JobEnd } from '../../protocol/jobs/run-jobs.js';
import type { Services } from '../pipeline/call.js';
import { livingOwner } from '../threads/presence.js';
import { JOB_WORKS } from './job-works.js';
import { endOf } from './open-jobs.js';

/**
 * Does the due jobs of a type and agent in this process, until none is due: for a command, while no process owns the database.
 * With `takesOver` it begins with what other processes left under way, or still do: those store nothing more.
 */
export async function runJobsHere(
  services: Services,
  {
    takesOver,
    ...lane
  }: { readonly type: JobTypeName; readonly caller: string; readonly takesOver: boolean },
  signal: AbortSignal,
): Promise<Result<void>> {
  const { store, random, settings } = services;
  const owner = await livingOwner(store, settings);
  if (!owner.ok) return failed(owner.error);
  if (owner.value !== null) return ok(undefined);
  const released = takesOver ? await store.execute({ kind: 'release-jobs', keep: [] }) : null;
  if (released?.ok === false) return failed(released.error);
  while (!signal.aborted) {
    const run = random.uuid();
    const begun = await store.execute({ kind: 'begin-job', ...lane, run });
    if (!begun.ok) return failed(begun.error);
    const { job } = begun.value;
    if (job === null) break;
    const how = await ended(services, { job, run }, signal);
    const attemptsMax = attemptsOf(job, JOB_TYPES);
    const end = {
      kind: 'end-job',
      id: job.id,
      run,
      end: how,
      attemptsMax,
      missed: 0,
      failsForAll: false,
    } as const;
    const noted = await store.execute(end);
    if (!noted.ok) return failed(noted.error);
  }
  return ok(undefined);
}

async function ended(
  services: Services,
  one: { readonly job: Job; readonly run: string },
  signal: AbortSignal,
): Promise<JobEnd> {
  const end = await endOf(one, { services, types: JOB_TYPES, works: JOB_WORKS, signal });
  return signal.aborted && end.how === 'failed' ? { how: 'cut' } : end;
}
