import type { ReadServices, Services } from '../node/pipeline/call.js';
import { PrivateFile } from '../node/private-file.js';
import { type Exported, ExportFailedError, exportDocument } from '../node/transfer/export-document.js';
import { operatorView } from '../node/transfer/operator-view.js';
import { subtreeProblem, subtreeRoot } from '../protocol/base/ids.js';
import { EXPORT_PAGE_SIZE } from '../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../protocol/base/result.js';
import { AGENTS_NAMESPACE } from '../protocol/identity/agent.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { flagValue } from './global-flags.js';
import { linksAndRecords } from './imports/export-totals.js';
import { withLocalNode } from './local-node.js';
import { noteCopy } from './note-copy.js';
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
  services: Services,
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
    const agents = await agentsLeftOut(services, exported);
    if (agents > 0) await terminal.complain(`${leftOutText(agents)}\n`);
    return ok(0);
  }
  const file = new PrivateFile(out, services.random.uuid().slice(0, 8));
  try {
    let piece = await document.next();
    for (; piece.done !== true; piece = await document.next()) file.write(piece.value);
    file.finish();
    await noteCopy(services.store, 'export', out);
    progress.end();
    const { memories, links, records, omitted } = piece.value;
    const left = omitted === 0 ? '' : `; ${omitted} damaged rows are left out, see "mnemesh doctor"`;
    const agents = await agentsLeftOut(services, exported);
    const without = agents === 0 ? '' : `; ${leftOutText(agents)}`;
    const asJson = parsed.flags.has('json');
    const more = {
      ...(agents === 0 ? {} : { left_out: { agents } }),
      ...(records === 0 ? {} : { records }),
      ...(omitted === 0 ? {} : { omitted_damaged: omitted }),
    };
    await terminal.print(
      asJson
        ? `${JSON.stringify({ out, count: memories, links, ...more })}\n`
        : `exported ${memories} memories${linksAndRecords(links, records)} to ${out}${left}${without}\n`,
    );
    return ok(0);
  } catch (error) {
    file.abandon();
    progress.end();
    throw error;
  }
}

const leftOutText = (agents: number): string =>
  `left out: the ${agents === 1 ? 'record of 1 agent' : `records of ${agents} agents`}, which register on each node`;

/** The records of agents that the exported namespaces hold: an export never has them. */
async function agentsLeftOut(services: ReadServices, { namespace }: Exported): Promise<number> {
  if (namespace !== null && (subtreeRoot(namespace) ?? namespace) !== AGENTS_NAMESPACE) return 0;
  return agentsAfter(services, null);
}

async function agentsAfter(services: ReadServices, after: string | null): Promise<number> {
  const page = await services.store.query({ kind: 'list-agents', after, limit: EXPORT_PAGE_SIZE });
  if (!page.ok) throw new ExportFailedError(page.error);
  const { agents } = page.value;
  const isLast = agents.length < EXPORT_PAGE_SIZE;
  return agents.length + (isLast ? 0 : await agentsAfter(services, agents.at(-1)!.agent_id));
}
