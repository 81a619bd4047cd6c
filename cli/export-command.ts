import type { ReadServices } from '../node/pipeline/call.js';
import { PrivateFile } from '../node/private-file.js';
import { type Exported, ExportFailedError, exportDocument } from '../node/transfer/export-document.js';
import { operatorView } from '../node/transfer/operator-view.js';
import { subtreeProblem } from '../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { flagValue } from './global-flags.js';
import { linksAndRecords } from './imports/export-totals.js';
import { withLocalNode } from './local-node.js';
import { Progress } from './progress.js';
import type { Terminal } from './terminal.js';

/** Writes every memory, link and record of another exported kind as one JSON document (interface §4.10), whatever its size. */
export const exportCommand = defineCommand({
  name: 'export',
  summary: 'Export every memory, link and record as one JSON document.',
  flags: [
    {
      name: 'out',
      short: 'o',
      kind: 'value',
      value: 'file',
      path: 'file',
      doc: 'Write to this file instead of standard output',
    },
    {
      name: 'namespace',
      short: 'n',
      kind: 'value',
      value: 'text',
      doc: 'Only this namespace; with /** at its end, it and all below it',
    },
  ],
  examples: [
    'export > memories.json',
    'export --out memories.json',
    'export --namespace "team/**" --out team.json',
  ],
  run: (parsed, terminal) =>
    withLocalNode(parsed, async (services, caller) => {
      const viewer = operatorView(caller);
      if (!viewer.ok) return failed(viewer.error);
      const namespace = flagValue(parsed, 'namespace')?.normalize('NFC') ?? null;
      const problem = namespace === null ? null : subtreeProblem(namespace);
      if (problem !== null)
        return fail('VALIDATION_FAILED', `--namespace: ${problem}`, { fields: ['namespace'] });
      try {
        return await run(parsed, terminal, services, { viewer: viewer.value, namespace });
      } catch (error) {
        if (error instanceof ExportFailedError) return failed(error.failure);
        const { syscall, code } = error as NodeJS.ErrnoException;
        if (syscall === 'open') {
          const why = code === 'ENOENT' ? 'there is no such folder' : code;
          return fail('INVALID_ARGUMENT', `--out: cannot write ${flagValue(parsed, 'out')}: ${why}`);
        }
        throw error;
      }
    }),
});

async function run(
  parsed: ParsedArguments,
  terminal: Terminal,
  services: ReadServices,
  exported: Exported,
): Promise<Result<number>> {
  const out = flagValue(parsed, 'out');
  const progress = new Progress(process.stderr, 'exported memories:');
  const document = exportDocument(services, exported, (memories) => progress.update(memories));
  if (out === undefined) {
    try {
      for await (const piece of document) {
        await terminal.print(piece);
        if (terminal.closed) break;
      }
    } finally {
      progress.end();
    }
    return ok(0);
  }
  const file = new PrivateFile(out, services.random.uuid().slice(0, 8));
  try {
    let piece = await document.next();
    for (; piece.done !== true; piece = await document.next()) file.write(piece.value);
    file.finish();
    progress.end();
    const { memories, links, records, omitted } = piece.value;
    const left = omitted === 0 ? '' : `; ${omitted} damaged rows are left out, see "mnemesh doctor"`;
    const asJson = parsed.flags.has('json');
    const more = {
      ...(records === 0 ? {} : { records }),
      ...(omitted === 0 ? {} : { omitted_damaged: omitted }),
    };
    await terminal.print(
      asJson
        ? `${JSON.stringify({ out, count: memories, links, ...more })}\n`
        : `exported ${memories} memories${linksAndRecords(links, records)} to ${out}${left}\n`,
    );
    return ok(0);
  } catch (error) {
    file.abandon();
    progress.end();
    throw error;
  }
}
