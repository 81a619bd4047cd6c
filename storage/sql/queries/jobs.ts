import { type Job, jobKind } from '../../../protocol/jobs/job-kind.js';
import type { DueJobs, JobLane, JobTotal } from '../../../protocol/jobs/queries.js';
import type { Answers } from '../../../protocol/release.js';
import { localSource } from '../kinds/find-rows.js';
import type { QueryParts } from './query-parts.js';

type Finding = Pick<QueryParts, 'statements' | 'find'>;

const JOBS = localSource(jobKind);

export function dueJobs(parts: Finding, asked: DueJobs): Answers['due-jobs'] {
  const lanes: JobLane[] = [];
  for (const lane of waitingLanes(parts, asked)) {
    if (lanes.length >= asked.limit) break;
    if (!asked.busy.some(({ type, caller }) => type === lane.type && caller === lane.caller))
      lanes.push(lane);
  }
  const isUnderWay = ({ id, run }: DueJobs['runs'][number]) => {
    const job: Job | null = parts.find.one(JOBS, [id]);
    return job?.state === 'running' && job.run === run;
  };
  return { lanes, ended: asked.runs.filter((one) => !isUnderWay(one)).map(({ run }) => run) };
}

/** Each step is one look into the index, however many jobs a lane has. */
function* waitingLanes({ statements }: Finding, { types, after, now, ahead }: DueJobs): Generator<JobLane> {
  const next = statements.get(
    "SELECT min(caller) FROM jobs WHERE state = 'queued' AND type = @type AND caller > @caller",
  );
  const due = statements.get(
    "SELECT min(due_at) FROM jobs WHERE state = 'queued' AND type = @type AND caller = @caller",
  );
  const all = [...types].sort();
  const begins =
    after === null
      ? 0
      : Math.max(
          0,
          all.findIndex((type) => type >= after.type),
        );
  // The type of the lane that was served last has its other lanes at the end.
  const last = after !== null && all[begins] === after.type ? after : null;
  for (let turn = 0; turn < all.length + (last === null ? 0 : 1); turn += 1) {
    const type = all[(begins + turn) % all.length]!;
    let caller = turn === 0 && last !== null ? last.caller : '';
    for (;;) {
      caller = (next.pluck().get({ type, caller }) as string | null) ?? '';
      if (caller === '' || (turn === all.length && last !== null && caller > last.caller)) break;
      const at = due.pluck().get({ type, caller }) as string;
      if (at <= now || at > ahead) yield { type, caller };
    }
  }
}

export function jobTotals({ statements }: Pick<QueryParts, 'statements'>): Answers['job-totals'] {
  const sql = 'SELECT state, type, count(*) AS count FROM jobs GROUP BY state, type';
  return { totals: statements.get(sql).all() as JobTotal[] };
}
