import { copyFileSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Connection } from '../../../storage/sql/connection.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { openBeside } from '../../support/test-store.js';
import { type Finished, run } from '../../surface/cli/cli-process.js';
import { FaultProxy, type ProxyOptions } from './fault-proxy.js';

const SHIFT_CLOCK = fileURLToPath(new URL('./shift-clock.js', import.meta.url));
export const QUORUM_TIMEOUT_MS = 2000;
const FLAGS = [
  '--quorum-writes',
  '2',
  '--quorum-timeout-ms',
  String(QUORUM_TIMEOUT_MS),
  '--catchup-interval-secs',
  '1',
];

/** How a daemon speaks of its own mistakes. */
const BUGS = [
  'met a bug',
  'failed unexpectedly',
  'of replication failed',
  'an actor failed',
  'thread failed',
];

/** Where a node keeps its rows: a file elsewhere than in its home, or a database of a server. */
export interface DatabaseOfNode {
  readonly db?: string | null;
  readonly storeUrl?: string | null;
}

/** One node of a mesh of real processes: its home, its daemon, and the proxy by which the others reach it. */
export class ProcessNode {
  daemon: DaemonProcess | null = null;
  /** What its clock is off by, from its next start on. */
  clockOffsetMs = 0;
  /** True between SIGSTOP and SIGCONT. */
  frozen = false;
  /** Times that its database was lost or put back: what only it had then is nobody's promise. */
  lives = 0;
  peerId = '';
  /** Further settings of its daemon and its commands. */
  settings: Readonly<Record<string, string>> = {};
  /** What its daemons said of themselves that no fault from outside explains. */
  readonly bugs: string[] = [];
  /** Of its last daemon, from the moment that it was started. */
  pid: number | null = null;

  private constructor(
    readonly name: string,
    readonly home: string,
    readonly db: string,
    /** The database of a server in the place of the file; null for the file. */
    private readonly storeUrl: string | null,
    readonly apiPort: number,
    readonly listenPort: number,
    readonly proxy: FaultProxy,
  ) {}

  static async make(
    name: string,
    rules: Pick<ProxyOptions, 'sourceOf' | 'ruleOf'>,
    { db = null, storeUrl = null }: DatabaseOfNode = {},
  ): Promise<ProcessNode> {
    const home = temporaryFolder(`mesh-${name}`);
    const listenPort = await freePort();
    const proxy = await FaultProxy.open({ ...rules, targetPort: listenPort });
    const path = db ?? join(home, 'mnemesh.db');
    return new ProcessNode(name, home, path, storeUrl, await freePort(), listenPort, proxy);
  }

  get base(): string {
    return `http://127.0.0.1:${this.apiPort}/api/v1`;
  }

  get up(): boolean {
    return this.daemon !== null && !this.frozen;
  }

  /** Where the others reach it, and where it listens. */
  get place(): readonly string[] {
    return ['--url', `https://127.0.0.1:${this.proxy.port}`, '--listen', `127.0.0.1:${this.listenPort}`];
  }

  get environment(): Record<string, string> {
    const shift =
      this.clockOffsetMs === 0
        ? {}
        : { NODE_OPTIONS: `--import ${SHIFT_CLOCK}`, TEST_CLOCK_OFFSET_MS: String(this.clockOffsetMs) };
    return {
      ...(this.storeUrl === null ? { SVC_DB: this.db } : { SVC_STORE_URL: this.storeUrl }),
      ...shift,
      ...this.settings,
    };
  }

  /** A plain connection to its database, beside the daemon. */
  openBeside(): Connection {
    return openBeside(this.storeUrl === null ? { path: this.db } : { url: this.storeUrl });
  }

  /** Runs a command in the node's home. */
  cli(args: readonly string[], stdin = ''): Promise<Finished> {
    return run(this.home, args, { env: this.environment, stdin });
  }

  /** Runs a command that must succeed; answers its output. */
  async must(args: readonly string[], stdin = ''): Promise<string> {
    const { code, out, err } = await this.cli(args, stdin);
    if (code !== 0) throw new Error(`${this.name}: ${args.join(' ')} ended with ${code}: ${out}${err}`);
    return out;
  }

  async start(): Promise<void> {
    const { home, apiPort, environment } = this;
    this.daemon = await startDaemonProcess(home, apiPort, environment, FLAGS, (pid) => {
      this.pid = pid ?? null;
    });
  }

  /** Ends the daemon; answers its code or signal. */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    const { daemon } = this;
    if (daemon === null) return null;
    this.daemon = null;
    this.frozen = false;
    // Who is stopped hears of nothing but SIGKILL.
    if (signal !== 'SIGKILL') daemon.child.kill('SIGCONT');
    const code = await daemon.end(signal);
    const lines = daemon.errors().split('\n');
    this.bugs.push(...lines.filter((line) => BUGS.some((words) => line.includes(words))));
    return code;
  }

  freeze(): void {
    this.frozen = true;
    this.daemon?.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.frozen = false;
    this.daemon?.child.kill('SIGCONT');
  }

  /** Copies the files of the database aside; the daemon must not run. */
  keepCopy(to: string): void {
    for (const path of this.databaseFiles())
      copyFileSync(path, join(to, path.slice(path.lastIndexOf('/') + 1)));
  }

  /** Puts such a copy in the place of the database, as somebody who knows no better does. */
  putBack(from: string): void {
    this.loseDatabase();
    for (const name of readdirSync(from)) copyFileSync(join(from, name), join(this.db, '..', name));
  }

  /** Takes the database away; keys and the mesh's folder stay. */
  loseDatabase(): void {
    this.lives += 1;
    for (const path of this.databaseFiles()) rmSync(path);
  }

  /** Takes the whole home away, as if the machine were gone. */
  loseEverything(): void {
    this.lives += 1;
    const gone = `${this.home}-gone-${this.lives}`;
    if (existsSync(this.home)) renameSync(this.home, gone);
    rmSync(gone, { recursive: true, force: true });
  }

  private databaseFiles(): string[] {
    const folder = join(this.db, '..');
    const name = this.db.slice(folder.length + 1);
    return readdirSync(folder)
      .filter((file) => file === name || file.startsWith(`${name}-`) || file.startsWith(`${name}.`))
      .map((file) => join(folder, file));
  }
}
