import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';

/**
 * The bound of the heap of each thread. Without it V8 lets garbage of large answers lie while the machine has memory, so
 * that resident memory says little; a leak ends the daemon.
 */
const HEAP_MEBIBYTES = 192;

/** A daemon under drawn inputs; what belongs to it is watched over the whole run. */
export class Target {
  readonly path: string;
  readonly #firstBytes: number | null;
  #filledBytes: number | null;

  private constructor(
    readonly daemon: DaemonProcess,
    readonly port: number,
  ) {
    this.path = join(daemon.home, 'mnemesh.db');
    this.#firstBytes = residentBytes(daemon.child.pid!);
    this.#filledBytes = this.#firstBytes;
  }

  static async start(home = temporaryFolder('fuzz'), extra: Record<string, string> = {}): Promise<Target> {
    const port = await freePort();
    const daemon = await startDaemonProcess(home, port, {
      SVC_ADMIN_AGENT_IDS: 'ai:root',
      SVC_ADMIN_HEADER_TRUST: '1',
      SVC_LOG_LEVEL: 'error',
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MEBIBYTES}`,
      ...extra,
    });
    return new Target(daemon, port);
  }

  /** Fails when the daemon ended, had to restart a part, or logged an error. */
  async check(): Promise<void> {
    const { child, errors } = this.daemon;
    assert.equal(child.exitCode, null, `the daemon ended: ${errors().slice(-2000)}`);
    assert.equal(child.signalCode, null, `the daemon was killed: ${errors().slice(-2000)}`);
    const metrics = await (await fetch(`http://127.0.0.1:${this.port}/metrics`)).text();
    assert.equal(
      /^svc_actor_restarts_total.* [1-9]\d*$/m.exec(metrics),
      null,
      'an actor had to be restarted',
    );
    assert.doesNotMatch(errors(), /"level":(50|60)|unexpectedly/, 'something was logged as an error');
  }

  /** Counts the growth from now on: the caches of the database and the memory of nonces are filled, up to their bounds. */
  filled(): void {
    this.#filledBytes = residentBytes(this.daemon.child.pid!);
  }

  /** Resident memory over the run, for people; fails when it has grown by more than is allowed. */
  memory(growthBytesMax: number): string {
    const now = residentBytes(this.daemon.child.pid!);
    if (this.#firstBytes === null || this.#filledBytes === null || now === null)
      return 'memory is not known here';
    const sizes = [this.#firstBytes, this.#filledBytes, now].map(mebibytes);
    const text = `memory ${sizes[0]} at the start, ${sizes[1]} when it was filled, ${sizes[2]} now`;
    assert.ok(now - this.#filledBytes < growthBytesMax, `it grew too much: ${text}`);
    return text;
  }

  async end(): Promise<void> {
    assert.equal(await this.daemon.end('SIGTERM'), 0, this.daemon.errors().slice(-2000));
    assert.deepEqual(auditLog(this.path, 'hostile').slice(0, 20), []);
  }
}

const mebibytes = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;

/** The memory of a process that is its own and backed by no file; null where the system does not tell. */
export function residentBytes(pid: number): number | null {
  try {
    const kibibytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kibibytes === undefined ? null : Number(kibibytes) * 1024;
  } catch {
    return null;
  }
}
