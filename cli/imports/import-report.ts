import { oneLine } from '../views/text.js';
import type { ForeignName } from './format.js';

const PROBLEMS_SHOWN_MAX = 100;
const TITLES_SHOWN_MAX = 20;

/** What an import found and did. */
export class ImportReport {
  /** The run, once something was written. */
  run: string | null = null;
  imported = 0;
  updated = 0;
  unchanged = 0;
  /** Memories that somebody changed here since they were imported, while their source changed too. */
  kept = 0;
  waiting = 0;
  links = 0;
  /** Relations whose other end is not in the source. */
  looseLinks = 0;
  /** Rows and files that could not be taken. */
  leftOut = 0;
  readonly problems: string[] = [];
  /** What is worth to know and lost nothing. */
  readonly notices: string[] = [];
  /** How many memories would be new, by namespace; in a dry run. */
  readonly fresh = new Map<string, number>();
  private readonly titles: string[] = [];

  constructor(
    readonly format: ForeignName,
    readonly namespace: string,
    readonly dryRun: boolean,
  ) {}

  /** A row or a file that was left out. */
  problem(from: string, what: string): void {
    this.leftOut += 1;
    if (this.problems.length < PROBLEMS_SHOWN_MAX) this.problems.push(`${from}: ${what}`);
  }

  notice(what: string): void {
    if (this.notices.length < PROBLEMS_SHOWN_MAX) this.notices.push(what);
  }

  /** A memory that is new. */
  created(title: string, namespace: string): void {
    this.imported += 1;
    if (!this.dryRun) return;
    this.fresh.set(namespace, (this.fresh.get(namespace) ?? 0) + 1);
    if (this.titles.length < TITLES_SHOWN_MAX) this.titles.push(title);
  }

  get total(): number {
    return this.imported + this.updated + this.unchanged + this.kept + this.waiting + this.leftOut;
  }

  json(): Record<string, unknown> {
    const { format, namespace, run, imported, updated, unchanged, kept, waiting, links, looseLinks } = this;
    return {
      ...(this.dryRun ? { dry_run: true } : {}),
      ...{ format, namespace, ...(run === null ? {} : { run }) },
      ...{ imported, updated, unchanged, kept, waiting, left_out: this.leftOut, links },
      ...(looseLinks === 0 ? {} : { loose_links: looseLinks }),
      ...(this.dryRun ? { titles: this.titles } : {}),
      ...(this.problems.length === 0 ? {} : { problems: this.problems }),
      ...(this.notices.length === 0 ? {} : { notices: this.notices }),
    };
  }

  text(): string {
    const lines = [this.sentence()];
    if (this.dryRun) {
      lines.push(...this.titles.map((title) => `  ${oneLine(title)}`));
      const more = this.imported - this.titles.length;
      if (more > 0) lines.push(`  and ${more} more`);
    } else if (this.run !== null) lines.push(`take it back with: mnemesh import --undo ${this.run}`);
    return `${lines.join('\n')}\n`;
  }

  sentence(): string {
    const { imported, namespace, links, format } = this;
    const linked = links === 0 ? '' : ` and ${counted(links, 'link')}`;
    const done = this.dryRun ? 'would import' : 'imported';
    const what = `${done} ${counted(imported, 'memory', 'memories')}${linked} from ${format} into ${namespace}`;
    const rest = [
      [this.updated, `${this.updated} brought up to date`],
      [this.unchanged, `${this.unchanged} unchanged`],
      [this.kept, `${this.kept} kept, because they were changed here`],
      [this.waiting, `${this.waiting} wait for approval`],
      [this.looseLinks, `${counted(this.looseLinks, 'link')} to what is not in the source`],
      [this.leftOut, `${this.leftOut} left out`],
    ] as const;
    const parts = rest.filter(([count]) => count > 0).map(([, text]) => text);
    return parts.length === 0 ? what : `${what}; ${parts.join(', ')}`;
  }
}

const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
