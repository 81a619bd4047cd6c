import { detailsOf, type Failure, type Result } from '../protocol/base/result.js';
import type { Clock } from '../protocol/base/seams.js';
import type { Subject } from '../protocol/kinds/kind.js';
import type { AnswerOf, Command, OutcomeOf, Query } from '../protocol/release.js';
import type { CallOptions, SelfCheckPage, Store } from './port.js';

/** A row that is read repeatedly is marked at most once in this time. */
const NOTED_FOR_MS = 60_000;

export interface DamageReports {
  /** Called when a damaged row was found and marked for its repair. */
  suspected(): void;
  /** Called when the engine found damage in the database file itself. */
  corrupt(message: string): void;
  /** Called with the reason when writes begin to be refused until a restart, and with null when one is taken again. */
  refusing(reason: string | null): void;
}

/** Marks rows that queries could not read for their repair, as the writer does for commands, and reports damage. */
export class DamageWatch implements Store {
  private readonly notedAtMs = new Map<string, number>();
  private noting: Promise<unknown> = Promise.resolve();
  private refuses = false;

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
    private readonly reports: DamageReports,
  ) {}

  async execute<C extends Command>(command: C, options?: CallOptions): Promise<Result<OutcomeOf<C>>> {
    const result = await this.store.execute(command, options);
    this.heedRefusal(result);
    if (result.ok) return result;
    if (result.error.code === 'DATA_DAMAGED') this.reports.suspected();
    else this.heedCorruption(result.error);
    return result;
  }

  async query<Q extends Query>(query: Q, options?: CallOptions): Promise<Result<AnswerOf<Q>>> {
    const result = await this.store.query(query, options);
    const damaged = damagedRows(result);
    if (damaged.length > 0) this.note(damaged);
    if (!result.ok) this.heedCorruption(result.error);
    return result;
  }

  async selfCheck(cursor: string | null, options?: CallOptions): Promise<Result<SelfCheckPage>> {
    const page = await this.store.selfCheck(cursor, options);
    if (!page.ok) this.heedCorruption(page.error);
    else if (page.value.problems[0] !== undefined) this.reports.corrupt(page.value.problems[0]);
    return page;
  }

  async close(): Promise<void> {
    await this.noting;
    await this.store.close();
  }

  private note(subjects: readonly Subject[]): void {
    const nowMs = this.clock.monotonicMs();
    const isKnown = (subject: Subject) =>
      nowMs - (this.notedAtMs.get(keyOf(subject)) ?? Number.NEGATIVE_INFINITY) < NOTED_FOR_MS;
    const fresh = subjects.filter((subject) => !isKnown(subject));
    if (fresh.length === 0) return;
    for (const [key, atMs] of this.notedAtMs) if (nowMs - atMs >= NOTED_FOR_MS) this.notedAtMs.delete(key);
    for (const subject of fresh) this.notedAtMs.set(keyOf(subject), nowMs);
    // The reader does not wait for the mark. When it fails, a later read sets it.
    this.noting = this.store.execute({ kind: 'note-suspects', subjects: fresh }, { lane: 'background' }).then(
      () => this.reports.suspected(),
      () => {},
    );
  }

  private heedRefusal(result: Result<unknown>): void {
    const refused = !result.ok && needsRestart(result.error);
    // Other failures do not say whether writes are taken.
    if (refused === this.refuses || !(result.ok || refused)) return;
    this.refuses = refused;
    this.reports.refusing(result.ok ? null : result.error.message);
  }

  private heedCorruption(failure: Failure): void {
    if (detailsOf(failure, 'DATABASE_ERROR')?.corrupt === true) this.reports.corrupt(failure.message);
  }
}

/** True for a file that has another schema by now, or another file under its name. */
const needsRestart = (failure: Failure): boolean =>
  failure.code === 'MIGRATION_REFUSED' || detailsOf(failure, 'DATABASE_ERROR')?.file_replaced === true;

const keyOf = ({ kind, id }: Subject): string => `${kind}\n${id}`;

function damagedRows(result: Result<unknown>): readonly Subject[] {
  if (result.ok) {
    const value = result.value as { readonly damaged?: readonly string[] } | null;
    if (typeof value !== 'object' || value === null || !Array.isArray(value.damaged)) return [];
    return value.damaged.map((id: string) => ({ kind: 'memory', id }));
  }
  const damaged = detailsOf(result.error, 'DATA_DAMAGED');
  return damaged === null ? [] : [{ kind: damaged.damaged_kind, id: damaged.damaged_id }];
}
