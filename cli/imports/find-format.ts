import { importedMemory, MEMORY_ALIASES } from '../../node/transfer/import-row.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { SourceFile } from '../mine/source-file.js';
import { isObject, UnreadableError } from '../mine/text-of.js';
import { type ForeignFormat, type FormatName, type Head, TAKEN } from './format.js';
import { csv } from './formats/csv.js';
import { knowledgeGraph } from './formats/knowledge-graph.js';
import { letta } from './formats/letta.js';
import { jsonLines } from './formats/lines.js';
import { basicMemory, MARKDOWN, markdown } from './formats/markdown.js';
import { mem0 } from './formats/mem0.js';
import { hasContent } from './formats/rows.js';
import { headOf } from './source-head.js';

/** In the order of the looks: a format that others would take for theirs comes first. */
const FOREIGN: readonly ForeignFormat[] = [
  basicMemory,
  markdown,
  knowledgeGraph,
  letta,
  mem0,
  csv,
  jsonLines,
];

/** The files of a folder that `import` looks at. */
export const IMPORTED = /\.(md|markdown|jsonl?|ndjson|csv|tsv|af)$/i;

/** What a source is: an export of this service, or files of another program, each with its format. */
export type Found =
  | { readonly format: 'mnemesh' }
  | {
      readonly format: Exclude<FormatName, 'mnemesh'>;
      readonly files: readonly { readonly file: SourceFile; readonly format: ForeignFormat }[];
      /** Files that are of no format, or of another one than the rest. */
      readonly others: readonly string[];
    };

/** Finds the format of a file, or of the files of a folder. The failure where there is none names what is taken. */
export async function findFormat(
  files: readonly SourceFile[],
  { path, wanted }: { readonly path: string; readonly wanted: FormatName | null },
): Promise<Result<Found>> {
  if (wanted === 'mnemesh') return ok({ format: 'mnemesh' });
  const [only] = files;
  if (wanted === null && files.length === 1 && only !== undefined && isOwnExport(await headFor(only)))
    return ok({ format: 'mnemesh' });
  const found = await formatsOf(files, wanted);
  const format = leading(found.map((each) => each.format));
  if (format === null && files.length === 1 && (await headFor(only!)).text.trim() === '')
    return fail('MALFORMED_BODY', `${path} is empty: nothing was imported`);
  if (format === null) return unknown(path, wanted, files.length);
  // A folder of notes is one source: what else lies in it belongs to them.
  const isNotes = MARKDOWN.test(found.find((each) => each.format === format)!.file.path);
  const taken = isNotes
    ? found.filter(({ file }) => MARKDOWN.test(file.path)).map(({ file }) => ({ file, format }))
    : found.filter((each) => each.format === format);
  const kept = new Set(taken.map(({ file }) => file.path));
  const others = files.map((file) => file.path).filter((each) => !kept.has(each));
  return ok({ format: format.name, files: taken, others });
}

/** The first format of the list that a file has; notes of basic-memory make a folder theirs. */
function leading(formats: readonly ForeignFormat[]): ForeignFormat | null {
  return FOREIGN.find((format) => formats.includes(format)) ?? null;
}

async function formatsOf(files: readonly SourceFile[], wanted: FormatName | null) {
  const found: { file: SourceFile; format: ForeignFormat }[] = [];
  for (const file of files) {
    if (wanted !== null) {
      const format = FOREIGN.find(({ name }) => name === wanted)!;
      const isNote = wanted === 'markdown' || wanted === 'basic-memory';
      if (files.length === 1 || !isNote || MARKDOWN.test(file.path)) found.push({ file, format });
      continue;
    }
    const head = await headFor(file);
    const format = FOREIGN.find((each) => each.isOf(head));
    if (format !== undefined) found.push({ file, format });
  }
  return found;
}

async function headFor(file: SourceFile): Promise<Head> {
  try {
    return await headOf(file);
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { path: file.path, text: '', lines: [], first: undefined, list: null };
  }
}

const OWN_KEYS = new Set([...Object.keys(importedMemory.input.shape), ...Object.keys(MEMORY_ALIASES)]);
const OWN_LISTS = /^\s*\{[\s\S]*?"(?:memories|links|records)"\s*:\s*\[/;

/** True for an export of this service, and for a list of memories in its words. */
function isOwnExport({ text, first, list }: Head): boolean {
  const isList = text.trimStart().startsWith('[');
  if (first === undefined) return isList || OWN_LISTS.test(text);
  if (!isObject(first)) return isList || OWN_LISTS.test(text);
  if (list === 'links' || list === 'records') return true;
  if (list !== null && list !== 'memories') return OWN_LISTS.test(text) && !('memory' in first);
  // Every memory of ours has both; other rows are taken without a title.
  if (!('title' in first || 'tier' in first) && hasContent(first)) return false;
  // In a document of ours a name that is mistyped is refused; a plain list may be anybody's.
  if (list === 'memories' && 'title' in first && 'content' in first) return true;
  return Object.keys(first).every((key) => OWN_KEYS.has(key));
}

function unknown(path: string, wanted: FormatName | null, count: number): Result<never> {
  const takes = `import takes ${TAKEN}`;
  if (count === 0)
    return fail('INVALID_ARGUMENT', `${path} holds no files that can be imported; ${takes}`, {
      fields: ['path'],
    });
  const what = wanted === null ? `the format of ${path} is unknown` : `${path} holds nothing of ${wanted}`;
  return fail('MALFORMED_BODY', `${what}; ${takes}`);
}
