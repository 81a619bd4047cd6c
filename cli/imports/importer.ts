import { memoryStore } from '../../node/operations/core/memory-store.js';
import { memoryLink } from '../../node/operations/graph/memory-link.js';
import { memoryUpdate } from '../../node/operations/lifecycle/memory-update.js';
import type { Answer } from '../../node/pipeline/answer.js';
import type { Operation } from '../../node/pipeline/operation.js';
import { parseInput } from '../../node/pipeline/parse.js';
import { systemCrypto } from '../../node/seams.js';
import { uuidOfDigest } from '../../protocol/base/ids.js';
import { detailsOf, type Failure, failed, ok, type Result } from '../../protocol/base/result.js';
import { utf8Bytes } from '../../protocol/base/utf8.js';
import { dayQuotaNotices, quotaEnd } from '../mine/day-quota.js';
import type { ForeignName, SourceRow } from './format.js';
import type { ImportReport } from './import-report.js';
import { type ImportedRow, type Importing, importedRow, inTurns, isUntouched } from './imported-rows.js';
import { namespaceFor } from './namespace-for.js';
import { contentOf, partsOf, tagsOf, titleOf } from './row-text.js';
import type { RunJournal } from './run-journal.js';
import { SourceLinks } from './source-links.js';

export interface ImporterParts extends Importing {
  readonly format: ForeignName;
  /** Names the source, the namespace and the caller. */
  readonly source: string;
  /** True for what came through a pipe: nothing says whether two of them are one source. */
  readonly isPiped: boolean;
  readonly namespace: string;
  readonly folders: boolean;
  readonly tier: string;
  readonly dryRun: boolean;
  readonly report: ImportReport;
  /** Begins the run. */
  readonly begin: () => RunJournal;
}

const BATCH_MAX = 64;
const BATCH_CHARACTERS_MAX = 4 * 1024 * 1024;
const ASKED_AT_ONCE = 16;
const KEY_LENGTH_MAX = 200;
/** What a source says beside its text takes at most this many bytes. */
const CLAIMS_BYTES_MAX = 16_384;

/** A row as it is stored. */
interface Ready {
  readonly uri: string;
  readonly from: string;
  readonly names: readonly string[];
  readonly digest: string;
  readonly text: {
    readonly title: string;
    readonly content: string;
    readonly tags: readonly string[];
    readonly kind?: string;
  };
  readonly namespace: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

/**
 * Stores the rows of a source as memories, by ordinary stores. The `source_uri` of each names its row, and its id follows
 * from it, so none is stored twice; a row that changed in its source replaces its memory, unless somebody changed that here.
 */
export class Importer {
  private ready: Ready[] = [];
  private characters = 0;
  private readonly seen = new Set<string>();
  private readonly links = new SourceLinks();
  private journal: RunJournal | null = null;

  constructor(private readonly parts: ImporterParts) {}

  async take(row: SourceRow): Promise<Result<null>> {
    const { report } = this.parts;
    const content = contentOf(row.content);
    if (content === '') {
      report.notice(`${row.from}: holds no text`);
      return ok(null);
    }
    const key = this.keyOf(row);
    const uri = this.uriOf(key);
    if (this.seen.has(uri)) {
      report.problem(row.from, 'is in the source already, under the same id');
      return ok(null);
    }
    const namespace = namespaceFor(row, this.parts);
    if (!namespace.ok) {
      report.problem(row.from, namespace.error.message);
      return ok(null);
    }
    this.seen.add(uri);
    this.links.names(uri, row);
    const texts = partsOf(content);
    const title = titleOf(row.title, content);
    for (const [index, part] of texts.entries()) {
      const isFirst = index === 0;
      const partUri = isFirst ? uri : this.uriOf(`${key}#${index + 1}`);
      if (!isFirst) this.links.part(partUri, uri);
      this.ready.push({
        ...{ uri: partUri, from: row.from, names: isFirst ? row.names : [], namespace: namespace.value },
        ...this.textOf(
          row,
          part,
          texts.length === 1 ? title : `${title} (part ${index + 1} of ${texts.length})`,
        ),
        claims: this.claimsOf(row),
      });
      this.characters += part.length;
    }
    const isFull = this.ready.length >= BATCH_MAX || this.characters >= BATCH_CHARACTERS_MAX;
    return isFull ? this.flush() : ok(null);
  }

