import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withStoreUrl } from './test-store.js';
import { event, until, within } from './wait.js';

/** The built command line, beside this file's own build. */
export const MAIN = join(dirname(fileURLToPath(import.meta.url)), '../../cli/main.js');

/** A fresh folder that is removed when the test process ends. */
export function temporaryFolder(label: string): string {
  const folder = mkdtempSync(join(tmpdir(), `mnemesh-${label}-`));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The environment of a process under test: nothing of the developer's own configuration, and the store that the tests run on. */
export function cleanEnvironment(home: string, extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('SVC_'));
  return {
    ...Object.fromEntries(inherited),
    SVC_HOME: home,
    SVC_EMBED_BACKEND: 'none',
    SVC_REQUIRE_AGENT_ATTESTATION: '0',
    SVC_LOG_LEVEL: 'warn',
    // Loads write more in a day than an agent may by default; tests of quotas set their own.
    SVC_MAX_MEMORIES_PER_DAY: '1000000000',
    SVC_MAX_STORAGE_BYTES: '1000000000000',
    ...withStoreUrl(home, extra),
  };
}

/** A process that is given a file keeps it on every store. */
export const withFile = (args: readonly string[], extra: Record<string, string> = {}) =>
  args.some((word) => /^--db(=|$)/.test(word)) ? { SVC_STORE_URL: '', ...extra } : extra;

/** Below the ports that systems give to connections and to listeners that name none. */
const PORTS = { first: 10_000, count: 20_000 } as const;
/** Each port that a test process took is a file with its process id. */
const PORTS_TAKEN = join(tmpdir(), 'mnemesh-test-ports');

/**
 * A port that no other test process gets while this one runs: a daemon may listen on it late, or leave it and return. Another
 * daemon there would answer for it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + randomInt(PORTS.count);
    if (!takePort(port)) continue;
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('listening', () => resolve(true)).once('error', () => resolve(false));
    });
    if (!isFree) continue;
    server.close();
    await event('the port is let go', server, 'close');
    return port;
  }
}

/** True when the port is this process's own from now on. */
function takePort(port: number): boolean {
  mkdirSync(PORTS_TAKEN, { recursive: true });
  const path = join(PORTS_TAKEN, String(port));
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
    process.once('exit', () => rmSync(path, { force: true }));
    return true;
  } catch {
    // A process that was killed has left its files.
    if (!isAlive(path)) rmSync(path, { force: true });
    return false;
  }
}

function isAlive(path: string): boolean {
  try {
    process.kill(Number(readFileSync(path, 'utf8')), 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

export interface RunningDaemon {
  readonly base: string;
  readonly home: string;
  /** Sends a signal and waits for the end; answers code or signal. */
  end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

export interface DaemonProcess extends RunningDaemon {
  readonly child: ChildProcess;
  /** Standard error so far. */
  readonly errors: () => string;
}

const READY_WITHIN_MS = 30_000;
const GONE_WITHIN_MS = 60_000;

/** Starts `serve` as a user would, of the project's own build unless `main` names another, and waits until it answers. */
export async function startDaemonProcess(
  home: string,
  port: number,
  extra: Record<string, string> = {},
  flags: readonly string[] = [],
  onSpawn: (pid: number | undefined) => void = () => undefined,
  main = MAIN,
): Promise<DaemonProcess> {
  const child = spawn(process.execPath, [main, 'serve', '--port', String(port), ...flags], {
    env: cleanEnvironment(home, withFile(flags, extra)),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  onSpawn(child.pid);
  let errors = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const gone = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? code));
  });
  const base = `http://127.0.0.1:${port}/api/v1`;
  const ready = () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`serve ended: ${errors}`);
    return answers(`${base}/health`);
  };
  await until('serve answers', ready, { withinMs: READY_WITHIN_MS, seen: () => errors });
  return {
    child,
    base,
    home,
    errors: () => errors,
    end: (signal) => {
      child.kill(signal);
      return within(`serve ends after ${signal}`, gone, { withinMs: GONE_WITHIN_MS, seen: () => errors });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}
