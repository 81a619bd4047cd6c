import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { inspectConfiguration, variableOf } from '../../node/config/load-settings.js';
import { absolutePath } from '../../node/config/paths.js';
import { SETTINGS } from '../../node/config/settings.js';
import { PrivateFile } from '../../node/private-file.js';
import { systemRandom, systemScheduler } from '../../node/seams.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { ParsedArguments } from '../arguments.js';
import type { DocumentedFlag } from '../command.js';
import { flagValue, isSet, settingSources } from '../global-flags.js';
import { Pause } from '../pause.js';
import { keptServer, passingProgram } from '../start-hints.js';
import type { Terminal } from '../terminal.js';
import { isOwn, type Service } from './service-file.js';
import { type ServiceManager, serviceManager } from './service-manager.js';

/** Settings of the environment that a service takes along; others may be secrets. */
const TAKEN: readonly string[] = ['home', 'dbPath', 'storeUrlFile', 'keyDir'];

/** Variables that say which configuration file is read. */
const FILE = 'SVC_CONFIG';
const NO_FILE = 'SVC_NO_CONFIG';

/** Settles long enough to know whether the node ended at its start. */
const SETTLE_MS = 1500;

/** Makes the node a service of its user, or ends and removes that service. */
export async function changeService(
  parsed: ParsedArguments,
  terminal: Terminal,
  flags: readonly DocumentedFlag[],
): Promise<Result<number>> {
  const found = serviceManager();
  if (!found.ok) return failed(found.error);
  const manager = found.value;
  if (isSet(parsed, 'install') && isSet(parsed, 'uninstall'))
    return fail('INVALID_ARGUMENT', '--install and --uninstall contradict each other', {
      fields: ['install'],
    });
  if (isSet(parsed, 'dry-run') && !isSet(parsed, 'install'))
    return fail('INVALID_ARGUMENT', '--dry-run needs --install', { fields: ['dry_run'] });
  const server = keptServer(inspectConfiguration(...settingSources(parsed)));
  if (!server.ok && flagValue(parsed, 'store-url') !== undefined) return failed(server.error);
  const text = manager.text(serviceOf(parsed, flags));
  if (isSet(parsed, 'dry-run')) {
    await terminal.print(text);
    return ok(0);
  }
  const reached = manager.reach();
  if (!reached.ok) return failed(reached.error);
  const old = existsSync(manager.path) ? readFileSync(manager.path, 'utf8') : null;
  if (old !== null && !isOwn(old))
    return fail('CONFLICT', `${manager.path} was not written by this program; nothing was changed`);
  const lines = isSet(parsed, 'uninstall') ? removed(manager, old) : await installed(manager, text, parsed);
  if (!lines.ok) return failed(lines.error);
  await terminal.print(`${lines.value.join('\n')}\n`);
  return ok(0);
}

function removed(manager: ServiceManager, old: string | null): Result<readonly string[]> {
  if (old === null) return ok([`there is no service: ${manager.path} does not exist`]);
  const stopped = manager.stop();
  if (!stopped.ok) return failed(stopped.error);
  rmSync(manager.path);
  manager.forget();
  return ok([`the service has ended, and ${manager.path} is removed; the data stays`]);
}

async function installed(
  manager: ServiceManager,
  text: string,
  parsed: ParsedArguments,
): Promise<Result<readonly string[]>> {
  mkdirSync(dirname(manager.path), { recursive: true });
  const file = new PrivateFile(manager.path, systemRandom.uuid().slice(0, 8));
  file.write(text);
  file.finish();
  const started = manager.start();
  if (!started.ok) return failed(started.error);
  await new Pause(systemScheduler, SETTLE_MS).take();
  if (!manager.isRunning())
    return fail(
      'UNAVAILABLE',
      `the service is installed (${manager.path}), and its node ended: ${manager.hints.join('; ')}`,
    );
  const left = leftOut(parsed);
  return ok([
    `the node runs as a service: ${manager.path}`,
    ...manager.hints,
    ...passingProgram(),
    ...(left.length === 0 ? [] : [`not taken along, put it into the configuration file: ${left.join(', ')}`]),
  ]);
}

/** The command of a service that runs the node which these words would run. */
function serviceOf(parsed: ParsedArguments, flags: readonly DocumentedFlag[]): Service {
  const { settings, origins } = inspectConfiguration(...settingSources(parsed));
  const words = flags
    .filter(({ kind }) => kind === 'value')
    .flatMap(({ name, path }) => {
      const value = flagValue(parsed, name);
      if (value === undefined) return [];
      return [`--${name}`, path === undefined || value === ':memory:' ? value : absolutePath(value)];
    });
  const env = SETTINGS.filter(({ key }) => TAKEN.includes(key) && isOfEnvironment(origins.get(key)))
    .filter(({ env: name }) => name !== undefined)
    .map(({ key, env: name }) => [name!, String(settings[key])]);
  const script = process.argv[1]!;
  return {
    command: [process.execPath, existsSync(script) ? realpathSync(script) : script, 'serve', ...words],
    env: { ...Object.fromEntries(env), ...fileVariables(parsed) },
  };
}

/** The service reads the configuration file that this command reads. */
function fileVariables(parsed: ParsedArguments): Readonly<Record<string, string>> {
  const file = variableOf(FILE);
  if (file !== null && flagValue(parsed, 'config') === undefined) return { [FILE]: absolutePath(file) };
  return variableOf(NO_FILE) === '1' ? { [NO_FILE]: '1' } : {};
}

const isOfEnvironment = (origin: { readonly source: string } | undefined) => origin?.source === 'environment';

/** Variables of settings that are set here and not in the service. */
function leftOut(parsed: ParsedArguments): readonly string[] {
  const { origins } = inspectConfiguration(...settingSources(parsed));
  return SETTINGS.filter(({ key }) => !TAKEN.includes(key) && isOfEnvironment(origins.get(key))).flatMap(
    ({ env }) => env ?? [],
  );
}
