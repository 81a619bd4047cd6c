import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import type { Examination, Finding } from '../../../node/doctor/report.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import { copyStore, onlyOnSqlite, openBeside } from '../../support/test-store.js';
import { event } from '../../support/wait.js';
import { type Finished, run } from './cli-process.js';

const KEY = 'sk-very-secret-1234567890';
const folder = temporaryFolder('doctor');
const healthy = join(folder, 'healthy');
/** What the test environment switches off, switched on again. */
const STRICT = { SVC_REQUIRE_AGENT_ATTESTATION: '', SVC_LOG_LEVEL: '' };

let port = 0;
before(async () => {
  port = await freePort();
  for (const title of ['first', 'second']) {
    const stored = await run(healthy, ['store', '-T', title, '-c', 'some content']);
    assert.equal(stored.code, 0, stored.err);
  }
});

let homes = 0;
/** A healthy home of its own, with two memories. */
function freshHome(): string {
  homes += 1;
  const home = join(folder, `home-${homes}`);
  cpSync(healthy, home, { recursive: true });
  copyStore(healthy, home);
  for (const path of [home, join(home, 'keys')]) chmodSync(path, 0o700);
  return home;
}

/** Names, modes and content of everything in a home. SQLite's index of a write-ahead log is nobody's data. */
function fingerprint(home: string): string[] {
  if (!existsSync(home) || !lstatSync(home).isDirectory()) return [];
  return readdirSync(home, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.endsWith('-shm'))
    .sort()
    .map((name) => {
      const stat = lstatSync(join(home, name));
      const content = stat.isFile() && stat.size < 1e8 ? readFileSync(join(home, name)) : '';
      const hash = createHash('sha256').update(content).digest('hex');
      return `${name} ${stat.mode.toString(8)} ${stat.size} ${stat.mtimeMs} ${hash}`;
    });
}

interface Plan {
  readonly env?: Record<string, string>;
  readonly args?: readonly string[];
}

async function doctor(home: string, plan: Plan = {}): Promise<{ report: Examination; finished: Finished }> {
  const finished = await run(home, ['doctor', '--json', '--port', String(port), ...(plan.args ?? [])], {
    env: { ...STRICT, ...plan.env },
  });
  assert.match(finished.out, /^\{.*\}\n$/, finished.err);
  return { report: JSON.parse(finished.out) as Examination, finished };
}

const findingsOf = (report: Examination): Finding[] =>
  report.sections.flatMap((section) => [...section.findings]);

function config(home: string, toml: string, mode = 0o600): void {
  writeFileSync(join(home, 'config.toml'), toml);
  chmodSync(join(home, 'config.toml'), mode);
}

/** Changes the database behind the node's back. */
function sql(home: string, ...statements: readonly string[]): void {
  const db = openBeside({ home });
  try {
    for (const statement of statements) db.exec(statement);
  } finally {
    db.close();
  }
}

interface Fault {
  readonly fault: string;
  readonly code: string;
  readonly severity: 'INFO' | 'WARN' | 'CRIT';
  /** Spoils the home; the environment and flags that belong to the fault. */
  readonly plant: (home: string, context: TestContext) => Promise<Plan | undefined>;
}

const file = (home: string, name: string) => join(home, name);

