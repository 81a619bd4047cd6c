import { z } from 'zod';
import { type Failure, failed, ok, type Result } from '../../protocol/base/result.js';
import { CURATED_ROWS_PER_OP, CYCLE_END_MS } from '../../protocol/curation/limits.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import { addError, type CycleReport, emptyReport } from '../operations/curator/cycle-report.js';
import { adjust, examine, forget, join, type Outcome, outcome, reflect } from './curator-acts.js';
import { CuratorPen } from './curator-pen.js';
import type { JobWork, RunOfJob } from './job-work.js';

type Input = JobInput<'curator'>;

const ids = z.array(z.string());
const curation = z.object({
  at: z.string(),
  scanned: z.int(),
  eligible: z.int(),
  untagged: z.array(z.object({ id: z.string(), adjacent: z.string().nullable() })),
  clusters: z.array(ids),
  raised: ids,
  lowered: ids,
});
type Plan = z.output<typeof curation>;

/** A model that is not there this often in a row is asked no more in the cycle. */
const MISSED_MAX = 3;

/**
 * One cycle of the curator (reference-mcp-cli §6.9). What there is to do is looked up once; then each thing is a step of the job,
 * and what was done is found again by its id. What a model or a policy refuses stands in the report.
 */
export const curator: JobWork<Input> = async (run, input) => {
  const cycle = new Cycle(run, input);
  const failure = await cycle.run();
  return failure === null ? await cycle.end() : failed(failure);
};

class Cycle {
  readonly #run: RunOfJob;
  readonly #input: Input;
  readonly #pen: CuratorPen;
  #report: CycleReport = emptyReport('', false);
  /** Why no more questions are asked. */
  #stopped: string | null = null;
  #missed = 0;

  constructor(run: RunOfJob, input: Input) {
    this.#run = run;
    this.#input = input;
    this.#pen = new CuratorPen(run);
  }

  /** Does what there is to do; the failure of the node that ends the run. */
  async run(): Promise<Failure | null> {
    const planned = await this.#run.step('plan', curation, () => this.#plan());
    if (!planned.ok) return planned.error;
    const plan = planned.value;
    this.#report = emptyReport(plan.at, false);
    const { autonomy } = this.#report;
    Object.assign(this.#report, { memories_scanned: plan.scanned, memories_eligible: plan.eligible });
    autonomy.clusters_formed = plan.clusters.length;
    const { models } = this.#run.services;
    const reflects = this.#input.mode === 'reflect';
    const missing = models.missing(reflects ? 'reflect' : 'curator') ?? models.missing('auto_tag');
    if (missing !== null) {
      this.#stopped = missing.message;
      addError(this.#report.errors, `no LLM client configured: ${missing.message}`);
    }
    return reflects ? this.#reflected(plan) : this.#curated(plan);
  }

  async #plan(): Promise<Result<Plan>> {
    const { include, exclude, max_ops, max_depth, mode } = this.#input;
    const { store } = this.#run.services;
    const { now } = this.#pen;
    const places = { include, exclude, now };
    const rows = max_ops * CURATED_ROWS_PER_OP;
    const copied = (clusters: readonly (readonly string[])[]) => clusters.map((each) => [...each]);
    if (mode === 'reflect') {
      const asked = { kind: 'reflection-clusters', maxDepth: max_depth, rows, clustersMax: max_ops } as const;
      const found = await store.query({ ...asked, ...places });
      if (!found.ok) return failed(found.error);
      const { scanned, eligible, clusters } = found.value;
      const none = { untagged: [], raised: [], lowered: [] };
      return ok({ at: now, scanned, eligible, clusters: copied(clusters), ...none });
    }
    const asked = { kind: 'curation-plan', untaggedMax: max_ops, rowsPerTier: rows } as const;
    const found = await store.query({ ...asked, ...places });
    if (!found.ok) return failed(found.error);
    const { scanned, eligible, untagged, clusters, raised, lowered } = found.value;
    return ok({
      ...{ at: now, scanned, eligible, untagged: [...untagged], clusters: copied(clusters) },
      ...{ raised: [...raised], lowered: [...lowered] },
    });
  }

  async #curated(plan: Plan): Promise<Failure | null> {
    const { autonomy } = this.#report;
    const examined = await this.#examined(plan);
    if (!examined.ok) return examined.error;
    const pairs = examined.value;
    this.#report.contradictions_found = pairs.length;
    const kept = await this.#forgotten(pairs);
    if (kept !== null) return kept;
    const contradicting = new Set(pairs.flatMap(({ older, newer }) => [older.id, newer.id]));
    const joined = await this.#joined(plan.clusters, contradicting);
    if (joined !== null) return joined;
    for (const [step, list] of [[1, plan.raised] as const, [-1, plan.lowered] as const])
      for (const id of list) {
        const one = await this.#did(`priority ${id}`, autonomy.errors, () => adjust(this.#pen, id, step));
        if (!one.ok) return one.error;
        if (one.value.how !== 'done') continue;
        autonomy.priority_adjustments += 1;
        autonomy.rollback_entries_written += 1;
      }
    return null;
  }

