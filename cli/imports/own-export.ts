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
import { type Chunk, ImportTotals, LISTS, linksAndRecords } from './export-totals.js';
import type { Importing } from './imported-rows.js';

/** Characters of the rows that are sent in one call. */
const CHUNK_CHARACTERS_MAX = 4 * 1024 * 1024;

/** Imports an export of this service, of any size, in calls of 1000 memories (interface §4.10). */
export const importOwnExport = (
  parsed: ParsedArguments,
  terminal: Terminal,
  file: SourceFile,
): Promise<Result<number>> =>
  withLocalRunner(parsed, (runner, caller) => run(parsed, terminal, { runner, caller, file }));

async function run(
  parsed: ParsedArguments,
  terminal: Terminal,
  { runner, caller, file }: Importing & { readonly file: SourceFile },
): Promise<Result<number>> {
  const permitted = operatorView(caller);
  if (!permitted.ok) return failed(permitted.error);
  const trusted = parsed.flags.get('trust-source')?.at(-1) === 'true';
  const onConflict = parsed.flags.get('on-conflict')?.at(-1);
  const progress = new Progress(process.stderr, 'imported memories:');
  const totals = new ImportTotals();
  if (isSet(parsed, 'dry-run')) return count(parsed, terminal, file);
  const send = async (chunk: Chunk): Promise<Result<null>> => {
    const input = {
      memories: chunk.memories,
      links: totals.withMergedEnds(chunk.links),
      ...(chunk.records.length === 0 ? {} : { records: totals.withMergedMemories(chunk.records) }),
      trust_source: trusted,
      ...(onConflict === undefined ? {} : { on_conflict: onConflict }),
    };
    const request = { surface: 'cli', caller, input, unknownFields: 'refuse' } as const;
    const answer = await runner.run(memoryImport, request);
    if (!answer.ok) return failed(answer.error);
    totals.add(answer.value, chunk);
    progress.update(totals.imported);
    return ok(null);
  };
  const read = await readDocument(file.read(), send);
  progress.end();
  const json = parsed.flags.has('json');
  // Rows imported before the input broke off are kept, and the error must say so.
  if (!read.ok) {
    const { code, message } = read.error;
    const before = totals.imported === 0 ? 'nothing was imported' : `${totals.sentence()} before that`;
    return fail(code, `${message}; ${before}`, json ? totals.json(trusted) : undefined);
  }
  if (!json) for (const line of [...totals.errors, ...totals.notices()]) await terminal.complain(`${line}\n`);
  await terminal.print(json ? `${JSON.stringify(totals.json(trusted))}\n` : `${totals.sentence()}\n`);
  return ok(totals.failed === 0 ? 0 : 1);
}

/** Says what is in the document, and imports nothing. */
async function count(parsed: ParsedArguments, terminal: Terminal, file: SourceFile): Promise<Result<number>> {
  const found = { memories: 0, links: 0, records: 0 };
  const read = await readDocument(file.read(), async (chunk) => {
    for (const list of LISTS) found[list] += chunk[list].length;
    return ok(null);
  });
  if (!read.ok) return failed(read.error);
  const text = `would import an export of mnemesh: ${found.memories} memories${linksAndRecords(found.links, found.records)}`;
  await terminal.print(
    isSet(parsed, 'json') ? `${JSON.stringify({ dry_run: true, ...found })}\n` : `${text}\n`,
  );
  return ok(0);
}

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
