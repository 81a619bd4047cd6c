import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const EXIT_WAIT_MS = 15_000;

/** The temporary folders and processes of one benchmark; closing removes all of them. */
export class Workspace {
  private readonly folders: string[] = [];
  private readonly children = new Set<ChildProcess>();

  constructor(private readonly parent: string | null) {}

  /** A fresh folder. */
  folder(): string {
    const folder = mkdtempSync(join(this.parent ?? tmpdir(), 'mnemesh-bench-'));
    this.folders.push(folder);
    return folder;
  }

  /** Takes care of a process's end. */
  adopt<P extends ChildProcess>(child: P): P {
    this.children.add(child);
    child.once('exit', () => this.children.delete(child));
    return child;
  }

  /** Ends a process: politely first, so that it can write its profile. */
  async end(child: ChildProcess): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
    });
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), EXIT_WAIT_MS);
    await exited;
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    await Promise.all([...this.children].map((child) => this.end(child)));
    this.remove();
  }

  /** For an interruption: no process gets time to finish, but each is gone before its files are. */
  async abandon(): Promise<void> {
    const exits = [...this.children].map(
      (child) =>
        new Promise<void>((resolve) => {
          child.once('exit', () => resolve());
          child.kill('SIGKILL');
        }),
    );
    await Promise.all(exits);
    this.remove();
  }

  private remove(): void {
    for (const folder of this.folders.splice(0))
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
