import { oneLine } from '../views/text.js';
import { addTo, counted, filled, firstRows, note, TITLES_SHOWN_MAX, withCounts } from './counts.js';
import type { ForeignName } from './format.js';

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
    note(this.problems, `${from}: ${what}`);
  }

  notice(what: string): void {
    note(this.notices, what);
  }

  /** A memory that is new. */
  created(title: string, namespace: string): void {
    this.imported += 1;
    if (!this.dryRun) return;
    addTo(this.fresh, namespace);
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
      ...filled({ problems: this.problems, notices: this.notices }),
    };
  }

  text(): string {
    const lines = [this.sentence()];
    if (this.dryRun) lines.push(...firstRows(this.titles.map(oneLine), this.imported));
    else if (this.run !== null) lines.push(`take it back with: mnemesh import --undo ${this.run}`);
    return `${lines.join('\n')}\n`;
  }

  sentence(): string {
    const { imported, namespace, links, format } = this;
    const linked = links === 0 ? '' : ` and ${counted(links, 'link')}`;
    const done = this.dryRun ? 'would import' : 'imported';
    const what = `${done} ${counted(imported, 'memory', 'memories')}${linked} from ${format} into ${namespace}`;
    return withCounts(what, [
      [this.updated, `${this.updated} brought up to date`],
      [this.unchanged, `${this.unchanged} unchanged`],
      [this.kept, `${this.kept} kept, because they were changed here`],
      [this.waiting, `${this.waiting} wait for approval`],
      [this.looseLinks, `${counted(this.looseLinks, 'link')} to what is not in the source`],
      [this.leftOut, `${this.leftOut} left out`],
    ]);
  }
}
