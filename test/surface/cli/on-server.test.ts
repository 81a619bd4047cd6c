import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Examination } from '../../../node/doctor/report.js';
import {
  cleanEnvironment,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { type PostgresServer, withoutOwnServer } from '../../support/postgres-server.js';
import { startTlsServer } from '../../support/tls-server.js';
import { until } from '../../support/wait.js';
import { McpProcess } from '../mcp/mcp-process.js';
import { run } from './cli-process.js';

type Row = Record<string, unknown>;

/** Commands on a database of a server that takes encrypted connections and passwords only. */

const PASSWORD = 's3cret-word';

describe('commands on a server', { skip: withoutOwnServer, timeout: 300_000 }, () => {
  let server: PostgresServer;
  let url: string;
  let plain: string;
  const home = temporaryFolder('on-server');
  let otherCa: string;

  before(async () => {
    const started = await startTlsServer();
    ({ server, otherCa } = started);
    const { ca } = started;
    await server.ask('postgres', `CREATE ROLE mnemesh LOGIN PASSWORD '${PASSWORD}'`);
    const database = await server.database();
    await server.ask(
      database.slice(database.lastIndexOf('/') + 1),
      'GRANT CREATE ON SCHEMA public TO mnemesh',
    );
    plain = database.replace('//postgres@', `//mnemesh:${PASSWORD}@`);
    url = `${plain}?sslmode=verify-full&sslrootcert=${ca}`;
    writeFileSync(join(home, 'store-url'), `${url}\n`, { mode: 0o600 });
  });
  after(() => server.stop());

  const command = (...words: string[]) =>
    run(home, words, { env: { SVC_STORE_URL_FILE: join(home, 'store-url') } });
  const doctor = async (...words: string[]) => {
    const { out, err } = await command('doctor', '--json', ...words);
    assert.doesNotMatch(out + err, new RegExp(PASSWORD));
    const report = JSON.parse(out) as Examination;
    const storage = report.sections.find(({ name }) => name === 'Storage')!;
    return { facts: new Map(storage.facts), codes: storage.findings.map(({ code }) => code) };
  };

  it('store and find over an encrypted connection to the server that the certificate names', async () => {
    const stored = await command(
      'store',
      '--json',
      '--title',
      'Deploy window',
      '--content',
      'We deploy on Sundays.',
    );
    assert.equal(stored.code, 0, stored.err);
    const found = await command('list', '--json');
    assert.match(found.out, /Deploy window/);
    const stats = await command('stats', '--json');
    assert.equal((JSON.parse(stats.out) as { total: number }).total, 1);
  });

  it('refuse a server that another authority vouches for, and one without encryption', async () => {
    for (const [address, why] of [
      [`${plain}?sslmode=verify-full&sslrootcert=${otherCa}`, /cannot be reached.*certificate/],
      [plain, /refuses this role/],
      [url.replace(PASSWORD, 'another'), /refuses this role/],
    ] as const) {
      const { code, err, out } = await run(home, ['stats'], { env: { SVC_STORE_URL: address } });
      assert.notEqual(code, 0);
      assert.match(err, why);
      assert.doesNotMatch(out + err, new RegExp(PASSWORD));
    }
  });

  it('doctor shows the server', async () => {
    const { facts, codes } = await doctor();
    assert.match(facts.get('server')!, /^PostgreSQL \d+/);
    assert.match(facts.get('TLS')!, /^TLSv1\.[23]$/);
    assert.deepEqual([facts.get('role'), facts.get('replication')], ['mnemesh', 'primary with 0 replicas']);
    assert.equal(facts.get('memories'), '1');
    for (const name of ['latency', 'connections', 'size', 'extension vector', 'extension age'])
      assert.ok(facts.has(name), name);
    assert.deepEqual(codes, []);
    const gone = await doctor('--store-url', 'postgres://mnemesh@127.0.0.1:1/none');
    assert.deepEqual(gone.codes, ['DB_SERVER_UNUSABLE']);
  });

  it('that copy files say what to do on the server; export, import and repair work', async () => {
    for (const words of [['backup'], ['restore', '--from', 'some.db']]) {
      const refused = await command(...words, '--json');
      const { code, error } = JSON.parse(refused.err) as { code: string; error: string };
      assert.equal(code, 'INVALID_ARGUMENT');
      assert.match(error, /pg_dump|pg_restore/);
    }
    const file = join(home, 'all.json');
    assert.equal((await command('export', '--out', file)).code, 0);
    assert.match(readFileSync(file, 'utf8'), /We deploy on Sundays/);
    const imported = await command('import', file, '--json');
    assert.equal(imported.code, 0, imported.err);
    const repaired = await command('repair', '--json');
    assert.equal(repaired.code, 0, repaired.err + repaired.out);
    const clock = await command('repair', '--clock', '--json');
    assert.equal((JSON.parse(clock.out) as { operations: number }).operations, 0);
  });

  it('bundles, imports and their undo, sync, vectors, owners and the shell work, also beside a daemon', async () => {
    const works = async (
      words: readonly string[],
      more: { stdin?: string; env?: Record<string, string> } = {},
    ) => {
      const env = { SVC_STORE_URL_FILE: join(home, 'store-url'), ...more.env };
      const { code, out, err } = await run(home, words, { ...more, env });
      assert.equal(code, 0, `${words.join(' ')}: ${err}${out}`);
      return out;
    };
    const notes = join(home, 'notes');
    mkdirSync(notes);
    writeFileSync(join(notes, 'ferry.md'), '# Ferry\n\nIt leaves at noon.\n');
    const other = join(temporaryFolder('on-server-other'), 'other.db');
    const far = await run(home, ['store', '-T', 'Remote', '-c', 'in a file', '--db', other]);
    assert.equal(far.code, 0, far.err);

    const all = async (round: string) => {
      const bundle = join(home, `${round}.tar`);
      const stored = await works(['store', '-T', round, '-c', 'kept', '-n', `team/${round}`, '--json']);
      const { id } = JSON.parse(stored) as { id: string };
      await works(['export-forensic-bundle', '--memory-id', id, '--output', bundle]);
      assert.match(await works(['verify-forensic-bundle', bundle]), /is whole/);
      const imported = JSON.parse(await works(['import', notes, '--format', 'markdown', '--json'])) as Row;
      assert.match(await works(['list']), /Ferry/);
      const undone = JSON.parse(await works(['import', '--undo', String(imported['run']), '--json'])) as Row;
      assert.equal(undone['removed'], 1);
      assert.match(
        await works(['reown', '--namespace', `team/${round}`, '--to', 'ai:new', '--claim-unowned']),
        /1 /,
      );
      await works(['sync', other, '--direction', 'pull', '--json']);
      assert.match(await works(['shell'], { stdin: 'list\nquit\n' }), /Remote/);
      await works(['agents', 'register', '--agent-id', `ai:${round}`, '--agent-type', 'human']);
      assert.match(await works(['audit', 'show']), new RegExp(`ai:${round}`));
      await works(['verify-audit-trail']);
      await works(['curator', '--once', '--dry-run']);
    };
    await all('alone');
    const vectors = { env: { SVC_EMBED_BACKEND: 'builtin' } };
    const embedded = JSON.parse(await works(['reembed', '--json'], vectors)) as Row;
    assert.equal(embedded['failed'], 0);
    const variables = { SVC_STORE_URL_FILE: join(home, 'store-url') };
    const daemon = await startDaemonProcess(home, await freePort(), variables);
    try {
      await all('beside');
    } finally {
      assert.equal(await daemon.end('SIGTERM'), 0, daemon.errors());
    }
  });

  it('an MCP server has the background work until a daemon takes it, and again when that is killed', async () => {
    const env = { SVC_STORE_URL_FILE: join(home, 'store-url') };
    const owner = async () => {
      const { out } = await command('doctor', '--json');
      return new Map((JSON.parse(out) as Examination).sections.flatMap(({ facts }) => facts)).get('owner');
    };
    const mcp = new McpProcess({ home, env });
    try {
      await mcp.request(1, 'initialize', {});
      await mcp.call(2, 'memory_store', { title: 'By MCP', content: 'through a tool' });
      await until('the server of the client owns it', async () => /^mcp/.test(String(await owner())), {
        withinMs: 60_000,
      });
      const daemon = await startDaemonProcess(home, await freePort(), env);
      await until('the daemon owns it', async () => /^daemon/.test(String(await owner())), {
        withinMs: 60_000,
      });
      await daemon.end('SIGKILL');
      await until('the server of the client owns it again', async () => /^mcp/.test(String(await owner())), {
        withinMs: 60_000,
      });
      await mcp.call(3, 'memory_store', { title: 'After', content: 'the daemon is gone' });
      assert.match((await command('list')).out, /After/);
    } finally {
      await mcp.end();
    }
  });

  it('show no password among the words of a process', async () => {
    const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', '--store-url', url], {
      env: cleanEnvironment(home),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (said += String(bytes)));
    try {
      await until('it serves', () => said.includes('listens on'), { withinMs: 60_000, seen: () => said });
      if (process.platform === 'linux')
        assert.doesNotMatch(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'), new RegExp(PASSWORD));
      assert.doesNotMatch(said, new RegExp(PASSWORD));
      const base = /http:\/\/127\.0\.0\.1:\d+/.exec(said)![0];
      const capabilities = await (await fetch(`${base}/api/v1/capabilities`)).text();
      assert.doesNotMatch(capabilities, new RegExp(PASSWORD));
      const { storage_backend, graph_engine } = JSON.parse(capabilities) as Record<string, unknown>;
      assert.deepEqual([storage_backend, graph_engine], ['postgres', 'cte']);
    } finally {
      child.kill('SIGTERM');
      await until('it ends', () => child.exitCode !== null || child.signalCode !== null, {
        withinMs: 60_000,
      });
    }
  });
});