const FAULTS: readonly Fault[] = [
  // The configuration
  row('config file is no TOML', 'CONFIG_NOT_TOML', 'CRIT', (home) => config(home, `api_key = "${KEY}`)),
  row('named config file is missing', 'CONFIG_FILE_UNREADABLE', 'CRIT', () => ({
    args: ['--config', '/nonexistent/config.toml'],
  })),
  row('misspelt key', 'CONFIG_UNKNOWN_KEY', 'WARN', (home) => config(home, '[limits]\nmax_page_siz = 5')),
  row('legacy flat fields', 'CONFIG_LEGACY_FIELDS', 'WARN', (home) => config(home, 'archive_on_gc = true')),
  row('inline api key', 'CONFIG_INLINE_API_KEY', 'CRIT', (home) => config(home, `[llm]\napi_key = "${KEY}"`)),
  row('api_key_file is missing', 'CONFIG_KEY_FILE_MISSING', 'WARN', (home) =>
    config(home, '[llm]\napi_key_file = "nowhere.key"'),
  ),
  row('api_key_file has mode 0644', 'CONFIG_KEY_FILE_MODE', 'WARN', (home) => {
    writeFileSync(file(home, 'llm.key'), KEY, { mode: 0o644 });
    config(home, '[llm]\napi_key_file = "llm.key"');
  }),
  row('api_key_file is empty', 'CONFIG_KEY_FILE_UNREADABLE', 'WARN', (home) => {
    writeFileSync(file(home, 'llm.key'), '\n', { mode: 0o400 });
    config(home, '[llm]\napi_key_file = "llm.key"');
  }),
  row('both key sources', 'CONFIG_KEY_SOURCES', 'CRIT', (home) =>
    config(home, '[llm]\napi_key_env = "A"\napi_key_file = "b"'),
  ),
  row('key variable is named and unset', 'CONFIG_KEY_ENV_UNSET', 'WARN', (home) =>
    config(home, '[embeddings]\napi_key_env = "NO_SUCH_KEY"'),
  ),
  row('value out of range', 'CONFIG_VALUE_INVALID', 'CRIT', (home) =>
    config(home, '[limits]\nmax_page_size = 0'),
  ),
  row('unknown embed backend', 'CONFIG_VALUE_INVALID', 'CRIT', () => ({
    env: { SVC_EMBED_BACKEND: 'magic' },
  })),
  row('embedder with a model of unknown dimension', 'EMBED_BACKEND_UNAVAILABLE', 'WARN', () => ({
    env: {
      SVC_EMBED_BACKEND: 'compatible',
      SVC_EMBED_BASE_URL: 'http://127.0.0.1:9',
      SVC_EMBED_MODEL: 'nobody/knows-it',
    },
  })),
  row('embedding server is down', 'EMBEDDINGS_UNREACHABLE', 'CRIT', async () => ({
    env: { SVC_EMBED_BACKEND: 'local-native', SVC_EMBED_BASE_URL: `http://127.0.0.1:${await freePort()}` },
  })),
  row('reranker is down', 'RERANKER_UNREACHABLE', 'WARN', async () => ({
    env: { SVC_RERANK_ENABLED: '1', SVC_RERANK_BASE_URL: `http://127.0.0.1:${await freePort()}` },
  })),
  row('key of the reranker in clear', 'RERANKER_KEY_IN_CLEAR', 'WARN', async () => ({
    env: {
      SVC_RERANK_ENABLED: '1',
      SVC_RERANK_BASE_URL: 'http://reranker.example',
      SVC_RERANK_API_KEY: KEY,
    },
  })),
  row('reranker without an address', 'CONFIG_RERANKER_INCOMPLETE', 'WARN', async () => ({
    env: { SVC_RERANK_ENABLED: '1' },
  })),
  row('chat model is down', 'LLM_UNREACHABLE', 'CRIT', async () => ({
    env: {
      SVC_LLM_BACKEND: 'compatible',
      SVC_LLM_BASE_URL: `http://127.0.0.1:${await freePort()}/v1`,
      SVC_LLM_API_KEY: KEY,
    },
  })),
  row('config file with the API key may be read by others', 'CONFIG_FILE_READABLE', 'WARN', (home) =>
    config(home, `api_key = "${KEY}"`, 0o644),
  ),
  row('config file may be written by others', 'CONFIG_FILE_WRITABLE', 'CRIT', (home) =>
    config(home, '', 0o666),
  ),
  row('misspelt variable', 'ENV_UNKNOWN', 'WARN', () => ({ env: { SVC_ADMIN_AGENT_ID: 'ai:a' } })),
  row('future schema of the config file', 'CONFIG_SCHEMA_VERSION', 'WARN', (home) =>
    config(home, 'schema_version = 9'),
  ),
  row('API key is required and missing', 'CONFIG_API_KEY_MISSING', 'CRIT', () => ({
    env: { SVC_REQUIRE_API_KEY: '1' },
  })),
  row('non-loopback host without a key', 'HOST_WITHOUT_API_KEY', 'CRIT', () => ({
    args: ['--host', '0.0.0.0'],
  })),
  row('guessable API key', 'API_KEY_SHORT', 'WARN', () => ({ env: { SVC_API_KEY: 'sesame' } })),
  row('attestation is off', 'ATTESTATION_OFF', 'WARN', () => ({
    env: { SVC_REQUIRE_AGENT_ATTESTATION: '0' },
  })),
  row('commits are not synced', 'SYNCHRONOUS_NOT_FULL', 'WARN', () => ({
    env: { SVC_DB_SYNCHRONOUS: 'OFF' },
  })),
  row('a gate is open', 'GATE_OPEN', 'WARN', () => ({ env: { SVC_FED_REQUIRE_SIG: '0' } })),
  // Identity and limits
  row('nobody is an admin', 'ADMIN_SET_EMPTY', 'INFO', () => undefined),
  row('wildcard admin', 'CONFIG_ADMIN_WILDCARD', 'WARN', () => ({ env: { SVC_ADMIN_AGENT_IDS: '*' } })),
  row('admins without an API key', 'ADMIN_WITHOUT_API_KEY', 'WARN', () => ({
    env: { SVC_ADMIN_AGENT_IDS: 'ai:root' },
  })),
  row('absurd page cap', 'PAGE_SIZE_HIGH', 'WARN', () => ({ env: { SVC_MAX_PAGE_SIZE: '100000' } })),
  row('absurd quota', 'QUOTA_LOW', 'WARN', () => ({ env: { SVC_MAX_MEMORIES_PER_DAY: '0' } })),
  row('absurd admission cap', 'INFLIGHT_LOW', 'WARN', () => ({ env: { SVC_MAX_INFLIGHT_REQUESTS: '1' } })),
  row('absurd time to live', 'TTL_LOW', 'WARN', (home) => config(home, '[ttl]\nmid_ttl_secs = 1')),
  // Folders and keys
  row('home is world-writable', 'HOME_WRITABLE', 'CRIT', (home) => chmodSync(home, 0o777)),
  row('home is open to others', 'HOME_READABLE', 'WARN', (home) => chmodSync(home, 0o755)),
  row('home is a file', 'HOME_BLOCKED', 'CRIT', (home) => {
    rmSync(home, { recursive: true });
    writeFileSync(home, '');
  }),
  row('key folder has mode 0775', 'KEY_DIR_WRITABLE', 'CRIT', (home) => chmodSync(file(home, 'keys'), 0o775)),
  row('key folder has mode 0755', 'KEY_DIR_READABLE', 'WARN', (home) => chmodSync(file(home, 'keys'), 0o755)),
  row('private key has mode 0644', 'PRIVATE_KEY_MODE', 'CRIT', (home) =>
    chmodSync(file(home, 'keys/daemon.priv'), 0o644),
  ),
  row('private key has a wrong length', 'PRIVATE_KEY_LENGTH', 'CRIT', (home) =>
    truncateSync(file(home, 'keys/daemon.priv'), 31),
  ),
  row('public key of another pair', 'PUBLIC_KEY_MISMATCH', 'CRIT', (home) =>
    writeFileSync(file(home, 'keys/daemon.pub'), Buffer.alloc(32, 7)),
  ),
  row('private half of the machine key is lost', 'MACHINE_KEY_LOST', 'WARN', (home) =>
    rmSync(file(home, 'keys/daemon.priv')),
  ),
  row('another machine key', 'PEER_ID_CHANGED', 'WARN', (home) => {
    writeFileSync(file(home, 'keys/daemon.priv'), Buffer.alloc(32, 9));
    rmSync(file(home, 'keys/daemon.pub'));
  }),
  // The database file
  row('database may be read by others', 'DB_FILE_READABLE', 'WARN', (home) =>
    chmodSync(file(home, 'mnemesh.db'), 0o644),
  ),
  row('database may be written by others', 'DB_FILE_WRITABLE', 'CRIT', (home) =>
    chmodSync(file(home, 'mnemesh.db'), 0o666),
  ),
  row('database has damaged pages', 'DB_DAMAGED', 'CRIT', (home) => {
    const opened = openSync(file(home, 'mnemesh.db'), 'r+');
    writeSync(opened, Buffer.alloc(10 * 4096, 0xff), 0, 10 * 4096, 12 * 4096);
  }),
  row('database is cut', 'DB_DAMAGED', 'CRIT', (home) => truncateSync(file(home, 'mnemesh.db'), 50_000)),
  row('database is another kind of file', 'DB_DAMAGED', 'CRIT', (home) =>
    writeFileSync(file(home, 'mnemesh.db'), 'x'.repeat(9000)),
  ),
  row('database of another program', 'DB_FOREIGN', 'CRIT', (home) => {
    rmSync(file(home, 'mnemesh.db'));
    sql(home, 'CREATE TABLE other (a)');
  }),
  row('database is a folder', 'DB_UNREADABLE', 'CRIT', (home) => {
    rmSync(file(home, 'mnemesh.db'));
    mkdirSync(file(home, 'mnemesh.db'));
  }),
  row('newer schema', 'DB_SCHEMA_NEWER', 'CRIT', (home) =>
    sql(home, "INSERT INTO schema_version VALUES (99, '2026-01-01T00:00:00.000Z')"),
  ),
  row('schema that the next start upgrades', 'DB_SCHEMA_OLDER', 'WARN', (home) =>
    sql(home, 'UPDATE schema_version SET version = 54'),
  ),
  row('schema that is too old', 'DB_SCHEMA_TOO_OLD', 'CRIT', (home) =>
    sql(home, 'UPDATE schema_version SET version = 12'),
  ),
  row('disk is nearly full', 'DISK_FULL', 'CRIT', (home, context) => {
    const disk = file(home, 'disk');
    mkdirSync(disk);
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', disk], { stdio: 'ignore' });
    } catch {
      context.skip('mounting a small disk takes privileges that this run does not have');
      return undefined;
    }
    context.after(() => execFileSync('umount', ['-l', disk]));
    return { args: ['--db', join(disk, 'mnemesh.db')] };
  }),
  row('database folder cannot be made', 'DB_DIR_BLOCKED', 'CRIT', (home) => {
    writeFileSync(file(home, 'blocker'), '');
    return { args: ['--db', file(home, 'blocker/deep/mnemesh.db')] };
  }),
  row('write-ahead log without its database', 'WAL_WITHOUT_DB', 'CRIT', (home) =>
    renameSync(file(home, 'mnemesh.db'), file(home, 'mnemesh.db-wal')),
  ),
  row('huge write-ahead log', 'WAL_LARGE', 'WARN', (home) => {
    writeFileSync(file(home, 'mnemesh.db-wal'), '');
    truncateSync(file(home, 'mnemesh.db-wal'), 200 * 1024 * 1024);
  }),
  row('snapshot of an earlier upgrade', 'SNAPSHOT_OLD', 'WARN', (home) =>
    writeFileSync(file(home, 'mnemesh.db.pre-migration-v49-to-v52-0123456789abcdef.bak'), 'x'),
  ),
  // What the database holds
  row('full text out of step', 'FULL_TEXT_OUT_OF_STEP', 'CRIT', (home) =>
    sql(home, 'DELETE FROM memories_fts WHERE rowid = 1'),
  ),
  row('operation was changed', 'LOG_BROKEN', 'CRIT', (home) =>
    sql(home, "UPDATE operations SET payload = '{}' WHERE commit_sequence = 1"),
  ),
  row('operation was relinked', 'LOG_BROKEN', 'CRIT', (home) =>
    sql(home, "UPDATE operations SET prev_hash = 'x' WHERE commit_sequence = 2"),
  ),
  row('newest operation was cut off', 'LOG_BROKEN', 'CRIT', (home) =>
    sql(home, 'DELETE FROM operations WHERE commit_sequence = 2'),
  ),
  row('audit row was forged', 'AUDIT_CHAIN_BROKEN', 'CRIT', (home) =>
    sql(
      home,
      `INSERT INTO signed_events (sequence, id, agent_id, event_type, payload_hash, attest_level, timestamp, prev_hash, form)
       VALUES (5, 'x', 'ai:x', 'archive.purged', CAST('x' AS BLOB), 'unsigned', '2026-01-01T00:00:00.000Z', CAST('x' AS BLOB), 2)`,
    ),
  ),
  row('row past the log', 'ROWS_WITHOUT_OPERATION', 'CRIT', (home) =>
    sql(home, "UPDATE memories SET id = 'smuggled' WHERE rid = 2"),
  ),
  row('rows that could not be embedded', 'EMBEDDINGS_FAILED', 'WARN', (home) =>
    sql(home, 'UPDATE memories SET embed_state = 3'),
  ),
  row('vectors are gone', 'VECTORS_LOST', 'CRIT', (home) => sql(home, 'UPDATE memories SET embed_state = 1')),
  row('owner that was killed', 'OWNER_STALE', 'WARN', (home) =>
    sql(home, "INSERT INTO database_owner VALUES (1, 'daemon:1:x', 'daemon', 1, 1000)"),
  ),
  row('clock is far off', 'CLOCK_BEHIND', 'WARN', (home) =>
    sql(home, "UPDATE memories SET updated_at = '2999-01-01T00:00:00.000Z'"),
  ),
  row('port is in use', 'PORT_IN_USE', 'WARN', async (_home, context) => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await event('the port is taken', server, 'listening');
    context.after(() => void server.close());
    return { args: ['--port', String((server.address() as { port: number }).port)] };
  }),
];

