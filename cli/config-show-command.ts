import { inspectConfiguration } from '../node/config/load-settings.js';
import { describeSettings } from '../node/config/describe-settings.js';
import { failed, ok, type Result } from '../protocol/result.js';
import { type ArgumentSpec, parseArguments } from './arguments.js';
import type { Command } from './command.js';
import { GLOBAL_FLAGS, settingSources } from './global-flags.js';
import { GLOBAL_ROWS, helpText } from './help.js';
import type { Terminal } from './terminal.js';
import { displayWidth, pad, printable } from './views/text.js';

const SPEC: ArgumentSpec = { flags: GLOBAL_FLAGS, positionals: [] };

/** Shows every setting, its value and where the value came from; secrets stay hidden (interface §2.12). */
export const configShowCommand: Command = {
  name: 'config show',
  summary: 'Show every setting, its value and where it comes from.',
  usage: 'config show [options]',
  help: (columns) =>
    helpText(
      {
        summary: configShowCommand.summary,
        usage: configShowCommand.usage,
        sections: [{ title: 'Options of every command', rows: GLOBAL_ROWS }],
        examples: ['config show', 'config show --json'],
      },
      columns,
    ),
  run: show,
};

async function show(words: readonly string[], terminal: Terminal): Promise<Result<number>> {
  const parsed = parseArguments(SPEC, words);
  if (!parsed.ok) return failed(parsed.error);
  const configuration = inspectConfiguration(...settingSources(parsed.value));
  const { file, problems } = configuration;
  const settings = describeSettings(configuration);
  if (parsed.value.flags.has('json')) {
    const answer = { file: { path: file.path, state: file.state }, settings, problems };
    await terminal.print(`${JSON.stringify(answer)}\n`);
    return ok(0);
  }
  const rows = settings.map(({ key, value, source, name }) => [
    key,
    textOf(value),
    name === null ? source : `${source}: ${name}`,
  ]);
  const width = (column: number) => Math.max(...rows.map((row) => displayWidth(row[column]!)));
  const lines = rows.map(([key, value, source]) =>
    `${pad(key!, width(0))}  ${pad(value!, Math.min(width(1), 40))}  ${source}`.trimEnd(),
  );
  lines.push('', `configuration file: ${printable(file.path)} (${file.state})`);
  for (const { level, message, fix } of problems) lines.push(printable(`${level}: ${message} (${fix})`));
  await terminal.print(`${lines.join('\n')}\n`);
  return ok(0);
}

function textOf(value: unknown): string {
  if (value === null) return '-';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
