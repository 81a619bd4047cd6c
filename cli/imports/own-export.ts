import { parseJsonText } from '../../node/http/json-body.js';
import { memoryImport } from '../../node/operations/lifecycle/memory-import.js';
import { operatorView } from '../../node/transfer/operator-view.js';
import { IMPORT_MEMORIES_MAX, IMPORT_ROW_BYTES_MAX } from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import { isSet } from '../global-flags.js';
import { type JsonItem, JsonItems } from '../json-items.js';
import { withLocalRunner } from '../local-node.js';
import type { SourceFile } from '../mine/source-file.js';
import { Progress } from '../progress.js';
import type { Terminal } from '../terminal.js';
import { type Chunk, ImportTotals, LISTS } from './export-totals.js';
import type { Importing } from './imported-rows.js';
import type { ExportChanges, RunJournal } from './run-journal.js';
import type { ReadyLink } from './source-links.js';

/** Characters of the rows that are sent in one call. */
const CHUNK_CHARACTERS_MAX = 4 * 1024 * 1024;

/** An export that is imported, and where its run is kept. */
export interface OwnExport {
  readonly file: SourceFile;
  readonly begin: () => RunJournal;
}

/** Imports an export of this service, of any size, in calls of 1000 memories (interface §4.10). */
export const importOwnExport = (
  parsed: ParsedArguments,
  terminal: Terminal,
  source: OwnExport,
): Promise<Result<number>> =>
  withLocalRunner(parsed, (runner, caller) => run(parsed, terminal, { runner, caller, ...source }));

async function run(
  parsed: ParsedArguments,
  terminal: Terminal,
  source: Importing & OwnExport,
): Promise<Result<number>> {
  const permitted = operatorView(source.caller);
  if (!permitted.ok) return failed(permitted.error);
  const trusted = parsed.flags.get('trust-source')?.at(-1) === 'true';
  const onConflict = parsed.flags.get('on-conflict')?.at(-1);
  const dryRun = isSet(parsed, 'dry-run');
  const progress = new Progress(process.stderr, dryRun ? 'memories looked at:' : 'imported memories:');
  const totals = new ImportTotals(dryRun);
  const calls = new ExportCalls(source, totals, {
    trust_source: trusted,
    ...(onConflict === undefined ? {} : { on_conflict: onConflict }),
  });
  const read = await readDocument(source.file.read(), async (chunk) => {
    const sent = dryRun ? await calls.look(chunk) : await calls.import(chunk);
    progress.update(totals.imported);
    return sent;
  });
  progress.end();
  const json = parsed.flags.has('json');
  // Rows imported before the input broke off are kept, and the error must say so.
  if (!read.ok) {
    const { code, message } = read.error;
    const before = totals.imported === 0 ? 'nothing was imported' : `${totals.sentence()} before that`;
    const said = dryRun ? message : `${message}; ${before}`;
    return fail(code, said, json ? totals.json(trusted) : undefined);
  }
  calls.end();
  if (!json) for (const line of [...totals.errors, ...totals.notices()]) await terminal.complain(`${line}\n`);
  const back = totals.run === null ? '' : `take it back with: mnemesh import --undo ${totals.run}\n`;
  await terminal.print(json ? `${JSON.stringify(totals.json(trusted))}\n` : `${totals.sentence()}\n${back}`);
  return ok(totals.failed === 0 ? 0 : 1);
}

/** The calls of `memory_import` that an import makes, and what its journal says of them. */
class ExportCalls {
  private journal: RunJournal | null = null;

  constructor(
    private readonly source: Importing & OwnExport,
    private readonly totals: ImportTotals,
    private readonly choices: Readonly<Record<string, unknown>>,
  ) {}

  /** Says what would become of the memories, and counts the links and records. */
  async look(chunk: Chunk): Promise<Result<null>> {
    const answer = await this.call({ memories: chunk.memories, dry_run: true });
    if (answer.ok) this.totals.add(answer.value, chunk);
    return answer.ok ? ok(null) : failed(answer.error);
  }

  /** Imports rows. What is about to happen to the memories is written down first, for a run that is killed. */
  async import(chunk: Chunk): Promise<Result<null>> {
    const { totals } = this;
    const planned = await this.plan(chunk);
    if (!planned.ok) return planned;
    const answer = await this.call({
      memories: chunk.memories,
      links: totals.withMergedEnds(chunk.links),
      ...(chunk.records.length === 0 ? {} : { records: totals.withMergedMemories(chunk.records) }),
    });
    if (!answer.ok) return failed(answer.error);
    totals.add(answer.value, chunk);
    const done = changesOf(answer.value);
    if (planned.value || changes(done)) this.begun().settle(done, planned.value);
    return ok(null);
  }

