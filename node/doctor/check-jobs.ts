import type { ContentFacts } from './database-facts.js';
import { type Section, SectionBuilder } from './report.js';

/** A job that should have begun so long ago waits for something. */
const LATE_MS = 3_600_000;

/** Checks the jobs: which failed, and whether a process runs them. */
export function checkJobs(content: Pick<ContentFacts, 'jobs' | 'owner'> | null, nowMs: number): Section {
  const section = new SectionBuilder('Jobs');
  const jobs = content?.jobs ?? null;
  if (jobs === null || jobs.totals.length === 0) return section.unused('there is no job').done();
  const states = new Map<string, number>();
  for (const { state, count } of jobs.totals) states.set(state, (states.get(state) ?? 0) + count);
  for (const [state, count] of states) section.fact(state, count);
  const failed = states.get('failed') ?? 0;
  if (failed > 0) {
    section.warn(
      'JOBS_FAILED',
      `${failed} jobs failed and were given up`,
      'look at "mnemesh jobs list --state failed"; "mnemesh jobs resume <id>" tries one again',
    );
  }
  const { oldest } = jobs;
  const owner = content?.owner ?? null;
  if (oldest !== null && (owner === null || owner.expiresAtMs <= nowMs)) {
    section.warn(
      'JOBS_NO_OWNER',
      `${states.get('queued')} jobs wait: only a running daemon or MCP server does them`,
      'run "mnemesh serve"',
    );
  } else if (oldest !== null && nowMs - Date.parse(oldest.dueAt) > LATE_MS) {
    section.warn(
      'JOBS_LATE',
      `the oldest queued job should have begun at ${oldest.dueAt}${oldest.error === null ? '' : `: ${oldest.error}`}`,
      'look at "mnemesh jobs list --state queued"',
    );
  }
  return section.done();
}
