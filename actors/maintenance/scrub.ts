import { canonicalJson } from '../../protocol/base/canonical-json.js';
import * as limits from '../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Subject } from '../../protocol/kinds/kind.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import { operationId } from '../../protocol/log/operation-log.js';
import type { KindNamespace, OperationPlace } from '../../protocol/log/ranges.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import { KINDS } from '../../protocol/release.js';
import type { RepairedRow, RepairOutcome } from '../../protocol/replication/repair-subjects.js';
import type { SelfCheckPage, Store } from '../../storage/port.js';
import { type AskBack, type RowRepair, repairRows } from './repair-rows.js';
import { repairSuspects, SUSPECTS_MAX } from './suspects.js';

export interface ScrubParts extends RowRepair {
  /** The default: every kind of this release. */
  readonly kinds?: Kinds | undefined;
  readonly askBack: AskBack;
  /** True only reports and repairs nothing. */
  readonly dryRun: boolean;
  /** True ends the scrub early, with the findings so far. */
  readonly stopping?: () => boolean;
}

/** The findings of a scrub: what was repaired, or in a dry run would be. */
export interface ScrubReport {
  /** Rows that were examined, by kind. */
  readonly rows: Readonly<Record<string, number>>;
  readonly operations: number;
  readonly repaired: readonly RepairedRow[];
  /** Operations of the log that were damaged or missing. */
  readonly damaged_operations: number;
  /** Of these and of lost payloads, those that a peer sent. */
  readonly restored_operations: number;
  /** Ids of operations that are still damaged, missing, or without a payload that a row needs; the first few. */
  readonly lost: readonly string[];
  readonly lost_count: number;
  /** Namespaces whose digest did not match their rows. */
  readonly digests: readonly KindNamespace[];
  /** Damaged rows that wait for their repair; in a dry run, all rows marked as damaged. */
  readonly suspects: number;
  /** The engine's findings on its own structures; only "mnemesh repair" repairs them. */
  readonly engine: readonly string[];
  /** False when the scrub ended early, or the store did not answer. */
  readonly complete: boolean;
}

const PAGE_ROWS = 500;
const LOST_SHOWN = 20;
const PROBLEMS_SHOWN = 20;

/**
 * Hashes all rows and operations again (design: mesh, "A weekly scrub") and repairs damage: rows from the own log,
 * operations from a peer whose copy has the hash that the chain demands, digests from the rows.
 */
export async function scrub(parts: ScrubParts): Promise<Result<ScrubReport>> {
  return new Scrub(parts).run();
}

class Scrub {
  private readonly rows: Record<string, number> = {};
  private operations = 0;
  private damaged = 0;
  private restored = 0;
  /** By subject: a dry run sees a subject more than once. */
  private readonly repaired = new Map<string, RepairedRow>();
  private readonly lost = new Set<string>();
  /** By kind and namespace. */
  private readonly digests = new Map<string, KindNamespace>();
  private suspected = 0;
  private readonly problems: string[] = [];

  constructor(private readonly parts: ScrubParts) {}

  async run(): Promise<Result<ScrubReport>> {
    const stages = [this.log, this.subjects, this.tombstones, this.suspects, this.sums, this.engine];
    for (const stage of stages) {
      if (this.parts.stopping?.() === true) return ok(this.report(false));
      const done = await stage.call(this);
      if (!done.ok) return failed(done.error);
    }
    return ok(this.report(true));
  }

  private report(complete: boolean): ScrubReport {
    return {
      rows: this.rows,
      operations: this.operations,
      repaired: [...this.repaired.values()],
      damaged_operations: this.damaged,
      restored_operations: this.restored,
      lost: [...this.lost].slice(0, LOST_SHOWN),
      lost_count: this.lost.size,
      digests: [...this.digests.values()],
      suspects: this.suspected,
      engine: this.problems,
      complete,
    };
  }

  /** The log before the rows, because rows are compared with it. */
  private async log(): Promise<Result<null>> {
    // Each subject once, even if several of its operations are suspect.
    const subjects = new Map<string, Subject>();
    for (let after = 0; ; ) {
      const page = await this.query({ kind: 'scrub-log', after, limit: PAGE_ROWS });
      if (!page.ok) return failed(page.error);
      const { looked, damaged, suspects, next } = page.value;
      this.operations += looked;
      this.damaged += damaged.length;
      const taken = await this.takeBack(damaged);
      if (!taken.ok) return failed(taken.error);
      for (const subject of suspects) subjects.set(`${subject.kind}\n${subject.id}`, subject);
      if (next === null) return this.look([...subjects.values()]);
      after = next;
    }
  }

  private async takeBack(places: readonly OperationPlace[]): Promise<Result<null>> {
    for (let at = 0; at < places.length; at += limits.RANGE_OPERATIONS_MAX) {
      const some = places.slice(at, at + limits.RANGE_OPERATIONS_MAX);
      for (const { origin, seq } of some) this.lost.add(operationId(origin, seq));
      const own = await this.query({ kind: 'read-logged', places: some, bytesMax: Number.MAX_SAFE_INTEGER });
      if (!own.ok) return failed(own.error);
      const operations = [
        ...own.value.operations.filter(({ payload }) => payload !== null),
        ...(await this.parts.askBack(some)),
      ];
      if (operations.length === 0) continue;
      const done = await this.repair({ subjects: [], operations });
      if (!done.ok) return failed(done.error);
      if (done.value.restored === 0) continue;
      // The second look shows which operations fitted.
      const again = await this.query({
        kind: 'read-logged',
        places: some,
        bytesMax: Number.MAX_SAFE_INTEGER,
      });
      if (!again.ok) return failed(again.error);
      const held = new Set(own.value.operations.map(headerOf));
      const given = new Set(operations.map(headerOf).filter((header) => !held.has(header)));
      for (const operation of again.value.operations)
        if (operation.payload !== null || given.has(headerOf(operation)))
          this.lost.delete(operationId(operation.origin, operation.seq));
    }
    return ok(null);
  }

