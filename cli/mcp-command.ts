import { hostname } from 'node:os';
import { PROFILES } from '../node/bindings/profile.js';
import { systemClock, systemRandom, systemScheduler } from '../node/seams.js';
import { ok, type Result } from '../protocol/result.js';
import type { ParsedArguments } from './arguments.js';
import type { DocumentedFlag } from './command.js';
import { defineCommand } from './define-command.js';
import { flagValue, settingsFor } from './global-flags.js';
import { onSignals } from './signals.js';

const FLAGS: readonly DocumentedFlag[] = [
  {
    name: 'profile',
    kind: 'value',
    value: PROFILES.join('|'),
    choices: PROFILES,
    doc: 'Tools to offer: core has seven, full has all (SVC_PROFILE; default core)',
  },
];

/** Serves one MCP client over standard input and output (interface §1, §4.15). */
export const mcpCommand = defineCommand({
  name: 'mcp',
  summary: 'Serve an MCP client over standard input and output.',
  flags: FLAGS,
  examples: ['mcp', 'mcp --profile full'],
  run: serveMcp,
});

async function serveMcp(parsed: ParsedArguments): Promise<Result<number>> {
  const profile = PROFILES.find((known) => known === flagValue(parsed, 'profile'));
  const agentId = flagValue(parsed, 'agent-id');
  const flags = {
    ...(profile === undefined ? {} : { profile }),
    ...(agentId === undefined ? {} : { agentId }),
  };
  const settings = settingsFor(parsed, flags, 'log');
  const stop = new AbortController();
  onSignals(systemClock, () => stop.abort());
  const { localIdentity } = await import('../node/identity/local-caller.js');
  const { serveStdio } = await import('../node/mcp/serve-stdio.js');
  await serveStdio({
    profile: settings.profile,
    identity: localIdentity(settings, { hostname: hostname(), pid: process.pid }, systemRandom),
    openNode: async () => {
      const { openInlineNode } = await import('../node/runtime/inline-node.js');
      return openInlineNode(settings, 'mcp');
    },
    input: process.stdin,
    output: process.stdout,
    scheduler: systemScheduler,
    parentPid: () => process.ppid,
    stop: stop.signal,
    graceMs: settings.shutdownGraceMs,
  });
  return ok(0);
}
