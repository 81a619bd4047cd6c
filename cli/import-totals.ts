/** This many errors are shown one by one; the rest is counted. */
const ERRORS_TOLD_MAX = 1000;

interface Counts {
  readonly imported: number;
  readonly unchanged: number;
  readonly restamped: number;
  readonly links: number;
  readonly merged?: Readonly<Record<string, string>>;
  readonly errors: readonly string[];
}

/** Rows that go together. */
export interface Chunk {
  readonly memories: unknown[];
  readonly links: unknown[];
}

/** The totals over the calls of one import. */
export class ImportTotals {
  imported = 0;
  failed = 0;
  readonly errors: string[] = [];
  private unchanged = 0;
  private restamped = 0;
  private links = 0;
  private readonly sent = { memories: 0, links: 0 };
  private readonly merged = new Map<string, string>();

  /** Adds an answer of `memory_import`; its errors count from the start of the whole input. */
  add(answer: Record<string, unknown>, chunk: Chunk): void {
    const counts = answer as unknown as Counts;
    this.imported += counts.imported;
    this.unchanged += counts.unchanged;
    this.restamped += counts.restamped;
    this.links += counts.links;
    this.failed += counts.errors.length;
    for (const [from, to] of Object.entries(counts.merged ?? {})) this.merged.set(from, to);
    for (const error of counts.errors.slice(0, ERRORS_TOLD_MAX - this.errors.length)) {
      this.errors.push(
        error.replace(/^(memories|links)\[(\d+)\]/, (_, list: 'memories' | 'links', index: string) => {
          return `${list}[${this.sent[list] + Number(index)}]`;
        }),
      );
    }
    this.sent.memories += chunk.memories.length;
    this.sent.links += chunk.links.length;
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

  json(trusted: boolean): Record<string, unknown> {
    const { imported, unchanged, restamped, links, failed, errors } = this;
    return { imported, unchanged, restamped, links, trusted_source: trusted, failed, errors };
  }

  sentence(): string {
    const { imported, unchanged, restamped, links, failed } = this;
    return `imported ${imported} memories (${unchanged} unchanged, ${restamped} restamped) and ${links} links; ${failed} errors`;
  }
}
