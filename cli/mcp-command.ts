import { hostname } from 'node:os';
import { inspectConfiguration } from '../node/config/load-settings.js';
import { warnOfLooseModes } from '../node/config/loose-modes.js';
import { profileOf } from '../node/config/tool-profile.js';
import { stderrLog } from '../node/log.js';
import { systemClock, systemRandom, systemScheduler } from '../node/seams.js';
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
  const { localIdentity } = await import('../node/identity/local-caller.js');
  const { openRunner } = await import('../node/runtime/open-runner.js');
  const { serveStdio } = await import('../node/mcp/serve-stdio.js');
  const loadNode = () => import('../node/runtime/inline-node.js');
  const openNode = async () => (await loadNode()).openInlineNode(settings, 'mcp');
  const runner = openRunner(settings, openNode, loadNode);
  reload = () => void runner.reloadHooks();
  const { mcpForwardUrl, apiKey } = settings;
  const tools =
    mcpForwardUrl === null
      ? runner
      : (await import('../node/runtime/forwarded-stores.js')).forwardingStores(runner, mcpForwardUrl, apiKey);
  await serveStdio({
    profile: profileOf(settings.profile),
    hints: settings,
    identity: localIdentity(settings, { hostname: hostname(), pid: process.pid }, systemRandom),
    runner: tools,
    nag: { first: settings.captureNagThreshold, second: settings.captureNagEscalateThreshold },
    input: process.stdin,
    output: process.stdout,
    scheduler: systemScheduler,
    parentPid: () => process.ppid,
    stop: stop.signal,
    graceMs: settings.shutdownGraceMs,
  });
  return ok(0);
}
