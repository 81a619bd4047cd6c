import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort, temporaryFolder } from './daemon-process.js';
import { event, until } from './wait.js';

const execute = promisify(execFile);

/** Where Debian puts the servers, the newest first. */
const SERVERS = '/usr/lib/postgresql';

/** The programs of a server of this machine; null where there is none. `PG_TEST_BIN` names them. */
export function serverPrograms(): string | null {
  const named = process.env['PG_TEST_BIN'];
  if (named !== undefined) return named;
  if (!existsSync(SERVERS)) return null;
  const found = readdirSync(SERVERS)
    .map((version) => join(SERVERS, version, 'bin'))
    .filter((folder) => existsSync(join(folder, 'initdb')))
    .sort()
    .reverse();
  return found[0] ?? null;
}

/** An extension that the server which tests start has, or the one that was given; false where there is none of it. */
export const hasExtension = (name: 'age' | 'vector'): boolean => {
  const programs = process.env['PG_TEST_URL'] === undefined ? serverPrograms() : null;
  return programs !== null && existsSync(join(programs, '../lib', `${name}.so`));
};

/** Why tests with a server are left out; false where they run. */
export const withoutServer: string | false =
  serverPrograms() === null && process.env['PG_TEST_URL'] === undefined
    ? 'no PostgreSQL server is installed here, and PG_TEST_URL names none'
    : false;

/** The same for tests that kill the server, or set what it does. */
export const withoutOwnServer: string | false =
  serverPrograms() === null && 'no PostgreSQL server is installed here';

/** A user that may run a server, which refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** A server of its own on loopback, with as many databases as a test wants. */
export class PostgresServer {
  /** By all tests of a process, which may share a server. */
  private static made = 0;

  private constructor(
    /** The address without a database. */
    readonly base: string,
    private readonly launch: (() => Promise<ChildProcess>) | null,
    private child: ChildProcess | null,
    private readonly removed: () => void,
  ) {}

  /** Null for a server that was given. */
  get pid(): number | null {
    return this.child?.pid ?? null;
  }

  /** The server that `PG_TEST_URL` names, or one of its own. */
  static async start(): Promise<PostgresServer> {
    const given = process.env['PG_TEST_URL'];
    if (given === undefined) return PostgresServer.startOwn();
    return new PostgresServer(given.replace(/\/[^/]*$/, ''), null, null, () => {});
  }

  /** A server that nobody else uses, with further settings. */
  static async startOwn(more: readonly string[] = []): Promise<PostgresServer> {
    const programs = serverPrograms();
    if (programs === null) throw new Error(String(withoutOwnServer));
    const folder = temporaryFolder('postgres');
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(folder, NOBODY.uid, NOBODY.gid);
    const as = {
      cwd: folder,
      env: { PATH: '/usr/bin:/bin', HOME: folder, LC_ALL: 'C.UTF-8', TZ: 'UTC' },
      ...(isRoot ? NOBODY : {}),
    };
    const data = join(folder, 'data');
    await execute(
      join(programs, 'initdb'),
      ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
      as,
    );
    const port = await freePort();
    const settings = [
      `port=${port}`,
      'listen_addresses=127.0.0.1',
      'unix_socket_directories=',
      'jit=off',
      // What it holds is gone with the test.
      'fsync=off',
      ...(hasExtension('age') ? ['shared_preload_libraries=age'] : []),
      ...more,
    ];
    const launch = async (): Promise<ChildProcess> => {
      const server = spawn(
        join(programs, 'postgres'),
        ['-D', data, ...settings.flatMap((each) => ['-c', each])],
        { ...as, stdio: ['ignore', 'ignore', 'pipe'] },
      );
      process.once('exit', () => server.kill('SIGQUIT'));
      let said = '';
      server.stderr.on('data', (bytes: Buffer) => {
        said = (said + String(bytes)).slice(-4000);
      });
      await until('the server takes connections', () => said.includes('ready to accept connections'), {
        seen: () => said,
      });
      return server;
    };
    return new PostgresServer(`postgres://postgres@127.0.0.1:${port}`, launch, await launch(), () =>
      rmSync(folder, { recursive: true, force: true }),
    );
  }

  /** Kills all its processes at once, as a machine does that loses its power. */
  async kill(): Promise<void> {
    const child = this.child!;
    const ended = event('the server ends', child, 'exit');
    // First nobody may see the end of another and close in good order.
    const pids = this.pause();
    for (const pid of pids) signal(pid, 'SIGKILL');
    await ended;
    this.child = null;
  }

  /** Stops all its processes, so that it neither answers nor refuses; answers their ids. */
  pause(): readonly number[] {
    return this.each('SIGSTOP');
  }

  resume(): void {
    this.each('SIGCONT');
  }

  private each(name: NodeJS.Signals): readonly number[] {
    const { pid } = this.child!;
    const pids = [pid!, ...childrenOf(pid!)];
    for (const each of pids) signal(each, name);
    return pids;
  }

  /** Starts it again after `kill`. */
  async restart(): Promise<void> {
    this.child = await this.launch!();
  }

  /** A new, empty database, which sorts by the rules of a language as those of most servers do; answers its URL. */
  async database(): Promise<string> {
    PostgresServer.made += 1;
    const name = `t_${process.pid}_${PostgresServer.made}`;
    await this.ask(
      'postgres',
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
    );
    return `${this.base}/${name}`;
  }

  /** Runs statements in a database of this server, as its superuser; answers the rows of the last. */
  async ask(database: string, sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: `${this.base}/${database}` });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async stop(): Promise<void> {
    const child = this.child;
    if (child !== null) {
      const ended = event('the server ends', child, 'exit');
      child.kill('SIGQUIT');
      await ended;
    }
    this.removed();
  }
}

/** Each session of a server is a process of its own. */
const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && parentOf(name) === pid)
    .map(Number);

function parentOf(pid: string): number | null {
  try {
    return Number(/\)\s\S\s(\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]);
  } catch {
    return null;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
