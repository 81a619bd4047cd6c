import { hostname } from 'node:os';
import type { Settings } from '../node/config/settings.js';
import { databaseName, isAbsent } from '../node/config/store-url.js';
import { commandCaller, localIdentity } from '../node/identity/local-caller.js';
import { findDaemon } from '../node/local/daemon-connection.js';
import { memoryStats } from '../node/operations/meta/memory-stats.js';
import { openRunner } from '../node/runtime/open-runner.js';
import { systemCrypto, systemRandom, systemScheduler } from '../node/seams.js';
import { VERSION } from '../node/version.js';
import { failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { PROGRAM } from './command.js';
import { defineCommand } from './define-command.js';
import { flagValue, isSet, settingsFor } from './global-flags.js';
import { type HelpRow, helpText } from './help.js';
import { keptFor } from './kept-data.js';
import { EXAMPLES } from './root-help.js';
import type { Terminal } from './terminal.js';

/** What is in a home, as far as the caller sees it. */
interface HomeState {
  readonly memories: number;
  readonly namespaces: number;
  readonly daemon: boolean;
  /** True where the database is still to be made. */
  readonly unmade: boolean;
}

/** What the program shows without a command: what is here, and what can be done next. It makes nothing. */
export const startCommand = defineCommand({
  name: '',
  summary: 'Show what is here and what can be done.',
  run: start,
});

async function start(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const settings = settingsFor(parsed);
  const state = await stateOf(settings, flagValue(parsed, 'agent-id') ?? null);
  if (!state.ok) return failed(state.error);
  const { home } = settings;
  const { unmade, ...here } = state.value;
  const db = databaseName(settings);
  await terminal.print(
    isSet(parsed, 'json')
      ? `${JSON.stringify({ version: VERSION, home, db, ...here })}\n`
      : page(settings, { ...here, unmade }, terminal.columns),
  );
  return ok(0);
}

async function isUnmade(settings: Settings): Promise<boolean> {
  if (settings.storeUrl === null) return isAbsent(settings);
  const { hasNoTables } = await import('../node/threads/open-database.js');
  return hasNoTables(settings);
}

async function stateOf(settings: Settings, agentId: string | null): Promise<Result<HomeState>> {
  const daemon = await findDaemon(settings, systemCrypto, systemScheduler);
  daemon?.close();
  const nothing = { memories: 0, namespaces: 0, daemon: false };
  if (daemon === null && settings.dbPath === ':memory:') return ok({ ...nothing, unmade: false });
  if (daemon === null && (await isUnmade(settings))) return ok({ ...nothing, unmade: true });
  const runner = openRunner(settings, async () => {
    const { NO_CATALOGUE, openInlineNode } = await import('../node/runtime/inline-node.js');
    return openInlineNode(settings, 'cli', NO_CATALOGUE);
  });
  try {
    const identity = localIdentity(settings, { hostname: hostname(), pid: process.pid }, systemRandom);
    const caller = commandCaller(identity, agentId);
    if (!caller.ok) return failed(caller.error);
    const request = { surface: 'cli', caller: caller.value, input: {}, unknownFields: 'refuse' } as const;
    const answer = await runner.run(memoryStats, request);
    if (!answer.ok) return failed(answer.error);
    const { total, by_namespace: namespaces } = answer.value as {
      readonly total: number;
      readonly by_namespace: readonly unknown[];
    };
    return ok({ memories: total, namespaces: namespaces.length, daemon: daemon !== null, unmade: false });
  } finally {
    await runner.close();
  }
}

const number = (count: number) => count.toLocaleString('en-US');

const FIRST_STEPS: readonly HelpRow[] = [
  ['store "<text>"', 'Keep something'],
  ['recall "<question>"', 'Find it again'],
  ['install --help', 'Let an agent use this memory'],
  ['import --help', 'Bring in what another memory holds'],
];

const NEXT_STEPS: readonly HelpRow[] = [
  ['recall "<question>"', 'Find what fits a question'],
  ['store "<text>"', 'Keep something'],
  ['list', 'Show the memories'],
  ['doctor', 'Say what could be better here'],
];

const MORE: readonly HelpRow[] = [
  ['help', 'Commands, by what they are for'],
  ['help --all', 'All commands'],
];

function page(
  settings: Settings,
  { memories, namespaces, daemon, unmade }: HomeState,
  columns: number,
): string {
  const held = `${number(memories)}, in ${number(namespaces)} ${namespaces === 1 ? 'namespace' : 'namespaces'}`;
  const made =
    settings.storeUrl === null ? 'made by the first command' : 'its tables are made by the first command';
  return helpText(
    {
      summary: `${PROGRAM} ${VERSION}: a memory for agents`,
      usage: '<command> [options]',
      sections: [
        {
          title: 'Here',
          rows: [
            ['data', unmade ? `${databaseName(settings)} (${made})` : databaseName(settings)],
            ['memories', memories === 0 ? 'none' : held],
            ['kept', keptFor(settings)],
            ['daemon', daemon ? 'runs' : 'does not run; HTTP, a mesh and background work need it: serve'],
          ],
        },
        { title: 'Next', rows: [...(memories === 0 ? FIRST_STEPS : NEXT_STEPS), ...MORE] },
      ],
      examples: EXAMPLES,
    },
    columns,
  );
}
