import { inspectConfiguration } from '../node/config/load-settings.js';
import { warnOfLooseModes } from '../node/config/loose-modes.js';
import { stderrLog } from '../node/log.js';
import { systemClock } from '../node/seams.js';
import { failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { defineCommand } from './define-command.js';
import { settingSources, settingsFor } from './global-flags.js';
import { settingFlag, settingsOfFlags, settingsWithFlag } from './setting-flags.js';
import { onSignals } from './signals.js';

const SETTINGS_OF_MCP = settingsWithFlag('mcp');

/** Serves one MCP client over standard input and output (interface §1, §4.15). */
export const mcpCommand = defineCommand({
  name: 'mcp',
  summary: 'Serve an MCP client over standard input and output.',
  flags: SETTINGS_OF_MCP.map((key) => settingFlag(key)),
  examples: ['mcp', 'mcp --profile admin', 'mcp --profile core,graph'],
  run: serveMcp,
});

async function serveMcp(parsed: ParsedArguments): Promise<Result<number>> {
  const flags = settingsOfFlags(parsed, [...SETTINGS_OF_MCP, 'agentId']);
  if (!flags.ok) return failed(flags.error);
  const settings = settingsFor(parsed, flags.value, 'log');
  const configuration = inspectConfiguration(...settingSources(parsed, flags.value));
  warnOfLooseModes(configuration, stderrLog(settings.logLevel));
  const stop = new AbortController();
  let reload = () => {};
  onSignals(
    systemClock,
    () => stop.abort(),
    () => reload(),
  );
  const { serveSession } = await import('./mcp-session.js');
  await serveSession(settings, {
    input: process.stdin,
    output: process.stdout,
    stop: stop.signal,
    pid: process.pid,
    parentPid: () => process.ppid,
    onReload: (how) => {
      reload = how;
    },
  });
  return ok(0);
}
