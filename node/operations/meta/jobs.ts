import { z } from 'zod';
import { JOBS_LISTED_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { JobChange } from '../../../protocol/jobs/change-jobs.js';
import { JOB_STATES, type Job, jobKind } from '../../../protocol/jobs/job-kind.js';
import { JOB_TYPES } from '../../../protocol/jobs/job-types.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import { rulingViewer } from '../../identity/caller.js';
import type { Call, ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation, type Operation } from '../../pipeline/operation.js';

const TYPES = Object.keys(JOB_TYPES) as [string, ...string[]];

const listed = z.object({
  id: z.string(),
  type: z.string(),
  state: z.enum(JOB_STATES),
  agent_id: z.string(),
  created_at: z.string(),
  due_at: z.string().describe('When it may begin; only of a queued job').optional(),
  ended_at: z.string().optional(),
  runs: z.int(),
  attempts: z.int().describe('Runs that failed'),
  error_code: z.string().optional(),
  error: z
    .string()
    .describe('Why the last run that failed did so, or what a queued job waits for')
    .optional(),
});

const whole = listed.extend({
  input: z.record(z.string(), z.unknown()),
  waits: z.int().describe('Runs that found that what the job needs is not there'),
  interruptions: z.int().describe('Runs that ended with their process'),
  steps: z.array(z.string()).describe('Steps that are done and that no other run does again'),
  result: z.record(z.string(), z.unknown()).optional(),
});

const id = z.string().min(1).max(256).describe('Id of a job, or its beginning');
const type = z.enum(TYPES).describe('Only jobs of the type');

function shown(job: Job): z.input<typeof listed> {
  const { id, type, state, caller: agent_id, created_at, due_at, ended_at, runs, attempts } = job;
  return {
    ...{ id, type, state, agent_id, created_at, runs, attempts },
    ...(state === 'queued' ? { due_at } : {}),
    ...(ended_at === null ? {} : { ended_at }),
    ...(job.error_code === null ? {} : { error_code: job.error_code }),
    ...(job.error === null ? {} : { error: job.error }),
  };
}

/** Jobs are the operator's: they say what other agents do. */
const refusal = ({ caller }: ReadCall): Result<never> | null =>
  rulingViewer(caller).all
    ? null
    : fail(
        'FORBIDDEN',
        'only the operator of the node sees jobs: unset SVC_AGENT_ID, or use the id of an admin',
      );

const found = async (call: ReadCall, asked: object) =>
  call.services.store.query({
    ...{ kind: 'find-records', of: jobKind.name, viewer: null, now: call.now, limit: JOBS_LISTED_MAX },
    ...asked,
  });

/** The job of an id or of its beginning. */
async function jobOf(call: ReadCall, prefix: string): Promise<Result<Job>> {
  const where = { id: { from: prefix, before: `${prefix}\u{10ffff}` } };
  const some = await found(call, { where, limit: 2 });
  if (!some.ok) return failed(some.error);
  const [job, other] = rowsOf(jobKind, some.value);
  if (job === undefined)
    return fail('NOT_FOUND', `there is no job ${prefix}: "mnemesh jobs list" shows them`);
  return other === undefined || job.id === prefix
    ? ok(job)
    : fail('AMBIGUOUS_ID_PREFIX', `several jobs begin with ${prefix}: give more of the id`);
}

/** Lists jobs. */
export const jobsList = defineOperation({
  name: 'jobs_list',
  family: 'meta',
  summary: 'List the jobs of this node, the newest first.',
  input: z.object({
    state: z.enum(JOB_STATES).describe('Only jobs in the state').optional(),
    type: type.optional(),
    limit: fields.listLimit(50, JOBS_LISTED_MAX, 'jobs'),
  }),
  output: z.object({
    jobs: z.array(listed),
    count: z.int(),
    totals: z.record(z.string(), z.int()).describe('All jobs of the node by their states'),
  }),
  effect: 'read',
  guards: { admin: true },
  http: [{ method: 'GET', path: '/jobs', fields: 'query' }],
  cli: {
    command: 'jobs list',
    view: 'object',
    table: {
      id: 'ID',
      state: 'STATE',
      agent_id: 'AGENT',
      created_at: 'CREATED',
      attempts: 'FAILED',
      error: 'WHY',
    },
    examples: ['jobs list --state failed'],
  },
  run: async (call, { state, type, limit }) => {
    const refused = refusal(call);
    if (refused !== null) return refused;
    const where = { ...(state === undefined ? {} : { state }), ...(type === undefined ? {} : { type }) };
    const some = await found(call, { where, order: { by: 'created_at', descending: true }, limit });
    if (!some.ok) return failed(some.error);
    const counted = await call.services.store.query({ kind: 'job-totals' });
    if (!counted.ok) return failed(counted.error);
    const totals: Record<string, number> = {};
    for (const { state, count } of counted.value.totals) totals[state] = (totals[state] ?? 0) + count;
    const jobs = rowsOf(jobKind, some.value).map(shown);
    return ok({ jobs, count: jobs.length, totals });
  },
});

/** Shows a job. Only the command line has it. */
export const jobsShow = defineOperation({
  name: 'jobs_show',
  family: 'meta',
  summary: 'Show a job: its input, what it has done, and why it waits or failed.',
  input: z.object({ id }),
  output: z.object({ job: whole }),
  effect: 'read',
  guards: { admin: true },
  cli: { command: 'jobs show', positionals: ['id'], view: 'object', examples: ['jobs show auto_tag:3f2a'] },
  run: async (call, { id }) => {
    const refused = refusal(call);
    if (refused !== null) return refused;
    const one = await jobOf(call, id);
    if (!one.ok) return failed(one.error);
    const { input, waits, interruptions, steps, result } = one.value;
    const objectOf = (text: string) => JSON.parse(text) as Record<string, unknown>;
    return ok({
      job: {
        ...shown(one.value),
        ...{ input: objectOf(input), waits, interruptions, steps: Object.keys(objectOf(steps)) },
        ...(result === null ? {} : { result: objectOf(result) }),
      },
    });
  },
});

const which = z.object({
  id: id.optional(),
  type: z.enum(TYPES).describe('Instead of an id: all jobs of the type').optional(),
  all: z.boolean().default(false).describe('Instead of an id: all jobs'),
});

type Which = z.output<typeof which>;

async function change(
  call: Call,
  asked: JobChange,
  { id, type, all }: Which,
): Promise<Result<{ changed: number }>> {
  const refused = refusal(call);
  if (refused !== null) return refused;
  if ([id, type, all || undefined].filter((each) => each !== undefined).length !== 1)
    return fail('VALIDATION_FAILED', 'give one of: the id of a job, --type, --all', {
      fields: ['id', 'type', 'all'],
    });
  const { store } = call.services;
  if (id !== undefined) {
    const one = await jobOf(call, id);
    if (!one.ok) return failed(one.error);
    return store.execute({ kind: 'change-jobs', change: asked, which: { id: one.value.id } });
  }
  let changed = 0;
  for (;;) {
    const part = await store.execute({ kind: 'change-jobs', change: asked, which: { type: type ?? null } });
    if (!part.ok) return failed(part.error);
    changed += part.value.changed;
    if (!part.value.more) return ok({ changed });
  }
}

function changing(asked: JobChange, past: string, summary: string): Operation {
  return defineOperation({
    name: `jobs_${asked}`,
    family: 'meta',
    summary,
    input: which,
    output: z.object({ changed: z.int() }),
    effect: 'write',
    guards: { admin: true, attestation: 'by-name' },
    quorum: 'none',
    http: [{ method: 'POST', path: `/jobs/${asked}`, fields: 'body' }],
    cli: {
      command: `jobs ${asked}`,
      positionals: ['id'],
      view: 'message',
      message: ({ changed }) => `${past}: ${changed === 1 ? '1 job' : `${changed} jobs`}`,
      examples: [`jobs ${asked} auto_tag:3f2a`, `jobs ${asked} --type auto_tag`],
    },
    run: async (call, asked_) => {
      const changed = await change(call, asked, asked_);
      return changed.ok ? ok({ changed: changed.value.changed }) : failed(changed.error);
    },
  });
}

export const jobsPause = changing(
  'pause',
  'paused',
  'Pause jobs; one that runs is cut off, and goes on after its last step.',
);
export const jobsResume = changing(
  'resume',
  'queued',
  'Resume jobs that are paused or failed; a failed one gets all its attempts again.',
);
export const jobsCancel = changing('cancel', 'cancelled', 'Cancel jobs; one that runs stores nothing more.');
