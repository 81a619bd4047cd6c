import { describeSettings } from '../node/config/describe-settings.js';
import { inspectConfiguration } from '../node/config/load-settings.js';
import { ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { settingSources } from './global-flags.js';
import type { Terminal } from './terminal.js';
import { displayWidth, pad, printable } from './views/text.js';

/** Shows every setting, its value and where the value came from; secrets stay hidden (interface §2.12). */
export const configShowCommand = defineCommand({
  name: 'config show',
  summary: 'Show every setting, its value and where it comes from.',
  examples: ['config show', 'config show --json'],
  run: show,
});

async function show(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const configuration = inspectConfiguration(...settingSources(parsed));
  const { file, problems } = configuration;
  const settings = describeSettings(configuration);
  if (parsed.flags.has('json')) {
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
