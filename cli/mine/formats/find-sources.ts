import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { Problems, SourceFile } from '../source-file.js';
import { bytesOf, isObject, type Json, UnreadableError } from '../text-of.js';
import { chatgptExport, claudeExport } from './exports.js';
import { type FileFormat, type FormatName, type Head, LOOKED_FOR, type Source } from './format.js';
import { opencodeSources, slackSources } from './groups.js';
import { claudeCodeSession, codexSession, geminiSession, isSqlite, opencodeExport } from './sessions.js';

const FILE_FORMATS: readonly FileFormat[] = [
  claudeExport,
  chatgptExport,
  codexSession,
  geminiSession,
  opencodeExport,
  claudeCodeSession,
];

const HEAD_BYTES = 65_536;
const HEAD_LINES = 40;

/** Files whose names say that no conversation is in them. */
const BESIDE =
  /(^|\/)(users|channels|groups|dms|mpims|integration_logs|canvases|projects|memories|message_feedback|shared_conversations|user|user_settings|logs)\.json$/;

/**
 * The sources among files: by their places where a format has many files, else by the beginning of each.
 * VALIDATION_FAILED where there is none, with what was looked for.
 */
export async function findSources(
  files: readonly SourceFile[],
  {
    path,
    wanted,
    problems,
  }: { readonly path: string; readonly wanted: FormatName | null; readonly problems: Problems },
): Promise<Result<readonly Source[]>> {
  const grouped = [...slackSources(files), ...opencodeSources(files)].filter(
    ({ format }) => wanted === null || format === wanted,
  );
  const sources: Source[] = [...grouped];
  const unknown: string[] = [];
  const isGrouped = sources.length > 0;
  for (const file of isGrouped ? [] : files) {
    const format = await formatOf(file, wanted, problems);
    if (format !== null) sources.push(sourceOf(file, format));
    else if (!BESIDE.test(file.path)) unknown.push(file.path);
  }
  if (sources.length === 0) {
    const what = wanted === null ? '' : ` of the format ${wanted}`;
    return fail('VALIDATION_FAILED', `${path} holds no conversations${what}; looked for ${LOOKED_FOR}`, {
      fields: ['path'],
    });
  }
  if (unknown.length > 0 && wanted === null) {
    const [first] = unknown;
    const more = unknown.length === 1 ? '' : ` and ${unknown.length - 1} more`;
    problems.add(`${first}${more}`, 'not of a format that is known: left out');
  }
  return ok(sources);
}

async function formatOf(
  file: SourceFile,
  wanted: FormatName | null,
  problems: Problems,
): Promise<FileFormat | null> {
  try {
    if (/\.db$/i.test(file.path)) {
      if (await isSqlite(file))
        problems.add(
          file.path,
          'is a database, which is not read: write its sessions with "opencode export"',
        );
      return null;
    }
    const head = headOf(file.path, await bytesOf(file, HEAD_BYTES));
    const fits = FILE_FORMATS.filter(({ name }) => wanted === null || name === wanted);
    return fits.find((format) => format.isOf(head)) ?? null;
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    problems.add(file.path, error.message);
    return null;
  }
}

function headOf(path: string, bytes: Buffer): Head {
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '');
  const lines = text.split('\n', HEAD_LINES).flatMap((line): Json[] => {
    try {
      const value: unknown = JSON.parse(line);
      return isObject(value) ? [value] : [];
    } catch {
      return [];
    }
  });
  return { path, text, lines };
}

const sourceOf = (file: SourceFile, format: FileFormat): Source => ({
  format: format.name,
  path: file.path,
  size: file.size,
  async *read(tell) {
    try {
      yield* format.read(file, (problem) => tell(file.path, problem));
    } catch (error) {
      // A damaged archive, or a file that went away.
      const isKnown = error instanceof UnreadableError || (error as NodeJS.ErrnoException).code !== undefined;
      if (!isKnown) throw error;
      tell(file.path, (error as Error).message);
    }
  },
});
