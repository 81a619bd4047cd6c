import { oneLine } from '../views/text.js';
import type { Conversation } from './conversation.js';
import type { FormatName } from './formats/format.js';
import type { MineOptions } from './mine-options.js';
import type { Problems } from './source-file.js';

const PROBLEMS_SHOWN_MAX = 100;
const TITLES_SHOWN_MAX = 20;

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
    if (this.problems.length < PROBLEMS_SHOWN_MAX) this.problems.push(`${path}: ${problem}`);
  }

  want({ format, namespace, conversation }: WantedRow): void {
    const { title, content, messages } = conversation;
    this.fresh.set(namespace, (this.fresh.get(namespace) ?? 0) + 1);
    this.wanted.push({ title, content_length: Buffer.byteLength(content), messages, source: format });
  }

  json(): Record<string, unknown> {
    const { total, filtered, known, wanted, problems, options } = this;
    const told = {
      ...(problems.length === 0 ? {} : { problems }),
      ...(this.notices.length === 0 ? {} : { notices: this.notices }),
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
    const shown = this.wanted.slice(0, TITLES_SHOWN_MAX);
    const more = this.wanted.length - shown.length;
    return [
      `would import ${this.wanted.length} of ${this.total} conversations${this.left()}`,
      ...shown.map(({ title, messages, source }) => `  ${oneLine(title)} (${source}, ${messages} messages)`),
      ...(more > 0 ? [`  and ${more} more`] : []),
      '',
    ].join('\n');
  }

  sentence(): string {
    const updated = this.updated === 0 ? '' : `, ${this.updated} brought up to date`;
    const waiting = this.waiting === 0 ? '' : `, ${this.waiting} wait for approval`;
    const places = [...this.namespaces].sort().join(', ');
    const into = places === '' ? '' : ` into ${places}`;
    return `imported ${this.imported} of ${this.total} conversations${into}${updated}${waiting}${this.left()}`;
  }

  private left(): string {
    const { known, filtered, errors, options } = this;
    const parts = [
      ...(known === 0 ? [] : [`${known} there already`]),
      ...(filtered === 0 ? [] : [`${filtered} with fewer than ${options.messagesMin} messages`]),
      ...(errors === 0 ? [] : [`${errors} problems`]),
    ];
    return parts.length === 0 ? '' : `; ${parts.join(', ')}`;
  }
}
