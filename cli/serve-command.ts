import { basename, relative } from 'node:path';
import type { Settings } from '../node/config/settings.js';
import { startDaemon } from '../node/runtime/daemon.js';
import { systemClock } from '../node/seams.js';
import { VERSION } from '../node/version.js';
import { fail, failed, ok, type Result } from '../protocol/result.js';
import { type ArgumentSpec, parseArguments } from './arguments.js';
import { type Command, PROGRAM } from './command.js';
import { type DocumentedFlag, flagValue, GLOBAL_FLAGS, settingsFor } from './global-flags.js';
import { GLOBAL_ROWS, helpText, typedFlag } from './help.js';
import { onSignals } from './signals.js';
import type { Terminal } from './terminal.js';

const FLAGS: readonly DocumentedFlag[] = [
  { name: 'host', kind: 'value', value: 'address', doc: 'Address to bind (default 127.0.0.1)' },
  { name: 'port', kind: 'value', value: 'number', doc: 'Port to bind, 0 for any free one (default 9077)' },
];
const SPEC: ArgumentSpec = { flags: [...FLAGS, ...GLOBAL_FLAGS], positionals: [] };

/** Runs the daemon until a signal ends it (interface §4.15). */
export const serveCommand: Command = {
  name: 'serve',
  summary: 'Run the node: HTTP API, background work, one database.',
  usage: 'serve [options]',
  help: (columns) =>
    helpText(
      {
        summary: serveCommand.summary,
        usage: serveCommand.usage,
        sections: [
          {
            title: 'Options',
            rows: FLAGS.map(({ name, value, doc }) => [typedFlag(name, undefined, value), doc]),
          },
          { title: 'Options of every command', rows: GLOBAL_ROWS },
        ],
        examples: ['serve', 'serve --port 9100 --db ./team.db'],
      },
      columns,
    ),
  run: serve,
};

async function serve(words: readonly string[], terminal: Terminal): Promise<Result<number>> {
  const parsed = parseArguments(SPEC, words);
  if (!parsed.ok) return failed(parsed.error);
  const host = flagValue(parsed.value, 'host');
  const port = flagValue(parsed.value, 'port');
  if (port !== undefined && !/^\d{1,5}$/.test(port))
    return fail('INVALID_ARGUMENT', '--port must be a port number');
  const agentId = flagValue(parsed.value, 'agent-id');
  const settings = settingsFor(parsed.value, {
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(agentId === undefined ? {} : { agentId }),
  });

  let stop: (() => Promise<void>) | null = null;
  let stopAsked = false;
  // Installed before the start, so that a signal during it ends the node in good order too.
  onSignals(systemClock, () => {
    stopAsked = true;
    stop?.().catch(() => undefined);
  });
  const daemon = await startDaemon(settings);
  stop = () => daemon.stop();
  if (stopAsked) void daemon.stop();
  const url = urlOf(daemon.address);
  await terminal.print(
    parsed.value.flags.has('json')
      ? `${JSON.stringify({ url, ...daemon.address, db: settings.dbPath, home: settings.home })}\n`
      : greeting(url, settings, flagValue(parsed.value, 'db')),
  );
  return ok(await daemon.stopped);
}

function urlOf({ host, port }: { host: string; port: number }): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Where the node answers, where the data lives, and three commands that work as they stand. */
function greeting(url: string, settings: Settings, db: string | undefined): string {
  const program = invocation();
  const where = db === undefined ? '' : ` --db ${shellWord(db)}`;
  return [
    `${PROGRAM} ${VERSION} listens on ${url}`,
    `data: ${settings.dbPath}`,
    '',
    'Try, from another terminal:',
    `  curl ${url}/api/v1/health`,
    `  ${program} store${where} --title "Deploy window" --content "Sundays, 02:00 to 04:00 UTC"`,
    `  ${program} recall${where} "when may we deploy?"`,
    '',
    '',
  ].join('\n');
}

/** How this program was called, so that the next command can be typed the same way. */
function invocation(): string {
  const script = process.argv[1] ?? PROGRAM;
  return basename(script) === PROGRAM ? PROGRAM : `node ${shellWord(relative('.', script))}`;
}

const shellWord = (text: string) =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