  /** Tags memories, and compares each with its neighbour, two of them once; the pairs that contradict each other. */
  async #examined({ untagged, at }: Plan): Promise<Result<NonNullable<Outcome['pair']>[]>> {
    const pairs: NonNullable<Outcome['pair']>[] = [];
    const compared = new Set<string>();
    for (const { id, adjacent } of untagged) {
      const isNew = adjacent !== null && !compared.has(`${adjacent} ${id}`);
      const questions = this.#allowed(isNew ? 2 : 1);
      if (questions === 0) continue;
      const other = questions === 2 ? adjacent : null;
      const one = await this.#did(`examine ${id}`, this.#report.errors, () =>
        examine(this.#pen, { id, adjacent: other, at }),
      );
      if (!one.ok) return failed(one.error);
      if (other !== null && one.value.how === 'done') compared.add(`${id} ${other}`);
      if (one.value.how === 'done') this.#report.auto_tagged += 1;
      if (one.value.pair !== null) pairs.push(one.value.pair);
    }
    return ok(pairs);
  }

  async #forgotten(pairs: readonly NonNullable<Outcome['pair']>[]): Promise<Failure | null> {
    const { autonomy } = this.#report;
    // One may contradict two; it is archived once.
    for (const pair of new Map(pairs.map((each) => [each.older.id, each])).values()) {
      const one = await this.#did(`forget ${pair.older.id}`, autonomy.errors, () => forget(this.#pen, pair));
      if (!one.ok) return one.error;
      if (one.value.how !== 'done') continue;
      autonomy.memories_forgotten += 1;
      autonomy.rollback_entries_written += 1;
    }
    return null;
  }

  async #joined(
    clusters: readonly (readonly string[])[],
    contradicting: ReadonlySet<string>,
  ): Promise<Failure | null> {
    const { autonomy } = this.#report;
    const longTtlSeconds = this.#run.services.settings.longTtlSeconds;
    for (const [at, cluster] of clusters.entries()) {
      const rest = cluster.filter((id) => !contradicting.has(id));
      if (rest.length < 2 || this.#allowed(1) === 0) continue;
      const name = `cluster ${at}`;
      const one = await this.#did(name, autonomy.errors, () =>
        join(this.#pen, name, { ids: rest, longTtlSeconds }),
      );
      if (!one.ok) return one.error;
      if (one.value.how !== 'done') continue;
      autonomy.memories_consolidated += one.value.rows;
      autonomy.rollback_entries_written += 1;
    }
    return null;
  }

  async #reflected({ clusters }: Plan): Promise<Failure | null> {
    for (const [at, cluster] of clusters.entries()) {
      if (this.#allowed(1) === 0) continue;
      const name = `reflect ${at}`;
      const one = await this.#did(name, this.#report.errors, () =>
        reflect(this.#run, this.#pen, name, cluster),
      );
      if (!one.ok) return one.error;
      if (one.value.how === 'done') this.#report.reflections_written += 1;
    }
    return null;
  }

  /** How many of some questions may be asked; the others are counted as skipped. */
  #allowed(questions: number): number {
    const { operations_attempted: asked } = this.#report;
    const isLate = this.#run.services.clock.monotonicMs() + CYCLE_END_MS >= this.#run.deadlineMs;
    if (isLate && this.#stopped === null) {
      this.#stopped = 'the time of the cycle is used up';
      addError(this.#report.errors, this.#stopped);
    }
    const left = this.#stopped === null ? Math.max(0, this.#input.max_ops - asked) : 0;
    const allowed = Math.min(questions, left);
    this.#report.operations_skipped_cap += questions - allowed;
    return allowed;
  }

  /** Does a step once, and counts what became of it. */
  async #did(name: string, errors: string[], make: () => Promise<Result<Outcome>>): Promise<Result<Outcome>> {
    const { signal } = this.#run;
    const one = await this.#run.step(name, outcome, async () => {
      const made = await make();
      // A pause or a stop has cut it off: it is done by the next run.
      if (made.ok && signal.aborted && made.value.code?.startsWith('LLM_') === true)
        return { ok: false, error: { code: 'SHUTTING_DOWN', message: 'the cycle was cut off' } };
      return made;
    });
    if (!one.ok) return failed(one.error);
    const { asked, error, code } = one.value;
    this.#report.operations_attempted += asked;
    if (error !== null) addError(errors, error);
    this.#missed = code === 'LLM_UNAVAILABLE' ? this.#missed + 1 : asked > 0 ? 0 : this.#missed;
    if (code === 'LLM_LIMIT') this.#stopped ??= 'the questions of the day are used up';
    if (this.#missed >= MISSED_MAX) this.#stopped ??= 'the model cannot be reached';
    return one;
  }

  /** Keeps the report. */
  async end(): Promise<Result<CycleReport>> {
    const end = await this.#run.step('end', z.object({ at: z.string() }), () =>
      Promise.resolve(ok({ at: this.#pen.now })),
    );
    if (!end.ok) return failed(end.error);
    const { at } = end.value;
    const { started_at } = this.#report;
    const report = {
      ...this.#report,
      ...{ completed_at: at, cycle_duration_ms: Math.max(0, Date.parse(at) - Date.parse(started_at)) },
    };
    const id = this.#pen.idOf('report');
    const title = `${started_at} ${id.slice(0, 8)}`;
    const kept = await this.#pen.write('report', {
      ...{ kind: 'store-curation-report', id, title, report: JSON.stringify(report, null, 2) },
    });
    if (kept.ok) return ok(report);
    // A quota keeps the memory out; the job keeps the report.
    if (kept.error.code !== 'QUOTA_EXCEEDED') return failed(kept.error);
    addError(report.errors, `the report was not stored: ${kept.error.message}`);
    return ok(report);
  }
}
