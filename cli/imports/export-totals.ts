import { withMergedMemories } from '../../node/transfer/import-record.js';

/** Most errors that are shown one by one; the rest is counted. */
const ERRORS_SHOWN_MAX = 1000;

/** The place of an error in the text of `memory_import`. */
const PLACE = /^(memories|links|records)\[(\d+)\]/;

interface Counts {
  readonly imported: number;
  readonly unchanged: number;
  readonly restamped: number;
  readonly kept: number;
  readonly kept_ids?: readonly string[];
  readonly left_out?: Readonly<Record<string, number>>;
  readonly links: number;
  readonly records?: number;
  readonly merged?: Readonly<Record<string, string>>;
  readonly created: Readonly<Record<string, number>>;
  readonly updated: Readonly<Record<string, number>>;
  readonly errors: readonly string[];
}

/** Rows that are sent together. */
export interface Chunk {
  readonly memories: unknown[];
  readonly links: unknown[];
  readonly records: unknown[];
}

type List = keyof Chunk;
/** The lists of an export, in the order in which they are imported. */
export const LISTS = ['memories', 'links', 'records'] as const satisfies readonly List[];

/** The end of a sentence that counts memories. Most nodes have no records. */
export function linksAndRecords(links: number, records: number): string {
  return records === 0 ? ` and ${links} links` : `, ${links} links and ${records} records`;
}

/** The totals over the calls of one import. */
export class ImportTotals {
  /** The run, once something was written. */
  run: string | null = null;
  imported = 0;
  failed = 0;
  readonly errors: string[] = [];
  /** Ids of memories that stayed as they are, as far as they are shown. */
  readonly keptIds: string[] = [];
  /** Rows that only a trusted source brings in, by kind. */
  readonly leftOut: Record<string, number> = {};
  private kept = 0;
  private created = 0;
  private updated = 0;
  private unchanged = 0;
  private restamped = 0;
  private links = 0;
  private records = 0;
  private readonly sent = { memories: 0, links: 0, records: 0 };
  private readonly merged = new Map<string, string>();

  constructor(private readonly dryRun: boolean) {}

  /** Adds an answer of `memory_import`; its errors count from the start of the whole input. */
  add(answer: Record<string, unknown>, chunk: Chunk): void {
    const counts = answer as unknown as Counts;
    this.imported += counts.imported;
    this.created += Object.keys(counts.created).length;
    this.updated += Object.keys(counts.updated).length;
    this.unchanged += counts.unchanged;
    this.restamped += counts.restamped;
    this.kept += counts.kept;
    this.keptIds.push(...(counts.kept_ids ?? []).slice(0, ERRORS_SHOWN_MAX - this.keptIds.length));
    for (const [kind, count] of Object.entries(counts.left_out ?? {}))
      this.leftOut[kind] = (this.leftOut[kind] ?? 0) + count;
    this.links += counts.links;
    this.records += counts.records ?? 0;
    this.failed += counts.errors.length;
    for (const [from, to] of Object.entries(counts.merged ?? {})) this.merged.set(from, to);
    for (const error of counts.errors.slice(0, ERRORS_SHOWN_MAX - this.errors.length)) {
      this.errors.push(
        error.replace(PLACE, (_, list: List, index: string) => `${list}[${this.sent[list] + Number(index)}]`),
      );
    }
    for (const list of LISTS) this.sent[list] += chunk[list].length;
  }

  /** Maps records whose memory was merged into another row by an earlier call. */
  withMergedMemories(records: readonly unknown[]): unknown[] {
    return records.map((record) => withMergedMemories(record, this.merged));
  }

  /** Maps links whose end was merged into another row by an earlier call. */
  withMergedEnds(links: readonly unknown[]): unknown[] {
    if (this.merged.size === 0) return [...links];
    return links.map((link) => {
      if (typeof link !== 'object' || link === null) return link;
      const ends = link as Record<string, unknown>;
      const moved = (end: unknown) => this.merged.get(end as string) ?? end;
      return { ...ends, source_id: moved(ends['source_id']), target_id: moved(ends['target_id']) };
    });
  }

  /** What the journal of a run says at its end. */
  done(): Record<string, number> {
    const { created: imported, updated, unchanged, kept, links, records, failed } = this;
    return { imported, updated, unchanged, kept, links, records, failed };
  }

  json(trusted: boolean): Record<string, unknown> {
    if (this.dryRun) return this.dryJson(trusted);
    const { imported, unchanged, restamped, kept, links, failed, errors } = this;
    return {
      ...(this.run === null ? {} : { run: this.run }),
      ...{ imported, unchanged, restamped, kept },
      ...(kept === 0 ? {} : { kept_ids: this.keptIds }),
      links,
      ...(this.sent.records === 0 ? {} : { records: this.records }),
      ...(Object.keys(this.leftOut).length === 0 ? {} : { left_out: this.leftOut }),
      ...{ trusted_source: trusted, failed, errors },
    };
  }

  private dryJson(trusted: boolean): Record<string, unknown> {
    const { sent, created, updated, unchanged, kept, failed, errors } = this;
    return {
      ...{ dry_run: true, ...sent, created, updated, unchanged, kept },
      ...(kept === 0 ? {} : { kept_ids: this.keptIds }),
      ...(Object.keys(this.leftOut).length === 0 ? {} : { left_out: this.leftOut }),
      ...{ trusted_source: trusted, failed, errors },
    };
  }

  /** What was not done and is no error, one line each. */
  *notices(): Generator<string> {
    for (const id of this.keptIds)
      yield `memory ${id} stays as it is: it was edited here since, or the file does not say when it edited it`;
    const kinds = Object.entries(this.leftOut).map(([kind, count]) => `${count} of kind "${kind}"`);
    if (kinds.length > 0)
      yield `left out because they decide about others: ${kinds.join(', ')}; --trust-source takes them`;
  }

  /** Says what is new, what was here before, and what was left out; a memory counts once. */
  sentence(): string {
    const { imported, unchanged, updated, restamped, kept, links, records, failed, sent } = this;
    const fresh = imported - unchanged;
    const leftOut = Object.values(this.leftOut).reduce((sum, count) => sum + count, 0);
    const rest = [
      [this.dryRun ? updated : 0, `${updated} of them here with an earlier text`],
      [unchanged, `${unchanged} unchanged`],
      [kept, `${kept} kept as they are here`],
      [restamped, `${restamped} ${this.dryRun ? 'would' : 'now'} belong to the importing agent`],
      [leftOut, `${leftOut} left out`],
      [failed, `${failed} refused`],
    ] as const;
    const parts = rest.filter(([count]) => count > 0).map(([, text]) => text);
    const many = `${fresh} ${fresh === 1 ? 'memory' : 'memories'}`;
    const what = this.dryRun
      ? `would import ${many} of an export of ${sent.memories} memories${linksAndRecords(sent.links, sent.records)}`
      : `imported ${many}${linksAndRecords(links, records)}`;
    return parts.length === 0 ? what : `${what}; ${parts.join(', ')}`;
  }
}
