import { z } from 'zod';

/** What is true of all jobs of a type. What its jobs do stands in `node/jobs/job-works.ts`. */
export interface JobType {
  /** The input, as it is stored. */
  readonly input: z.ZodType;
  /** What its jobs need: while that is missing, all jobs of the lane wait. */
  readonly lane: string;
  /** Failures after which a job is given up, unless its input says `attempts`. */
  readonly attempts: number;
}

const declared = <const T extends Readonly<Record<string, JobType>>>(types: T): T => types;

/** Every type of job. */
export const JOB_TYPES = declared({
  /** Tags a memory after its store, by a model. */
  auto_tag: { input: z.object({ memory_id: z.string() }), lane: 'model', attempts: 3 },
  /** Has a model write the next persona of an entity. */
  persona: {
    input: z.object({ entity_id: z.string(), namespace: z.string() }),
    ...{ lane: 'model', attempts: 3 },
  },
  /** Writes a reflection or a persona into a file of the home. */
  export_memory: { input: z.object({ memory_id: z.string() }), lane: 'files', attempts: 5 },
  /** Splits a memory after its store, by a model, where the policy of its namespace says so. */
  auto_atomise: {
    input: z.object({
      ...{ memory_id: z.string(), threshold: z.int(), max_tokens: z.int() },
      attempts: z.int().optional(),
    }),
    ...{ lane: 'model', attempts: 3 },
  },
  /** One cycle of the curator; what a model refuses stands in its report. */
  curator: {
    input: z.object({
      mode: z.enum(['curate', 'reflect']),
      max_ops: z.int(),
      include: z.array(z.string()),
      exclude: z.array(z.string()),
      max_depth: z.int(),
    }),
    ...{ lane: 'curator', attempts: 3 },
  },
  /** Has a model say what a stored memory means for older ones with similar titles, which it rewrites or deletes. */
  synthesis: {
    input: z.object({ memory_id: z.string(), deletes_max: z.int(), text_chars: z.int() }),
    ...{ lane: 'model', attempts: 3 },
  },
  /** Has a model say which memories with similar titles a stored one contradicts. */
  compare_pairs: { input: z.object({ memory_id: z.string() }), lane: 'model', attempts: 3 },
  /** Has a model say the kind of a stored memory whose words do not say it. */
  classify_kind: { input: z.object({ memory_id: z.string() }), lane: 'model', attempts: 3 },
});

export type JobTypes = Readonly<Record<string, JobType>>;
export type JobTypeName = keyof typeof JOB_TYPES;
export type JobInput<T extends JobTypeName> = z.output<(typeof JOB_TYPES)[T]['input']>;

/** Failures after which a job is given up. */
export function attemptsOf(
  { type, input }: { readonly type: string; readonly input: string },
  types: JobTypes,
): number {
  const { attempts } = JSON.parse(input) as { attempts?: unknown };
  return typeof attempts === 'number' ? attempts : types[type]!.attempts;
}