  /** Stores what was taken, and links it. */
  async finish(): Promise<Result<null>> {
    const stored = await this.flush();
    if (!stored.ok) return stored;
    const linked = await this.link();
    if (!linked.ok) return linked;
    const quota = await dayQuotaNotices(this.parts, this.parts.report.fresh);
    if (!quota.ok) return failed(quota.error);
    for (const each of quota.value) this.parts.report.notice(each);
    const { imported, updated, unchanged, kept, waiting, leftOut, links } = this.parts.report;
    this.journal?.end({ imported, updated, unchanged, kept, waiting, left_out: leftOut, links });
    return ok(null);
  }

  private textOf(row: SourceRow, content: string, title: string): Pick<Ready, 'digest' | 'text'> {
    const text = {
      ...{ title, content, tags: tagsOf(row.tags) },
      ...(row.kind === null ? {} : { kind: row.kind }),
    };
    return { text, digest: systemCrypto.sha256Hex(JSON.stringify(text)) };
  }

  private claimsOf({ claims, from }: SourceRow): Readonly<Record<string, unknown>> {
    if (Object.keys(claims).length === 0) return {};
    if (utf8Bytes(JSON.stringify(claims)) <= CLAIMS_BYTES_MAX) return { import_claims: claims };
    this.parts.report.notice(`${from}: what it says beside its text is too large to be kept`);
    return {};
  }

  /** Of a pipe the text belongs to the key, so that a row of another source with the same id never replaces a memory. */
  private keyOf({ key, title, content, tags, kind }: SourceRow): string {
    if (!this.parts.isPiped) return key;
    return `${key}/${systemCrypto.sha256Hex(JSON.stringify([title, content, tags, kind]))}`;
  }

  private uriOf(key: string): string {
    const { format, source } = this.parts;
    const name = encodeURIComponent(key.toWellFormed());
    const short = name.length <= KEY_LENGTH_MAX ? name : systemCrypto.sha256Hex(key);
    return `uri:import-${format}:${source.slice(0, 16)}/${short}`;
  }

  private async flush(): Promise<Result<null>> {
    const ready = this.ready;
    this.ready = [];
    this.characters = 0;
    const found = await inTurns(ready, ASKED_AT_ONCE, (row) => importedRow(this.parts, row.uri));
    const fresh: Ready[] = [];
    const changed: [Ready, ImportedRow][] = [];
    for (const [index, here] of found.entries()) {
      if (!here.ok) return failed(here.error);
      const row = ready[index]!;
      if (here.value === null) {
        fresh.push(row);
        continue;
      }
      this.links.stored(row.uri, here.value.id);
      if (here.value.metadata['import_sha256'] === row.digest) this.parts.report.unchanged += 1;
      else if (isUntouched(here.value)) changed.push([row, here.value]);
      else this.parts.report.kept += 1;
    }
    if (fresh.length === 0 && changed.length === 0) return ok(null);
    return this.parts.dryRun ? this.announce(fresh, changed) : this.write(fresh, changed);
  }

  private announce(fresh: readonly Ready[], changed: readonly [Ready, ImportedRow][]): Result<null> {
    const { report } = this.parts;
    for (const row of fresh) {
      const checked = parseInput(memoryStore, this.inputOf(row, 'none'), 'refuse');
      if (!checked.ok) {
        report.problem(row.from, checked.error.message);
        continue;
      }
      report.created(row.text.title, row.namespace);
      this.links.stored(row.uri, row.uri);
    }
    report.updated += changed.length;
    return ok(null);
  }

