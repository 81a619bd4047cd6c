import { canonicalJson } from '../../protocol/canonical-json.js';
import type { Subject } from '../../protocol/kinds/kind.js';
import { KINDS, type Kinds } from '../../protocol/kinds/kinds.js';
import * as limits from '../../protocol/limits.js';
import type { KindNamespace, OperationPlace } from '../../protocol/mesh/ranges.js';
import type { RepairedRow, RepairOutcome } from '../../protocol/mesh/repair-terms.js';
import type { WireOperation } from '../../protocol/mesh/wire.js';
import { operationId } from '../../protocol/operation-log.js';
import { failed, ok, type Result } from '../../protocol/result.js';
import type { Store } from '../../storage/port.js';
import { type RowRepair, repairRows } from './repair-rows.js';

export interface ScrubParts extends RowRepair {
  /** Asks the peers for operations, one after the other; what nobody has is left out. */
  readonly askBack: (places: readonly OperationPlace[]) => Promise<readonly WireOperation[]>;
  /** Left out: every kind of this release. */
  readonly kinds?: Kinds | undefined;
  /** True looks only. */
  readonly dryRun: boolean;
  /** Ends it early, with what was found. */
  readonly stopping?: () => boolean;
}

/** What a scrub found; what was repaired or, looking only, would be. */
export interface ScrubReport {
  /** Rows that were looked at, by kind. */
  readonly rows: Readonly<Record<string, number>>;
  readonly operations: number;
  readonly repaired: readonly RepairedRow[];
  /** Operations of the log that were damaged or gone. */
  readonly damaged_operations: number;
  /** Of these and of lost payloads, those that a peer gave back. */
  readonly restored_operations: number;
  /** Ids of operations that are still damaged, gone or without a payload that a row needs; the first few. */
  readonly lost: readonly string[];
  readonly lost_count: number;
  /** Namespaces whose digest was not that of their rows. */
  readonly digests: readonly KindNamespace[];
  /** Ranges of rows whose full text was not that of their texts. */
  readonly full_text: number;
  /** Tables of which an index did not agree with the rows. */
  readonly indexes: number;
  /** False when it was ended early, or the store did not answer. */
  readonly complete: boolean;
}

const PAGE_ROWS = 500;
const INDEX_PLACES = 50_000;
const LOST_SHOWN = 20;

/**
 * Hashes all rows, operations and words again (design: mesh, "A weekly scrub") and repairs what is not what it was: rows from
 * the own log, operations from a peer whose copy has the hash that the chain demands, digests, full text and indexes from
 * the rows.
 */
export async function scrub(parts: ScrubParts): Promise<Result<ScrubReport>> {
  return new Scrub(parts).run();
}

class Scrub {
  private readonly rows: Record<string, number> = {};
  private operations = 0;
  private damaged = 0;
  private restored = 0;
  private fullText = 0;
  private tables = 0;
  /** By subject: looking only, one is seen more than once. */
  private readonly repaired = new Map<string, RepairedRow>();
  private readonly lost = new Set<string>();
  private readonly digests: KindNamespace[] = [];

  constructor(private readonly parts: ScrubParts) {}

  async run(): Promise<Result<ScrubReport>> {
    const stages = [this.indexes, this.log, this.subjects, this.tombstones, this.sums, this.words];
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
      digests: this.digests,
      full_text: this.fullText,
      indexes: this.tables,
      complete,
    };
  }

  /** Before anything else: no row can be taken away that an index does not know. */
  private async indexes(): Promise<Result<null>> {
    for (let after = ''; ; ) {
      const page = await this.query({ kind: 'scrub-table', after });
      if (!page.ok) return failed(page.error);
      const { damaged: table, next } = page.value;
      if (table !== null) {
        this.tables += 1;
        const done = this.parts.dryRun ? ok(null) : await this.rebuild(table);
        if (!done.ok) return failed(done.error);
      }
      if (next === null) return ok(null);
      after = next;
    }
  }

  private rebuild(table: string) {
    return this.parts.store.execute({ kind: 'rebuild-indexes', table }, { lane: 'background' });
  }

  /** The log before the rows, because rows are judged by it. */
  private async log(): Promise<Result<null>> {
    // Each once, however many of its operations make one look closely.
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
      // Which of them fitted shows when they are looked at again.
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

  /** Looks at subjects closely; asks peers for what a row needs and the log lost. */
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
      // A stub that nobody may give is no loss; a payload that had its effect here and is gone is one.
      for (const { origin, seq, subject } of again.value.missing) {
        const stored = await this.query({ kind: 'find-operation', opId: operationId(origin, seq) });
        if (stored.ok && stored.value?.parked === null && subject !== '')
          this.lost.add(operationId(origin, seq));
      }
    }
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

  private async words(): Promise<Result<null>> {
    const before = await this.query({ kind: 'scrub-texts', range: 0, sums: false });
    if (!before.ok) return failed(before.error);
    const marks: string[] = [];
    for (let range = 0; range <= before.value.last; range += 1) {
      const rows = await this.query({ kind: 'scrub-texts', range, sums: false });
      if (!rows.ok) return failed(rows.error);
      marks.push(rows.value.mark);
    }
    const indexed = new Map<number, [number, number]>();
    for (let after: string | null = null, first = true; first || after !== null; first = false) {
      const page: Awaited<ReturnType<typeof this.wordsAfter>> = await this.wordsAfter(after);
      if (!page.ok) return failed(page.error);
      for (const { range, sum } of page.value.sums) {
        const [a, b] = indexed.get(range) ?? [0, 0];
        indexed.set(range, [(a + sum[0]) >>> 0, (b ^ sum[1]) >>> 0]);
      }
      after = page.value.next;
    }
    const ranges = [...new Set([...marks.keys(), ...indexed.keys()])].sort((a, b) => a - b);
    for (const range of ranges) {
      const texts = await this.query({ kind: 'scrub-texts', range, sums: true });
      if (!texts.ok) return failed(texts.error);
      const { sum, mark } = texts.value;
      const [a, b] = indexed.get(range) ?? [0, 0];
      // Rows that changed meanwhile are indexed with their change.
      if (mark !== (marks[range] ?? mark) || (sum[0] === a && sum[1] === b)) continue;
      this.fullText += 1;
      if (this.parts.dryRun) continue;
      const done = await this.parts.store.execute({ kind: 'reindex-rows', range }, { lane: 'background' });
      if (!done.ok) return failed(done.error);
    }
    return ok(null);
  }

  private wordsAfter(after: string | null) {
    return this.query({ kind: 'scrub-index', after, limit: INDEX_PLACES } as const);
  }

  private query: Store['query'] = (query) => this.parts.store.query(query, { lane: 'background' });

  private async repair(request: {
    readonly subjects: readonly Subject[];
    readonly operations?: readonly WireOperation[];
    readonly recount?: readonly KindNamespace[];
    readonly recountQuotas?: boolean;
  }): Promise<Result<RepairOutcome>> {
    const none = { operations: [], withheld: [], recount: [] };
    // All namespaces are counted at the end.
    const done = await repairRows(this.parts, {
      ...none,
      countLater: true,
      dryRun: this.parts.dryRun,
      ...request,
    });
    if (!done.ok) return done;
    const { repaired, restored, recounted } = done.value;
    for (const row of repaired) this.repaired.set(`${row.kind}\n${row.subject}`, row);
    this.restored += restored;
    this.digests.push(...recounted);
    return done;
  }
}

const headerOf = (operation: WireOperation): string => canonicalJson({ ...operation, payload: null });