  /** Writes down what would become of the memories; false where nothing would. */
  private async plan({ memories }: Chunk): Promise<Result<boolean>> {
    if (memories.length === 0) return ok(false);
    const answer = await this.call({ memories, dry_run: true });
    if (!answer.ok) return failed(answer.error);
    const plan = changesOf(answer.value);
    if (!changes(plan)) return ok(false);
    this.begun().plan(plan);
    return ok(true);
  }

  end(): void {
    this.journal?.end(this.totals.done());
  }

  private begun(): RunJournal {
    this.journal ??= this.source.begin();
    this.totals.run = this.journal.run;
    return this.journal;
  }

  private call(input: Readonly<Record<string, unknown>>) {
    const { runner, caller } = this.source;
    return runner.run(memoryImport, {
      ...{ surface: 'cli', caller, unknownFields: 'refuse' },
      input: { ...this.choices, ...input, list_changes: true },
    });
  }
}

const changesOf = (answer: Readonly<Record<string, unknown>>): ExportChanges => ({
  made: answer['created'] as Record<string, number>,
  changed: answer['updated'] as Record<string, number>,
  links: answer['new_links'] as readonly ReadyLink[],
  records: Number(answer['new_records']),
});

const changes = ({ made, changed, links, records }: ExportChanges): boolean =>
  Object.keys(made).length + Object.keys(changed).length + links.length + records > 0;

/** Reads the document and hands over its rows; links and records wait for the memories, which may come after them. */
async function readDocument(
  source: AsyncIterable<Uint8Array>,
  send: (chunk: Chunk) => Promise<Result<null>>,
): Promise<Result<null>> {
  const items = new JsonItems(LISTS, IMPORT_ROW_BYTES_MAX);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rows: Chunk = { memories: [], links: [], records: [] };
  let characters = 0;
  let memoriesSeen = false;
  const take = async (item: JsonItem): Promise<Result<null>> => {
    const value = parseJsonText(item.text);
    if (!value.ok) return failed(value.error);
    characters += item.text.length;
    const list = rows[item.list as keyof Chunk];
    list.push(value.value);
    const isMemory = item.list === 'memories';
    if (isMemory) memoriesSeen = true;
    const full = rows.memories.length >= IMPORT_MEMORIES_MAX || characters >= CHUNK_CHARACTERS_MAX;
    const othersFull = memoriesSeen && !isMemory && list.length >= IMPORT_MEMORIES_MAX;
    return full || othersFull ? flush(othersFull) : ok(null);
  };
  const flush = async (withOthers: boolean): Promise<Result<null>> => {
    const { memories } = rows;
    const held = withOthers ? rows : { memories, links: [], records: [] };
    rows = { ...(withOthers ? { links: [], records: [] } : rows), memories: [] };
    characters = 0;
    for (const chunk of callsOf(held)) {
      const sent = await send(chunk);
      if (!sent.ok) return sent;
    }
    return ok(null);
  };
  try {
    for await (const bytes of source) {
      const taken = items.take(decoder.decode(bytes, { stream: true }));
      if (!taken.ok) return taken;
      for (const item of taken.value) {
        const done = await take(item);
        if (!done.ok) return done;
      }
    }
    decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) return fail('MALFORMED_BODY', 'the input is not valid UTF-8');
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    return fail(
      'INVALID_ARGUMENT',
      `cannot read the input: ${code === 'ENOENT' ? 'there is no such file' : code}`,
    );
  }
  const ended = items.end();
  if (!ended.ok) return ended;
  return flush(true);
}

/** Rows as calls take them: records that stand before the memories may be many. */
function* callsOf({ memories, links, records }: Chunk): Generator<Chunk> {
  const first = { memories, links, records: records.slice(0, IMPORT_MEMORIES_MAX) };
  if (LISTS.some((list) => first[list].length > 0)) yield first;
  for (let at = IMPORT_MEMORIES_MAX; at < records.length; at += IMPORT_MEMORIES_MAX) {
    yield { memories: [], links: [], records: records.slice(at, at + IMPORT_MEMORIES_MAX) };
  }
}