  private async write(
    fresh: readonly Ready[],
    changed: readonly [Ready, ImportedRow][],
  ): Promise<Result<null>> {
    this.journal ??= this.parts.begin();
    const { run } = this.journal;
    this.parts.report.run = run;
    this.journal.rows([...fresh, ...changed.map(([row]) => row)].map(({ uri }) => uri));
    const answers = await Promise.all([
      ...fresh.map(async (row) => this.stored(row, await this.store(row, run))),
      ...changed.map(async ([row, here]) => this.updated(row, await this.update(row, here, run))),
    ]);
    return answers.find((answer) => !answer.ok) ?? ok(null);
  }

  private inputOf(row: Ready, run: string): Record<string, unknown> {
    const { tier } = this.parts;
    return {
      ...row.text,
      ...{ tier, namespace: row.namespace, source: 'import', source_uri: row.uri },
      metadata: { ...metadataOf(row, run), import_version: 1 },
      ...{ on_conflict: 'version', force: true, detect_conflicts: false },
    };
  }

  /** The id of a new memory follows from its source, so two imports at the same time make one. */
  private async store(row: Ready, run: string): Promise<Answer> {
    const input = this.inputOf(row, run);
    const key = uuidOfDigest(systemCrypto.sha256Hex(`mnemesh import ${this.parts.source} ${row.uri}`));
    const answer = await this.call(memoryStore, input, { key, again: true });
    // A call that is repeated does not say why a hook denied it; this memory was not here before.
    return !answer.ok && answer.error.code === 'ACTOR_RESTARTED' ? this.call(memoryStore, input, {}) : answer;
  }

  private stored(row: Ready, answer: Answer): Result<null> {
    const { report } = this.parts;
    if (!answer.ok) return this.refused(row, answer.error);
    if (answer.waits === true) report.waiting += 1;
    else {
      report.created(row.text.title, row.namespace);
      this.links.stored(row.uri, String(answer.value['id']));
    }
    return ok(null);
  }

  private update(row: Ready, here: ImportedRow, run: string): Promise<Answer> {
    const { agent_id: _agent, attest_level: _level, attested_by: _by, ...kept } = here.metadata;
    const { import_claims: _claims, import_run: madeBy, ...others } = kept;
    const metadata = {
      ...others,
      ...metadataOf(row, String(madeBy)),
      ...{ import_updated_by: run, import_version: here.version + 1 },
    };
    return this.call(
      memoryUpdate,
      { id: here.id, ...row.text, metadata, expected_version: here.version },
      {},
    );
  }

  private updated(row: Ready, answer: Answer): Result<null> {
    const { report } = this.parts;
    if (answer.ok && answer.waits === true) report.waiting += 1;
    else if (answer.ok) report.updated += 1;
    else if (answer.error.code === 'VERSION_CONFLICT') report.kept += 1;
    else return this.refused(row, answer.error);
    return ok(null);
  }

  /** A quota that is used up ends the import; any other refusal is of one row. */
  private refused({ from, text }: Ready, failure: Failure): Result<null> {
    const { code, message } = failure;
    if (code === 'QUOTA_EXCEEDED') return quotaEnd(message, detailsOf(failure, code)?.limit);
    this.parts.report.problem(from, `"${text.title}": ${message}`);
    return ok(null);
  }

  private async link(): Promise<Result<null>> {
    const { report, dryRun } = this.parts;
    const { links, loose } = this.links.resolved();
    report.looseLinks = loose;
    if (dryRun) {
      report.links = links.length;
      return ok(null);
    }
    const answers = await inTurns(links, BATCH_MAX, (link) => this.call(memoryLink, { ...link }, {}));
    for (const [index, answer] of answers.entries()) {
      if (answer.ok) report.links += answer.waits !== true && answer.value['created'] === true ? 1 : 0;
      else report.problem(`link from ${links[index]!.source_id}`, answer.error.message);
    }
    return ok(null);
  }

  private call(
    operation: Operation,
    input: Record<string, unknown>,
    repeated: { readonly key?: string; readonly again?: boolean },
  ): Promise<Answer> {
    const { runner, caller } = this.parts;
    return runner.run(operation, { surface: 'cli', caller, input, unknownFields: 'refuse', ...repeated });
  }
}

const metadataOf = ({ from, digest, claims }: Ready, run: string) => ({
  ...{ import_run: run, import_from: from, import_sha256: digest },
  ...claims,
});
