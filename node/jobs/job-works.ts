import type { JobInput, JobTypeName } from '../../protocol/jobs/job-types.js';
import { autoTag } from './auto-tag.js';
import type { JobWork } from './job-work.js';

/** What the jobs of each type do. */
export const JOB_WORKS: { readonly [T in JobTypeName]: JobWork<JobInput<T>> } = {
  auto_tag: autoTag,
};

export type JobWorks = Readonly<Record<string, JobWork<never>>>;