  private async subjects(): Promise<Result<null>> {
    for (const { name } of (this.parts.kinds ?? KINDS).all) {
      this.rows[name] = 0;
      for (let after: string | null = null; ; ) {
        const page: Awaited<ReturnType<typeof this.rowsAfter>> = await this.rowsAfter(name, after);
        if (!page.ok) return failed(page.error);
        this.rows[name] += page.value.looked;
        const done = await this.look(page.value.suspects);
        if (!done.ok) return failed(done.error);
        if (page.value.next === null) break;
        after = page.value.next;
      }
    }
    return ok(null);
  }

  private rowsAfter(of: string, after: string | null) {
    return this.query({ kind: 'scrub-rows', of, after, limit: PAGE_ROWS } as const);
  }

  private async tombstones(): Promise<Result<null>> {
    for (let after: Subject | null = null; ; ) {
      const page: Awaited<ReturnType<typeof this.tombstonesAfter>> = await this.tombstonesAfter(after);
      if (!page.ok) return failed(page.error);
      const done = await this.look(page.value.suspects);
      if (!done.ok) return failed(done.error);
      if (page.value.next === null) return ok(null);
      after = page.value.next;
    }
  }

  private tombstonesAfter(after: Subject | null) {
    return this.query({ kind: 'scrub-tombstones', after, limit: PAGE_ROWS } as const);
  }

  /** Examines subjects closely; asks peers for operations that a row needs and the log lost. */
  private async look(subjects: readonly Subject[]): Promise<Result<null>> {
    for (let at = 0; at < subjects.length; at += limits.REPAIR_SUBJECTS_MAX) {
      const own = await this.repair({ subjects: subjects.slice(at, at + limits.REPAIR_SUBJECTS_MAX) });
      if (!own.ok) return failed(own.error);
      const { missing } = own.value;
      if (missing.length === 0) continue;
      const operations = await this.parts.askBack(missing.slice(0, limits.RANGE_OPERATIONS_MAX));
      const again = await this.repair({
        subjects: missing.map(({ kind, subject: id }) => ({ kind, id })),
        operations,
      });
      if (!again.ok) return failed(again.error);
      // The payload of a header-only operation is lost only when the operation had an effect here.
      for (const { origin, seq, subject } of again.value.missing) {
        const stored = await this.query({ kind: 'find-operation', opId: operationId(origin, seq) });
        if (stored.ok && stored.value?.parked === null && subject !== '')
          this.lost.add(operationId(origin, seq));
      }
    }
    return ok(null);
  }

  /** Rows that commands and queries found damaged, and that are not repaired yet. */
  private async suspects(): Promise<Result<null>> {
    const listed = await this.query({ kind: 'list-suspects', limit: SUSPECTS_MAX });
    if (!listed.ok) return failed(listed.error);
    const { suspects } = listed.value;
    this.suspected = suspects.length;
    if (suspects.length === 0 || this.parts.dryRun) return ok(null);
    const done = await repairSuspects(this.parts, suspects);
    if (!done.ok) return failed(done.error);
    for (const row of done.value.repaired) this.repaired.set(`${row.kind}\n${row.subject}`, row);
    this.suspected = done.value.left.length;
    return ok(null);
  }

  private async sums(): Promise<Result<null>> {
    const known = await this.query({ kind: 'scrub-namespaces' });
    if (!known.ok) return failed(known.error);
    for (const sum of known.value.sums) {
      const done = await this.repair({ subjects: [], recount: [sum], recountQuotas: true });
      if (!done.ok) return failed(done.error);
    }
    return ok(null);
  }

  private async engine(): Promise<Result<null>> {
    for (let cursor: string | null = null; ; ) {
      const page: Result<SelfCheckPage> = await this.parts.store.selfCheck(cursor, { lane: 'background' });
      if (!page.ok) return failed(page.error);
      this.problems.push(...page.value.problems.slice(0, PROBLEMS_SHOWN - this.problems.length));
      cursor = page.value.next;
      if (cursor === null || this.parts.stopping?.() === true) return ok(null);
    }
  }

  private query: Store['query'] = (query) => this.parts.store.query(query, { lane: 'background' });

  private async repair(request: {
    readonly subjects: readonly Subject[];
    readonly operations?: readonly WireOperation[];
    readonly recount?: readonly KindNamespace[];
    readonly recountQuotas?: boolean;
  }): Promise<Result<RepairOutcome>> {
    const none = { operations: [], withheld: [], recount: [] };
    const done = await repairRows(this.parts, { ...none, dryRun: this.parts.dryRun, ...request });
    if (!done.ok) return done;
    const { repaired, restored, recounted } = done.value;
    for (const row of repaired) this.repaired.set(`${row.kind}\n${row.subject}`, row);
    this.restored += restored;
    for (const sum of recounted) this.digests.set(`${sum.kind}\n${sum.namespace}`, sum);
    return done;
  }
}

const headerOf = (operation: WireOperation): string => canonicalJson({ ...operation, payload: null });
