import { addTo, counted, filled, firstRows, note, withCounts } from '../imports/counts.js';
import { oneLine } from '../views/text.js';
import type { Conversation } from './conversation.js';
import type { FormatName } from './formats/format.js';
import type { MineOptions } from './mine-options.js';
import type { Problems } from './source-file.js';

interface Wanted {
  readonly title: string;
  readonly content_length: number;
  readonly messages: number;
  readonly source: FormatName;
}

/** A conversation that would be stored, and where. */
export interface WantedRow {
  readonly format: FormatName;
  readonly namespace: string;
  readonly conversation: Conversation;
}

/** What a call of `mine` found and did. */
export class MineReport implements Problems {
  total = 0;
  imported = 0;
  updated = 0;
  waiting = 0;
  errors = 0;
  /** Conversations with too few messages. */
  filtered = 0;
  /** Conversations that are there already. */
  known = 0;
  readonly namespaces = new Set<string>();
  readonly problems: string[] = [];
  /** What is worth to know and lost nothing. */
  readonly notices: string[] = [];
  /** How many memories would be new, by namespace; in a dry run. */
  readonly fresh = new Map<string, number>();
  private readonly wanted: Wanted[] = [];

  constructor(private readonly options: MineOptions) {}

  add(path: string, problem: string): void {
    this.errors += 1;
    note(this.problems, `${path}: ${problem}`);
  }

  want({ format, namespace, conversation }: WantedRow): void {
    const { title, content, messages } = conversation;
    addTo(this.fresh, namespace);
    this.wanted.push({ title, content_length: Buffer.byteLength(content), messages, source: format });
  }

  json(): Record<string, unknown> {
    const { total, filtered, known, wanted, problems, options } = this;
    const told = {
      ...filled({ problems, notices: this.notices }),
      ...(this.namespaces.size > 1 ? { namespaces: [...this.namespaces] } : {}),
    };
    const [namespace = options.namespace] = this.namespaces;
    const place = { namespace, tier: options.tier };
    if (options.dryRun) {
      const counts = { total_conversations: total, filtered, known, would_import: wanted.length };
      return { dry_run: true, ...counts, errors: this.errors, ...place, memories: wanted, ...told };
    }
    const { imported, updated, waiting, errors } = this;
    return {
      ...{ imported, updated, ...(waiting === 0 ? {} : { waiting }), skipped: filtered + known, errors },
      ...{ total_conversations: total, filtered, known, ...place, ...told },
    };
  }

  text(): string {
    if (!this.options.dryRun) return `${this.sentence()}\n`;
    const rows = this.wanted.map(
      ({ title, messages, source }) => `${oneLine(title)} (${source}, ${counted(messages, 'message')})`,
    );
    const done = `would import ${this.wanted.length} of ${counted(this.total, 'conversation')}`;
    return `${[this.counts(done), ...firstRows(rows)].join('\n')}\n`;
  }

  sentence(): string {
    const updated = this.updated === 0 ? '' : `, ${this.updated} brought up to date`;
    const waiting = this.waiting === 0 ? '' : `, ${this.waiting} wait for approval`;
    const places = [...this.namespaces].sort().join(', ');
    const into = places === '' ? '' : ` into ${places}`;
    const done = `imported ${this.imported} of ${counted(this.total, 'conversation')}`;
    return this.counts(`${done}${into}${updated}${waiting}`);
  }

  private counts(what: string): string {
    const { known, filtered, errors, options } = this;
    return withCounts(what, [
      [known, `${known} there already`],
      [filtered, `${filtered} with fewer than ${options.messagesMin} messages`],
      [errors, counted(errors, 'problem')],
    ]);
  }
}
