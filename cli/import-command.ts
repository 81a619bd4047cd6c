import { createReadStream } from 'node:fs';
import { parseJsonText } from '../node/http/json-body.js';
import type { Caller } from '../node/identity/caller.js';
import type { LocalRunner } from '../node/local/local-runner.js';
import { memoryImport } from '../node/operations/lifecycle/memory-import.js';
import { operatorView } from '../node/transfer/operator-view.js';
import { IMPORT_MEMORIES_MAX, IMPORT_ROW_BYTES_MAX } from '../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { type Chunk, ImportTotals, LISTS } from './import-totals.js';
import { type JsonItem, JsonItems } from './json-items.js';
import { withLocalRunner } from './local-node.js';
import { Progress } from './progress.js';
import type { Terminal } from './terminal.js';

/** Characters of the rows that are sent in one call. */
const CHUNK_CHARACTERS_MAX = 4 * 1024 * 1024;

/** Imports an export of any size, in calls of 1000 memories (interface §4.10). */
export const importCommand = defineCommand({
  name: 'import',
  summary:
    'Import an export: memories, then links and records. Later edits win; importing it again changes nothing.',
  flags: [
    {
      name: 'trust-source',
      kind: 'switch',
      doc: 'Keep the agents of memories and records and the attestations of links, and take policies, rules, remembered decisions and messages',
    },
    {
      name: 'on-conflict',
      kind: 'value',
      value: 'choice',
      doc: 'error or merge: what becomes of a memory whose title another one holds (error)',
    },
  ],
  positionals: [
    { name: 'file', required: false, path: 'file', doc: 'A file, or - for standard input (the default)' },
  ],
  examples: ['import memories.json', 'import --trust-source < memories.json'],
  run: (parsed, terminal) =>
    withLocalRunner(parsed, (runner, caller) => run(parsed, terminal, runner, caller)),
});

async function run(
  parsed: ParsedArguments,
  terminal: Terminal,
  runner: LocalRunner,
  caller: Caller,
): Promise<Result<number>> {
  const permitted = operatorView(caller);
  if (!permitted.ok) return failed(permitted.error);
  const trusted = parsed.flags.get('trust-source')?.at(-1) === 'true';
  const onConflict = parsed.flags.get('on-conflict')?.at(-1);
  const progress = new Progress(process.stderr, 'imported memories:');
  const totals = new ImportTotals();
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
  const read = await readDocument(sourceOf(parsed), send);
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

function sourceOf(parsed: ParsedArguments): AsyncIterable<Uint8Array> {
  const file = parsed.positionals[0];
  return file === undefined || file === '-' ? process.stdin : createReadStream(file);
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
