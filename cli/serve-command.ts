import { basename, relative } from 'node:path';
import { inspectConfiguration } from '../node/config/load-settings.js';
import { warnOfLooseModes } from '../node/config/loose-modes.js';
import type { Settings } from '../node/config/settings.js';
import { databaseName } from '../node/config/store-url.js';
import { findDaemon } from '../node/local/daemon-connection.js';
import { stderrLog } from '../node/log.js';
import { systemClock, systemCrypto, systemScheduler } from '../node/seams.js';
import { VERSION } from '../node/version.js';
import { failed, ok, type Result } from '../protocol/base/result.js';
import type { ParsedArguments } from './arguments.js';
import { PROGRAM } from './command.js';
import { defineCommand } from './define-command.js';
import { examinesBeside } from './examine-beside.js';
import { GLOBAL_FLAGS, isSet, settingSources, settingsFor } from './global-flags.js';
import { keptFor } from './kept-data.js';
import { SERVICE_FLAGS } from './service/service-flags.js';
import { settingFlag, settingsOfFlags, settingsWithFlag } from './setting-flags.js';
import { onSignals } from './signals.js';
import { type SameNode, sameNode, shellWord } from './start-hints.js';
import type { Terminal } from './terminal.js';

const SETTINGS_OF_SERVE = settingsWithFlag('serve');

const SERVE_FLAGS = SETTINGS_OF_SERVE.map((key) => settingFlag(key));

/** Runs the daemon until a signal ends it (interface §4.15). */
export const serveCommand = defineCommand({
  name: 'serve',
  summary: 'Run the node: HTTP API, background work, one database.',
  flags: [...SERVE_FLAGS, ...SERVICE_FLAGS],
  examples: ['serve', 'serve --port 9100 --db ./team.db', 'serve --install'],
  run: serve,
});

async function serve(parsed: ParsedArguments, terminal: Terminal): Promise<Result<number>> {
  const flags = settingsOfFlags(parsed, [...SETTINGS_OF_SERVE, 'agentId']);
  if (!flags.ok) return failed(flags.error);
  if (SERVICE_FLAGS.some(({ name }) => isSet(parsed, name))) {
    const { changeService } = await import('./service/install-service.js');
    return changeService(parsed, terminal, [...SERVE_FLAGS, ...GLOBAL_FLAGS]);
  }
  const settings = settingsFor(parsed, flags.value, 'log');
  const configuration = inspectConfiguration(...settingSources(parsed, flags.value));
  warnOfLooseModes(configuration, stderrLog(settings.logLevel));

  let stop: (() => Promise<void>) | null = null;
  let reload: (() => void) | null = null;
  let stopAsked = false;
  // Installed before the start, so that a signal during the start also ends the node cleanly.
  const end = () => {
    stopAsked = true;
    stop?.().catch(() => undefined);
  };
  onSignals(systemClock, end, () => reload?.());
  const { keepYoungGenerationSmall } = await import('../node/runtime/heap.js');
  keepYoungGenerationSmall();
  const other = await findDaemon(settings, systemCrypto, systemScheduler);
  other?.close();
  const { startDaemon } = await import('../node/runtime/daemon.js');
  const daemon = await startDaemon(settings, examinesBeside(parsed));
  stop = () => daemon.stop();
  reload = () => daemon.reloadHooks();
  if (stopAsked) void daemon.stop();
  const url = urlOf(daemon.address, settings.tlsCert !== null);
  await terminal.print(
    isSet(parsed, 'json')
      ? `${JSON.stringify({ url, ...daemon.address, db: databaseName(settings), home: settings.home })}\n`
      : greeting(url, { settings, ...sameNode(configuration), isSecond: other !== null }),
  );
  return ok(await daemon.stopped);
}

function urlOf({ host, port }: { host: string; port: number }, secure: boolean): string {
  return `${secure ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

interface Greeted extends SameNode {
  readonly settings: Settings;
  /** True where another daemon serves the database. */
  readonly isSecond: boolean;
}

const SECOND =
  'another daemon serves this database already: both answer, and this one does its background work when that one ends';

/** The address of the node, the path of its data, and three commands that can be copied. */
function greeting(url: string, { settings, before, after, isSecond }: Greeted): string {
  const program = before + invocation();
  return [
    `${PROGRAM} ${VERSION} listens on ${url}`,
    `data: ${databaseName(settings)}`,
    ...(isSecond ? [SECOND] : []),
    `memories are kept ${keptFor(settings)}`,
    '',
    'Try, from another terminal:',
    `  curl ${url}/api/v1/health`,
    `  ${program} store${after} "We deploy on Sundays, 02:00 to 04:00 UTC"`,
    `  ${program} recall${after} "when may we deploy?"`,
    '',
    '',
  ].join('\n');
}

/** How this program was called, so that the next command can be typed the same way. */
function invocation(): string {
  const script = process.argv[1] ?? PROGRAM;
  return basename(script) === PROGRAM ? PROGRAM : `node ${shellWord(relative('.', script))}`;
}
