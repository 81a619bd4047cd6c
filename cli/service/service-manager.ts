import { spawnSync } from 'node:child_process';
import { platform, userInfo } from 'node:os';
import { join } from 'node:path';
import { userFolder } from '../../node/config/paths.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import { AGENT_LABEL, agentText, type Service, UNIT_NAME, unitText } from './service-file.js';

/** What runs the services of a user on this machine. */
export interface ServiceManager {
  readonly path: string;
  readonly text: (service: Service) => string;
  /** Whether it runs here at all. */
  readonly reach: () => Result<null>;
  readonly start: () => Result<null>;
  /** Also where it does not run. */
  readonly stop: () => Result<null>;
  /** After the file is gone. */
  readonly forget: () => void;
  readonly isRunning: () => boolean;
  /** How a person looks after it. */
  readonly hints: readonly string[];
}

const HOW_ELSE = 'start the node with "mnemesh serve", or let another service manager run that command';

/** The service manager of this platform. UNAVAILABLE where this program knows none. */
export function serviceManager(): Result<ServiceManager> {
  if (platform() === 'linux') return ok(systemd());
  if (platform() === 'darwin') return ok(launchd());
  return fail('UNAVAILABLE', `services of a user are not known on ${platform()}: ${HOW_ELSE}`);
}

function calling(program: string, words: readonly string[]): Result<string> {
  const { status, stdout, stderr, error } = spawnSync(program, words, { encoding: 'utf8', timeout: 60_000 });
  if (status === 0) return ok(stdout.trim());
  const reason = error?.message ?? (stderr.trim() || stdout.trim() || `it ended with ${status}`);
  return fail('UNAVAILABLE', `${[program, ...words].join(' ')}: ${reason.replace(/\s+/g, ' ')}`);
}

function inTurn(calls: readonly (() => Result<string>)[]): Result<null> {
  for (const call of calls) {
    const done = call();
    if (!done.ok) return done;
  }
  return ok(null);
}

function systemd(): ServiceManager {
  const systemctl = (...words: string[]) => calling('systemctl', ['--user', ...words]);
  return {
    path: join(userFolder(), '.config/systemd/user', UNIT_NAME),
    text: unitText,
    reach: () => {
      const { ok: reached, ...answer } = systemctl('show-environment');
      if (reached) return ok(null);
      const { message } = (answer as { error: { message: string } }).error;
      return fail('UNAVAILABLE', `systemd does not serve this user (${message}): ${HOW_ELSE}`);
    },
    start: () =>
      inTurn([
        () => systemctl('daemon-reload'),
        () => systemctl('enable', UNIT_NAME),
        () => systemctl('restart', UNIT_NAME),
      ]),
    stop: () => inTurn([() => systemctl('disable', '--now', UNIT_NAME)]),
    forget: () => void systemctl('daemon-reload'),
    isRunning: () => systemctl('is-active', UNIT_NAME).ok,
    hints: [
      `status: systemctl --user status ${UNIT_NAME}`,
      `log: journalctl --user --unit ${UNIT_NAME}`,
      'to keep it running while you are logged out: loginctl enable-linger',
    ],
  };
}

function launchd(): ServiceManager {
  const domain = `gui/${userInfo().uid}`;
  const target = `${domain}/${AGENT_LABEL}`;
  const path = join(userFolder(), 'Library/LaunchAgents', `${AGENT_LABEL}.plist`);
  const log = join(userFolder(), 'Library/Logs', `${AGENT_LABEL}.log`);
  const launchctl = (...words: string[]) => calling('launchctl', words);
  const isLoaded = () => launchctl('print', target).ok;
  const stop = () => (isLoaded() ? inTurn([() => launchctl('bootout', target)]) : ok(null));
  return {
    path,
    text: (service) => agentText(service, log),
    reach: () => inTurn([() => launchctl('print', domain)]),
    start: () => {
      const stopped = stop();
      return stopped.ok ? inTurn([() => launchctl('bootstrap', domain, path)]) : stopped;
    },
    stop,
    forget: () => undefined,
    isRunning: isLoaded,
    hints: [`status: launchctl print ${target}`, `log: ${log}`],
  };
}
