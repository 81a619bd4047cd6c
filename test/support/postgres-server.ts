import { execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, readdirSync, rmSync } from 'node:fs';
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

/** Why tests with a server are left out; false where they run. */
export const withoutServer: string | false =
  serverPrograms() === null && process.env['PG_TEST_URL'] === undefined
    ? 'no PostgreSQL server is installed here, and PG_TEST_URL names none'
    : false;

/** A user that may run a server, which refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };

/** A server of its own on loopback, with as many databases as a test wants. */
export class PostgresServer {
  private made = 0;

  private constructor(
    /** The address without a database. */
    readonly base: string,
    readonly pid: number | null,
    private readonly end: () => Promise<void>,
  ) {}

  static async start(more: readonly string[] = []): Promise<PostgresServer> {
    const given = process.env['PG_TEST_URL'];
    if (given !== undefined) return new PostgresServer(given.replace(/\/[^/]*$/, ''), null, async () => {});
    const programs = serverPrograms();
    if (programs === null) throw new Error(String(withoutServer));
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
      ...more,
    ];
    const server = spawn(
      join(programs, 'postgres'),
      ['-D', data, ...settings.flatMap((each) => ['-c', each])],
      {
        ...as,
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    process.once('exit', () => server.kill('SIGQUIT'));
    let said = '';
    server.stderr.on('data', (bytes: Buffer) => {
      said = (said + String(bytes)).slice(-4000);
    });
    await until('the server takes connections', () => said.includes('ready to accept connections'), {
      seen: () => said,
    });
    return new PostgresServer(`postgres://postgres@127.0.0.1:${port}`, server.pid!, async () => {
      const ended = event('the server ends', server, 'exit');
      server.kill('SIGQUIT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    });
  }

  /** A new, empty database, which sorts by the rules of a language as those of most servers do; answers its URL. */
  async database(): Promise<string> {
    this.made += 1;
    const name = `t_${process.pid}_${this.made}`;
    await this.ask(
      'postgres',
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`,
    );
    return `${this.base}/${name}`;
  }

  /** Runs statements in a database of this server, as its superuser. */
  async ask(database: string, sql: string): Promise<void> {
    const client = new pg.Client({ connectionString: `${this.base}/${database}` });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  }

  stop(): Promise<void> {
    return this.end();
  }
}
