import type { JobInput, JobTypeName } from '../../protocol/jobs/job-types.js';
import { autoAtomise } from './auto-atomise.js';
import { autoTag } from './auto-tag.js';
import { classifyKind } from './classify-kind.js';
import { comparePairs } from './compare-pairs.js';
import { curator } from './curator.js';
import { exportMemory } from './export-memory.js';
import type { JobWork } from './job-work.js';
import { persona } from './persona.js';
import { synthesis } from './synthesis.js';

/** What the jobs of each type do. */
export const JOB_WORKS: { readonly [T in JobTypeName]: JobWork<JobInput<T>> } = {
  auto_tag: autoTag,
  curator,
  persona,
  export_memory: exportMemory,
  auto_atomise: autoAtomise,
  synthesis,
  compare_pairs: comparePairs,
  classify_kind: classifyKind,
};

export type JobWorks = Readonly<Record<string, JobWork<never>>>;
