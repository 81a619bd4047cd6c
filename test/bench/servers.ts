import { type ChildProcess, fork, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clientOf } from './node-client.js';
import type { Workspace } from './workspace.js';

/** A server process under load. */
export interface ServerProcess {
  readonly port: number;
  readonly child: ChildProcess;
  /** From the start of the process to its first answer. */
  readonly startMs: number;
  stop(): Promise<void>;
}

/** The built command line. */
export const MAIN = fileURLToPath(new URL('../../cli/main.js', import.meta.url));

/** Options of Node with which a process writes its profile to a folder at its end. */
export const profiling = (folder: string | null): readonly string[] =>
  folder === null ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`];

const START_WAIT_MS = 60_000;
const POLL_MS = 10;

/** The environment of a process of the service: without embeddings, and with quotas that no load meets. */
export function serviceEnvironment(
  home: string,
  env: Readonly<Record<string, string>> = {},
): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: home,
    SVC_HOME: home,
    SVC_NO_CONFIG: '1',
    SVC_LOG_LEVEL: 'warn',
    SVC_REQUIRE_AGENT_ATTESTATION: '0',
    SVC_EMBED_BACKEND: 'none',
    SVC_MAX_MEMORIES_PER_DAY: '1000000000',
    SVC_MAX_STORAGE_BYTES: '1000000000000',
    ...env,
  };
}

/** The real daemon, through the command that operators use. */
export async function startDaemonProcess(
  workspace: Workspace,
  home: string,
  env: Readonly<Record<string, string>>,
  cpuProf: string | null = null,
): Promise<ServerProcess> {
  const port = await freePort();
  const errors = join(home, 'bench-daemon.log');
  const out = openSync(errors, 'a');
  const start = performance.now();
  const child = workspace.adopt(
    spawn(process.execPath, [...profiling(cpuProf), MAIN, 'serve', '--port', String(port)], {
      stdio: ['ignore', out, out],
      env: serviceEnvironment(home, env),
    }),
  );
  closeSync(out);
  while (!(await answers(port))) {
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (ended || performance.now() - start > START_WAIT_MS) {
      throw new Error(`the daemon did not start:\n${readFileSync(errors, 'utf8').slice(-2000)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return { port, child, startMs: performance.now() - start, stop: () => workspace.end(child) };
}

/** A server of nothing but HTTP, with answers of these sizes. */
export async function startBareServer(
  workspace: Workspace,
  createdBytes: number,
  foundBytes: number,
  /** PEM files of certificate, key and authority; then it speaks mutual TLS. */
  tlsFiles: readonly string[] = [],
): Promise<ServerProcess> {
  const entry = fileURLToPath(new URL('./bare-server.js', import.meta.url));
  const start = performance.now();
  const args = [...[createdBytes, foundBytes].map((bytes) => String(Math.round(bytes))), ...tlsFiles];
  const child = workspace.adopt(fork(entry, args, { execArgv: [] }));
  const port = await new Promise<number>((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port));
    child.once('exit', () => reject(new Error('the bare server did not start')));
  });
  return { port, child, startMs: performance.now() - start, stop: () => workspace.end(child) };
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await clientOf(port, 'ai:bench').health()).status === 'ok';
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = address !== null && typeof address === 'object' ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

/** Processor seconds that a process has used; null where the system does not say. */
export function cpuSeconds(child: ChildProcess): number | null {
  try {
    return cpuSecondsOf(readFileSync(`/proc/${child.pid}/stat`, 'utf8'), 'itself');
  } catch {
    return null;
  }
}

/** Processor seconds in the text of `/proc/<pid>/stat`. */
export function cpuSecondsOf(stat: string, whose: 'itself' | 'ended children'): number {
  // The name may hold spaces, so fields are counted after it; 100 ticks are a second.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const at = whose === 'itself' ? 11 : 13;
  return (Number(fields[at]) + Number(fields[at + 1])) / 100;
}

/** Resident memory of a process in MiB; null where the system does not say. */
export function residentMib(child: ChildProcess): number | null {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
  } catch {
    return null;
  }
}

/**
 * Resident memory of a process as text: its own pages, and with the pages of files that it has mapped, which the
 * system takes back when it needs them.
 */
export function residentMemory(child: ChildProcess): string {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    const mebibytes = (field: string) =>
      Math.round(Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024);
    return `${mebibytes('RssAnon')} MiB (${mebibytes('VmRSS')} MiB with mapped files)`;
  } catch {
    return 'unknown memory';
  }
}

/** Runs something and says how much of one core a process used meanwhile. */
export async function withCpu<T>(
  child: ChildProcess,
  act: () => Promise<T>,
): Promise<{ value: T; cpu: number | null }> {
  const [before, from] = [cpuSeconds(child), performance.now()];
  const value = await act();
  const [after, to] = [cpuSeconds(child), performance.now()];
  return { value, cpu: before === null || after === null ? null : (after - before) / ((to - from) / 1000) };
}
