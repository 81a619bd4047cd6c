import { join } from 'node:path';
import { absolutePath } from '../node/config/paths.js';
import {
  REFLECTION_FORMATS,
  type ReflectionFormat,
  reflectionFile,
} from '../node/operations/reflections/reflection-file.js';
import type { Services } from '../node/pipeline/call.js';
import { operatorView } from '../node/transfer/operator-view.js';
import { writeBelow } from '../node/write-below.js';
import { subtreeProblem } from '../protocol/base/ids.js';
import { EXPORT_BYTES_MAX, EXPORT_PAGE_SIZE } from '../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import { canonicalInstant, instantFromMs } from '../protocol/base/time.js';
import type { Viewer } from '../protocol/base/viewer.js';
import type { AnswerOf } from '../protocol/release.js';
import type { ExportMemories, ExportPlace } from '../protocol/transfer/queries.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { flagValue, isSet } from './global-flags.js';
import { withLocalNode } from './local-node.js';
import { noteCopy } from './note-copy.js';

/** What is exported, and how. */
interface Asked {
  readonly viewer: Viewer;
  readonly namespace: string | null;
  readonly since: string | null;
  readonly format: ReflectionFormat;
  readonly folder: string;
}

/** What became of an export. */
interface Written {
  exported: number;
  omitted: number;
  /** Reflections whose file could not be written, with the reason. */
  readonly refused: string[];
}

/** Writes each reflection into a file of its own (reference-mcp-cli §2.2). */
export const exportReflectionsCommand = defineCommand({
  name: 'export-reflections',
  summary: 'Write each reflection into a file of its own: <folder>/<namespace>/<id>.md.',
  flags: [
    {
      ...{ name: 'namespace', short: 'n', kind: 'value', value: 'text' },
      doc: 'Only this namespace; with /** at its end, it and all below it',
    },
    {
      ...{ name: 'out-dir', kind: 'value', value: 'folder', path: 'folder' },
      doc: 'Write into this folder; "reflections" in the home unless given',
    },
    {
      ...{ name: 'format', kind: 'value', value: 'format', choices: REFLECTION_FORMATS },
      doc: 'Markdown with a front matter (md, unless given), or json',
    },
    {
      name: 'since',
      kind: 'value',
      value: 'instant',
      doc: 'Only those that were created at or after this RFC 3339 instant',
    },
    { name: 'quiet', short: 'q', kind: 'switch', doc: 'Print nothing when all are written' },
  ],
  examples: [
    'export-reflections',
    'export-reflections --namespace "team/**" --out-dir ./reflections --format json',
  ],
  run: (parsed, terminal) =>
    withLocalNode(parsed, async (services, caller) => {
      const viewer = operatorView(caller);
      if (!viewer.ok) return failed(viewer.error);
      const asked = askedBy(parsed, services, viewer.value);
      if (!asked.ok) return failed(asked.error);
      const written = await writeAll(services, asked.value);
      if (!written.ok) return failed(written.error);
      const { exported, omitted, refused } = written.value;
      if (exported > 0) await noteCopy(services.store, 'export', asked.value.folder);
      if (!isSet(parsed, 'quiet') || refused.length > 0) {
        await terminal.print(
          isSet(parsed, 'json')
            ? `${JSON.stringify({ out_dir: asked.value.folder, format: asked.value.format, exported, omitted_damaged: omitted, refused })}\n`
            : said(asked.value.folder, written.value),
        );
      }
      return ok(refused.length === 0 ? 0 : 1);
    }),
});

function said(folder: string, { exported, omitted, refused }: Written): string {
  const left = omitted === 0 ? '' : `; ${omitted} damaged rows are left out, see "mnemesh doctor"`;
  const failures = refused.map((line) => `not written: ${line}\n`).join('');
  return `exported ${exported} ${exported === 1 ? 'reflection' : 'reflections'} to ${folder}${left}\n${failures}`;
}

function askedBy(parsed: ParsedArguments, { settings }: Services, viewer: Viewer): Result<Asked> {
  const namespace = flagValue(parsed, 'namespace')?.normalize('NFC') ?? null;
  const problem = namespace === null ? null : subtreeProblem(namespace);
  if (problem !== null)
    return fail('VALIDATION_FAILED', `--namespace: ${problem}`, { fields: ['namespace'] });
  const given = flagValue(parsed, 'since') ?? null;
  const since = given === null ? null : canonicalInstant(given);
  if (given !== null && since === null)
    return fail('VALIDATION_FAILED', '--since: must be an RFC 3339 instant with an offset', {
      fields: ['since'],
    });
  const folder = absolutePath(flagValue(parsed, 'out-dir') ?? join(settings.home, 'reflections'));
  const format = (flagValue(parsed, 'format') ?? 'md') as ReflectionFormat;
  return ok({ viewer, namespace, since, format, folder });
}

async function writeAll(services: Services, asked: Asked): Promise<Result<Written>> {
  const { viewer, namespace, since, format } = asked;
  const written: Written = { exported: 0, omitted: 0, refused: [] };
  let after: ExportPlace | null = since === null ? null : { created_at: since, id: '' };
  for (;;) {
    const now = instantFromMs(services.clock.nowMs());
    const found: Result<AnswerOf<ExportMemories>> = await services.store.query({
      ...{ kind: 'export-memories', ofKind: 'reflection', viewer, namespace, now, after },
      ...{ limit: EXPORT_PAGE_SIZE, bytesMax: EXPORT_BYTES_MAX },
    });
    if (!found.ok) return failed(found.error);
    const { memories, damaged = [], more, last } = found.value;
    written.omitted += damaged.length;
    for (const memory of memories) {
      const file = await reflectionFile({ services, caller: { viewer }, now }, memory, format);
      if (!file.ok) return failed(file.error);
      const problem = writeBelow(asked.folder, file.value, services.random.uuid().slice(0, 8));
      if (problem === null) written.exported += 1;
      else written.refused.push(`${file.value.name}: ${problem}`);
    }
    if (!more || last === null) return ok(written);
    after = last;
  }
}
