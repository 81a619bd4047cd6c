import type { Caller } from '../../node/identity/caller.js';
import type { LocalRunner } from '../../node/local/local-runner.js';
import { memoryBulk } from '../../node/operations/core/memory-bulk.js';
import { memorySearch } from '../../node/operations/core/memory-search.js';
import { memoryUpdate } from '../../node/operations/lifecycle/memory-update.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { systemCrypto } from '../../node/seams.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Conversation } from './conversation.js';
import { quotaEnd } from './day-quota.js';
import type { FormatName } from './formats/format.js';
import type { MineOptions } from './mine-options.js';
import type { MineReport } from './mine-report.js';

export interface MinerParts {
  readonly runner: LocalRunner;
  readonly caller: Caller;
  readonly options: MineOptions;
  readonly report: MineReport;
}

/** Memories that are stored in one call. */
const BATCH_MAX = 100;
const BATCH_CHARACTERS_MAX = 4 * 1024 * 1024;
/** Questions that are asked at once. */
const ASKED_AT_ONCE = 8;
const CONFIDENCE = 0.8;
/** An id that is longer is named by its digest. */
const ID_LENGTH_MAX = 200;

interface Row {
  readonly format: FormatName;
  readonly namespace: string;
  readonly uri: string;
  readonly conversation: Conversation;
}

interface Stored {
  readonly id: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Stores conversations as memories. The source of each names its conversation, so none is stored twice. */
export class Miner {
  private rows: Row[] = [];
  private characters = 0;
  private readonly seen = new Set<string>();

  constructor(private readonly parts: MinerParts) {}

  async take(format: FormatName, conversation: Conversation): Promise<Result<null>> {
    const { options, report } = this.parts;
    report.total += 1;
    const namespace = options.namespace ?? namespaceOf(format);
    report.namespaces.add(namespace);
    if (conversation.messages < options.messagesMin) {
      report.filtered += 1;
      return ok(null);
    }
    const uri = `uri:mine-${format}:${nameOf(conversation.id)}`;
    if (this.seen.has(uri)) {
      report.known += 1;
      return ok(null);
    }
    this.seen.add(uri);
    this.rows.push({ format, namespace, uri, conversation });
    this.characters += conversation.content.length;
    const isFull = this.rows.length >= BATCH_MAX || this.characters >= BATCH_CHARACTERS_MAX;
    return isFull ? this.finish() : ok(null);
  }

  /** Stores what was taken. */
  async finish(): Promise<Result<null>> {
    const rows = this.rows;
    this.rows = [];
    this.characters = 0;
    const fresh: Row[] = [];
    for (let from = 0; from < rows.length; from += ASKED_AT_ONCE) {
      const asked = rows.slice(from, from + ASKED_AT_ONCE);
      const found = await Promise.all(asked.map((row) => this.storedAs(row)));
      for (const [index, stored] of found.entries()) {
        if (!stored.ok) return failed(stored.error);
        const row = asked[index]!;
        if (stored.value === null) fresh.push(row);
        else if (!(await this.bringUpToDate(row, stored.value))) this.parts.report.known += 1;
      }
    }
    return fresh.length === 0 ? ok(null) : this.store(fresh);
  }

  private async storedAs({ namespace, uri }: Row): Promise<Result<Stored | null>> {
    const found = await this.run(memorySearch, { namespace, source_uri: uri, limit: 1 });
    if (!found.ok) return failed(found.error);
    const [stored] = found.value['results'] as readonly Stored[];
    return ok(stored ?? null);
  }

  /** A session that has grown replaces its imported rows, unless they were edited. */
  private async bringUpToDate(row: Row, { id, content, metadata }: Stored): Promise<boolean> {
    const { options, report } = this.parts;
    const isEdited = metadata['mined_sha256'] !== systemCrypto.sha256Hex(content);
    if (isEdited || content === row.conversation.content) return false;
    if (options.dryRun) {
      report.updated += 1;
      return true;
    }
    const { agent_id: _agent, attest_level: _level, attested_by: _by, ...kept } = metadata;
    const changed = { id, content: row.conversation.content, metadata: { ...kept, ...metadataOf(row) } };
    const answer = await this.run(memoryUpdate, changed);
    if (answer.ok) report.updated += 1;
    else report.add(row.conversation.file, answer.error.message);
    return true;
  }

  private async store(rows: readonly Row[]): Promise<Result<null>> {
    const { options, report } = this.parts;
    if (options.dryRun) {
      for (const row of rows) report.want(row);
      return ok(null);
    }
    const memories = rows.map((row) => ({
      title: row.conversation.title,
      content: row.conversation.content,
      namespace: row.namespace,
      tier: options.tier,
      confidence: CONFIDENCE,
      source: `mine-${row.format}`,
      source_uri: row.uri,
      // It is a conversation by itself.
      conversation: row.uri,
      turn: 0,
      tags: [`mine-${row.format}`],
      on_conflict: options.onConflict,
      metadata: metadataOf(row),
    }));
    const answer = await this.run(memoryBulk, { memories });
    if (!answer.ok) return failed(answer.error);
    let full: Readonly<Record<string, unknown>> | null = null;
    for (const result of answer.value['results'] as readonly Readonly<Record<string, unknown>>[]) {
      const { file, title } = rows[Number(result['index'])]!.conversation;
      if (result['code'] === 'QUOTA_EXCEEDED') full ??= result;
      else if (result['code'] !== undefined) report.add(file, `"${title}": ${result['error']}`);
      else if (result['pending_id'] !== undefined) report.waiting += 1;
      else if (result['duplicate'] === true) report.updated += 1;
      else report.imported += 1;
    }
    return full === null ? ok(null) : quotaEnd(String(full['error']), full['limit']);
  }

  private run(operation: Operation, input: Record<string, unknown>) {
    const { runner, caller } = this.parts;
    return runner.run(operation, { surface: 'cli', caller, input, unknownFields: 'refuse' });
  }
}

const metadataOf = ({ conversation }: Row) => ({
  mined_from: conversation.file,
  mined_messages: conversation.messages,
  mined_sha256: systemCrypto.sha256Hex(conversation.content),
  ...(conversation.cut ? { mined_cut: true } : {}),
  ...(conversation.startedAt === null ? {} : { started_at: conversation.startedAt }),
});

/** Chats are exported; agents write sessions. */
const namespaceOf = (format: FormatName): string =>
  ['claude', 'chatgpt', 'slack'].includes(format) ? `${format}-export` : `${format}-sessions`;

/** The id in a source of a memory, which has no control characters. */
function nameOf(id: string): string {
  const name = encodeURIComponent(id.toWellFormed());
  return name.length <= ID_LENGTH_MAX ? name : systemCrypto.sha256Hex(id);
}
