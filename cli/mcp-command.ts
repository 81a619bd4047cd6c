import { hostname } from 'node:os';
import { localIdentity } from '../node/identity/local-caller.js';
import { PROFILES } from '../node/mcp/profile.js';
import { serveStdio } from '../node/mcp/serve-stdio.js';
import { systemClock, systemRandom, systemScheduler } from '../node/seams.js';
import { fail, failed, ok, type Result } from '../protocol/result.js';
import { type ArgumentSpec, parseArguments } from './arguments.js';
import type { Command } from './command.js';
import { type DocumentedFlag, flagValue, GLOBAL_FLAGS, settingsFor } from './global-flags.js';
import { GLOBAL_ROWS, helpText, typedFlag } from './help.js';
import { onSignals } from './signals.js';

const FLAGS: readonly DocumentedFlag[] = [
  {
    name: 'profile',
    kind: 'value',
    value: PROFILES.join('|'),
    doc: 'Tools to offer: core has seven, full has all (SVC_PROFILE; default core)',
  },
];
const SPEC: ArgumentSpec = { flags: [...FLAGS, ...GLOBAL_FLAGS], positionals: [] };

/** Serves one MCP client over standard input and output (interface §1, §4.15). */
export const mcpCommand: Command = {
  name: 'mcp',
  summary: 'Serve an MCP client over standard input and output.',
  usage: 'mcp [options]',
  help: (columns) =>
    helpText(
      {
        summary: mcpCommand.summary,
        usage: mcpCommand.usage,
        sections: [
          {
            title: 'Options',
            rows: FLAGS.map(({ name, value, doc }) => [typedFlag(name, undefined, value), doc]),
          },
          { title: 'Options of every command', rows: GLOBAL_ROWS },
        ],
        examples: ['mcp', 'mcp --profile full'],
      },
      columns,
    ),
  run: serveMcp,
};

async function serveMcp(words: readonly string[]): Promise<Result<number>> {
  const parsed = parseArguments(SPEC, words);
  if (!parsed.ok) return failed(parsed.error);
  const chosen = flagValue(parsed.value, 'profile');
  const profile = PROFILES.find((known) => known === chosen);
  if (chosen !== undefined && profile === undefined) {
    return fail('INVALID_ARGUMENT', `unknown profile "${chosen}"; valid profiles: ${PROFILES.join(', ')}`);
  }
  const agentId = flagValue(parsed.value, 'agent-id');
  const settings = settingsFor(parsed.value, {
    ...(profile === undefined ? {} : { profile }),
    ...(agentId === undefined ? {} : { agentId }),
  });
  const stop = new AbortController();
  onSignals(systemClock, () => stop.abort());
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
