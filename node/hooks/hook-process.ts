import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { StderrTail } from './stderr-tail.js';

/** How the program of a hook is started. */
export interface HookPlace {
  /** The folder of the file of hooks, in which it runs. */
  readonly folder: string;
  /** Its whole environment. */
  readonly environment: Readonly<Record<string, string>>;
}

/** Failures of a start that may not last. */
const TRANSIENT: ReadonlySet<string> = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'ETXTBSY']);

/**
 * A program of a hook in a process group of its own, so that it is ended with the processes that it started. Where the
 * system has no such groups, only the program itself is ended.
 */
export class HookProcess {
  readonly errors = new StderrTail();
  /** Resolves when it runs, with the reason when it cannot be started. */
  readonly started: Promise<StartProblem | null>;
  /** Resolves when it has ended and its output was read. */
  readonly closed: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  #isEnded = false;

  private constructor(readonly child: ChildProcessWithoutNullStreams) {
    child.stderr.on('data', (chunk: Buffer) => this.errors.push(chunk));
    // A program that does not read its input closes the pipe.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.on('error', () => undefined);
    this.started = new Promise((resolve) => {
      child.once('spawn', () => resolve(null));
      child.once('error', (error) => resolve(startProblem(error)));
    });
    this.closed = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        // What it has left running.
        this.#kill();
        this.#isEnded = true;
        resolve({ code, signal });
      });
    });
  }

  /** Some failures of a start are known at once, and others only when `started` resolves. */
  static start(command: string, { folder, environment }: HookPlace): HookProcess | StartProblem {
    let child: ChildProcess;
    try {
      child = spawn(command, [], {
        cwd: folder,
        env: { ...environment },
        stdio: 'pipe',
        detached: true,
        windowsHide: true,
      });
    } catch (error) {
      return startProblem(error);
    }
    child.on('error', () => undefined);
    return isPiped(child) ? new HookProcess(child) : startProblem({ code: 'EMFILE' });
  }

  /** Ends it and the processes that it started. */
  end(): void {
    this.#kill();
    this.child.stdout.destroy();
    this.child.stderr.destroy();
    this.child.stdin.destroy();
  }

  #kill(): void {
    const { pid } = this.child;
    if (pid === undefined || this.#isEnded) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended, and left nothing.
    }
  }
}

export interface StartProblem {
  readonly problem: string;
  readonly transient: boolean;
}

function startProblem(error: unknown): StartProblem {
  const code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  return { problem: `it cannot be started: ${code}`, transient: TRANSIENT.has(code) };
}

/** A child has no streams when no file can be opened any more. */
const isPiped = (child: ChildProcess): child is ChildProcessWithoutNullStreams =>
  Boolean(child.stdin && child.stdout && child.stderr);

/** Why a program that ended failed; null for one that ended in good order. */
export async function endProblem(process: HookProcess): Promise<string | null> {
  const { code, signal } = await process.closed;
  if (code === 0) return null;
  const said = process.errors.text();
  const how = signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`;
  return said === '' ? how : `${how}: ${said}`;
}