function row(
  fault: string,
  code: string,
  severity: Fault['severity'],
  plant: (home: string, context: TestContext) => unknown,
): Fault {
  return {
    fault,
    code,
    severity,
    plant: async (home, context) => (await plant(home, context)) as Plan | undefined,
  };
}

/** Codes for what is wrong with the file. */
const OF_THE_FILE: ReadonlySet<string> = new Set([
  'DB_DAMAGED',
  'DB_FILE_READABLE',
  'DB_FILE_WRITABLE',
  'DB_FOREIGN',
  'DB_UNREADABLE',
  'SNAPSHOT_OLD',
  'SYNCHRONOUS_NOT_FULL',
  'WAL_LARGE',
  'WAL_WITHOUT_DB',
]);

// Each test waits for a process of its own, and for nothing else.
describe('doctor', { concurrency: 2 }, () => {
  it('finds nothing wrong with a healthy home, with one command run, or with no home at all', async () => {
    for (const home of [freshHome(), join(folder, 'no-such-home')]) {
      const { report, finished } = await doctor(home);
      assert.deepEqual(
        findingsOf(report).filter(({ severity }) => severity !== 'INFO'),
        [],
      );
      assert.deepEqual([report.overall, report.mode, finished.code, finished.err], ['INFO', 'local', 0, '']);
      assert.match(
        (await run(home, ['doctor'], { env: { SVC_REQUIRE_AGENT_ATTESTATION: '1' } })).out,
        /^\S+: healthy( \(\d notes?\))?\n/,
      );
    }
    assert.ok(!existsSync(join(folder, 'no-such-home')), 'and makes none');
  });

  it('has the sections of the reference, each with severity, facts and findings', async () => {
    const { report } = await doctor(freshHome());
    assert.deepEqual(
      report.sections.map(({ name }) => name),
      [
        'Storage',
        'Index',
        'Recall',
        'Configuration',
        'Keys',
        'Identity and admin',
        'Limits',
        'Governance',
        'Webhook',
        'Jobs',
        'Embeddings reachability',
        'LLM reachability',
        'Reranker reachability',
        'Capabilities',
        'Audit',
        'Mesh',
      ],
    );
    assert.deepEqual(
      report.sections.filter(({ severity }) => severity === 'N/A').map(({ name }) => name),
      ['Webhook', 'Jobs', 'Embeddings reachability', 'LLM reachability', 'Reranker reachability', 'Mesh'],
    );
    assert.match(report.generated_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  for (const { fault, code, severity, plant } of FAULTS) {
    const skip = OF_THE_FILE.has(code) && onlyOnSqlite('the fault is one of the file');
    it(`finds a planted fault: ${fault} (${code})`, { skip }, async (context) => {
      const home = freshHome();
      const plan = (await plant(home, context)) ?? {};
      const flags =
        plan.args?.includes('--port') === true ? plan.args : ['--port', String(port), ...(plan.args ?? [])];
      const before = fingerprint(home);
      const finished = await run(home, ['doctor', '--json', '--fail-on-warn', ...flags], {
        env: { ...STRICT, ...plan.env },
      });
      assert.match(finished.out, /^\{.*\}\n$/, finished.err);
      const report = JSON.parse(finished.out) as Examination;
      const found = findingsOf(report).find((finding) => finding.code === code);
      assert.ok(found !== undefined, JSON.stringify(findingsOf(report)));
      assert.equal(found.severity, severity);
      assert.ok(found.fix !== '' && found.message !== '');
      assert.equal(finished.code, { CRIT: 2, WARN: 1, INFO: 0 }[report.overall]);
      assert.ok(!`${finished.out}${finished.err}`.includes(KEY), 'no key is shown');
      assert.deepEqual(fingerprint(home), before, 'nothing was changed');
    });
  }

  it('without --fail-on-warn exits 0 for warnings', async () => {
    const { report, finished } = await doctor(freshHome(), { env: { SVC_DB_SYNCHRONOUS: 'NORMAL' } });
    assert.deepEqual([report.overall, finished.code], ['WARN', 0]);
  });

  it('tells a person the same', async () => {
    const home = freshHome();
    chmodSync(home, 0o777);
    const { code, out } = await run(home, ['doctor', '--port', String(port)], { env: STRICT });
    assert.equal(code, 2);
    assert.match(out, /Storage +CRIT\n[\s\S]*CRIT HOME_WRITABLE: .*\n +-> chmod 700 /);
  });

  it('refuses what is no port or address of a node', async () => {
    for (const args of [
      ['--port', 'x'],
      ['--remote', 'ftp://a'],
      ['--remote', `http://me:${KEY}@a`],
      ['--remote', 'nonsense'],
    ]) {
      const { code, err } = await run(freshHome(), ['doctor', ...args]);
      assert.equal(code, 2);
      assert.ok(!err.includes(KEY), err);
    }
  });
});

describe('doctor beside a running node', () => {
  it('finds it healthy, and sweeps it with --remote', async () => {
    const home = freshHome();
    const at = await freePort();
    const env = { ...STRICT, SVC_API_KEY: KEY };
    const daemon = await startDaemonProcess(home, at, env);
    try {
      const beside = await doctor(home, { env, args: [] });
      assert.deepEqual(
        findingsOf(beside.report).filter(({ severity }) => severity !== 'INFO'),
        [],
      );
      const local = await run(home, ['doctor', '--json', '--port', String(at)], { env });
      const capabilities = (JSON.parse(local.out) as Examination).sections.find(
        ({ name }) => name === 'Capabilities',
      );
      assert.deepEqual(
        capabilities?.facts.filter(([name]) => ['daemon', 'recall'].includes(name)),
        [
          ['daemon', `answers on 127.0.0.1:${at}`],
          ['recall', 'keyword_only'],
        ],
      );
      assert.deepEqual([local.code, local.err], [0, '']);

      const down = `http://127.0.0.1:${await freePort()}`;
      const base = `http://127.0.0.1:${at}`;
      const sweep = async (...args: string[]) => {
        const { code, out } = await run(home, ['doctor', '--json', '--remote', base, ...args], { env });
        assert.ok(!out.includes(KEY));
        return { code, report: JSON.parse(out) as Examination };
      };
      const without = await sweep();
      assert.deepEqual(
        findingsOf(without.report).map(({ code }) => code),
        ['REMOTE_NEEDS_KEY'],
      );
      const both = await sweep('--remote', down, '--send-api-key');
      assert.deepEqual([both.report.mode, both.report.overall, both.code], ['remote', 'CRIT', 2]);
      assert.deepEqual(
        both.report.sections.map(({ severity }) => severity),
        ['INFO', 'CRIT'],
      );
    } finally {
      assert.equal(await daemon.end('SIGTERM'), 0, daemon.errors());
    }
  });
});
