import { join } from 'node:path';
import { type DaemonProcess, freePort, startDaemonProcess, temporaryFolder } from './daemon-process.js';
import type { PostgresServer } from './postgres-server.js';

/** Daemons on one database of a server: one key folder, a home for each, as on machines of their own. */
export class ServerDaemons {
  private readonly keys = join(temporaryFolder('keys'), 'keys');
  readonly running = new Map<string, DaemonProcess>();
  private readonly started: DaemonProcess[] = [];
  private readonly places = new Map<string, { readonly home: string; readonly port: number }>();

  constructor(
    private readonly server: PostgresServer,
    readonly url: string,
    private readonly extra: Record<string, string> = {},
  ) {}

  /** What a process needs to use the database. */
  environment(home: string): Record<string, string> {
    return { SVC_HOME: home, SVC_KEY_DIR: this.keys, SVC_STORE_URL: this.url, ...this.extra };
  }

  /** Starts a daemon; one of the same name gets its home and its port again. */
  async start(name: string, extra: Record<string, string> = {}): Promise<DaemonProcess> {
    const place = this.places.get(name) ?? {
      home: temporaryFolder(`daemon-${name}`),
      port: await freePort(),
    };
    this.places.set(name, place);
    const environment = { ...this.environment(place.home), ...extra };
    const daemon = await startDaemonProcess(place.home, place.port, environment);
    this.running.set(name, daemon);
    this.started.push(daemon);
    return daemon;
  }

  /** Ends a daemon without warning. */
  async kill(name: string): Promise<void> {
    const daemon = this.running.get(name)!;
    this.running.delete(name);
    await daemon.end('SIGKILL');
  }

  /** Whose duties the database has: the name of a daemon that runs; null where nobody of them owns it. */
  async owner(): Promise<string | null> {
    const [row] = await this.ask('SELECT holder, expires_at_ms FROM database_owner');
    const pid = Number(String(row?.['holder']).split(':')[1]);
    if (row === undefined || row['expires_at_ms'] === '0') return null;
    return [...this.running].find(([, { child }]) => child.pid === pid)?.[0] ?? null;
  }

  /** What all daemons said on standard error, those that were killed as well. */
  errors(): string {
    return this.started.map((daemon) => daemon.errors()).join('');
  }

  ask(sql: string): Promise<Record<string, unknown>[]> {
    return this.server.ask(new URL(this.url).pathname.slice(1), sql);
  }

  async stop(): Promise<void> {
    const daemons = [...this.running.values()];
    this.running.clear();
    await Promise.all(daemons.map((daemon) => daemon.end('SIGTERM')));
  }
}
