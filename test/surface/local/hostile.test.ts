import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { LOCAL_PROTOCOL } from '../../../node/local/messages.js';
import { LOCAL_CONNECTIONS_MAX, LOCAL_SILENT_MS } from '../../../protocol/base/limits.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { openBeside } from '../../support/test-store.js';
import { untilAnswer, within } from '../../support/wait.js';
import { run } from '../cli/cli-process.js';
import { callOf, greetingFor, RawClient, socketOf } from './raw-client.js';

type Fields = Record<string, unknown>;

const MIB = 1024 * 1024;
const HUGE_MIB = 17;
const CONNECTIONS = 1000;
/** More than the queue of a listening socket takes would be refused by the system, before the daemon sees them. */
const AT_ONCE = 100;
const CALLS = 5000;
const NOTES = 40;
const NOTE = { title: 'never stored', content: 'a hostile client says so' };

const isLinux = process.platform === 'linux';
const residentMib = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

/** A copy with one member, named by its path, replaced or left out. */
function changed(message: Fields, path: string, value: unknown): Fields {
  const [first, ...rest] = path.split('.');
  const copy = { ...message };
  if (rest.length > 0) copy[first!] = changed(copy[first!] as Fields, rest.join('.'), value);
  else if (value === undefined) delete copy[first!];
  else copy[first!] = value;
  return copy;
}

describe('a hostile client of the local socket', { timeout: 240_000 }, () => {
  const home = temporaryFolder('hostile');
  let daemon: DaemonProcess;
  let honest: RawClient;
  let nextId = 0;

  before(async () => {
    daemon = await startDaemonProcess(home, await freePort());
    honest = await RawClient.greeted(home);
    for (let n = 0; n < NOTES; n += 1) {
      const content = `row ${n} `.padEnd(8192, 'x');
      const input = { title: `before ${n}`, content, force: true };
      honest.send({ ...callOf(nextId, 'memory_store', input), key: crypto.randomUUID() });
      assert.equal((await honest.answer(nextId))['ok'], true);
      nextId += 1;
    }
  });
  after(async () => {
    honest?.socket.destroy();
    await daemon?.end('SIGTERM');
  });

  const operations = () => {
    const db = openBeside({ home });
    const { n } = db.prepare('SELECT count(*) AS n FROM operations').get() as { n: number };
    db.close();
    return n;
  };

  /** Nothing was written, and the honest connection is served. */
  async function unharmed(): Promise<void> {
    nextId += 1;
    const { ok, value } = await honest.call(nextId, 'memory_stats', {});
    assert.deepEqual([ok, (value as Fields)['total']], [true, NOTES]);
    assert.equal(operations(), NOTES);
    assert.equal(daemon.child.exitCode, null);
  }

  it('is ended for everything that is no greeting', async () => {
    const greeting = greetingFor(home);
    const path = await socketOf(home);
    const first: (string | Uint8Array)[] = [
      ...[
        '\n',
        'garbage\n',
        '[]\n',
        'null\n',
        '"x"\n',
        '{}\n',
        '{"protocol":1}\n',
        '\u0000\n',
        `${'['.repeat(100_000)}\n`,
      ],
      Buffer.from([0xff, 0xfe, 0x0a]),
      `garbage\n${'x'.repeat(MIB)}`,
      'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
      `${JSON.stringify(callOf(1, 'memory_store', NOTE))}\n`,
    ];
    const wrong = [7.5, -1, 'sp ace', {}, [], true, undefined];
    for (const member of [
      ...Object.keys(greeting),
      ...Object.keys(greeting['settings'] as Fields).map((key) => `settings.${key}`),
      'settings.further',
      'further',
    ]) {
      const right = member.split('.').reduce<unknown>((at, key) => (at as Fields)[key], greeting);
      const isFree = member === 'settings.recallScopeSince' || member === 'version';
      for (const value of wrong) {
        if (typeof value === typeof right && (isFree || typeof value === 'boolean')) continue;
        if (value === 'sp ace' && isFree) continue;
        if (Array.isArray(value) && Array.isArray(right)) continue;
        if (value === undefined && member.endsWith('further')) continue;
        first.push(`${JSON.stringify(changed(greeting, member, value))}\n`);
      }
    }
    for (const data of first) {
      const client = (await RawClient.connect(path)).read();
      client.raw(data);
      client.send(callOf(1, 'memory_store', NOTE));
      await client.ended();
      assert.ok(
        client.lines.every((line) => 'refused' in line),
        `${String(data).slice(0, 200)}: ${JSON.stringify(client.lines)}`,
      );
    }
    await unharmed();
  });

  it('is refused when it greets for another database, other keys or another release', async () => {
    const path = await socketOf(home);
    for (const [member, value, refused] of [
      ['dbPath', '/elsewhere/mnemesh.db', /another database/],
      ['keyDir', '/elsewhere/keys', /other keys/],
      ['version', '0.0.0', /release/],
      ['protocol', LOCAL_PROTOCOL + 1, /release/],
    ] as const) {
      const client = (await RawClient.connect(path)).read();
      client.send({ ...greetingFor(home), [member]: value });
      await client.ended();
      assert.equal(client.lines.length, 1);
      assert.match(String(client.lines[0]!['refused']), refused);
    }
    await unharmed();
  });

  it('gets an error or its end for a wrong value in any field of a call', async () => {
    const wrong = [null, -1, 2.5, 'sp ace', {}, [], true, undefined];
    const legal: Readonly<Record<string, readonly unknown[]>> = {
      profile: [undefined],
      'caller.admin': [true],
      'caller.local': [true],
      'caller.viewer.all': [true],
      'caller.viewer.agentId': [null],
      'caller.viewer.asNamespace': [null],
      again: [true],
    };
    const call = { ...callOf(1, 'memory_store', NOTE), profile: ['core'] };
    const members = [
      ...Object.keys(call),
      ...['agentId', 'claimed', 'viewer', 'admin', 'local', 'further'].map((key) => `caller.${key}`),
      ...['all', 'agentId', 'asNamespace', 'further'].map((key) => `caller.viewer.${key}`),
      'further',
    ];
    const fates: Record<string, number> = {};
    for (const member of members) {
      for (const value of wrong) {
        if (legal[member]?.includes(value) === true) continue;
        if (value === undefined && member.endsWith('further')) continue;
        const client = await RawClient.greeted(home);
        client.send(changed(call, member, value));
        const answer = await client.fate();
        client.socket.destroy();
        assert.notEqual(answer?.['ok'], true, `${member}: ${JSON.stringify(value)}`);
        const fate = answer === null ? 'ended' : (answer['error'] as Fields)['code'];
        fates[String(fate)] = (fates[String(fate)] ?? 0) + 1;
      }
    }
    assert.deepEqual(Object.keys(fates).sort(), ['INVALID_REQUEST', 'VALIDATION_FAILED', 'ended']);
    await unharmed();
  });

  it('gets INVALID_REQUEST for an operation that is none, also by the name of a method', async () => {
    for (const name of ['memory_nothing', '__proto__', 'constructor', 'toString', '']) {
      nextId += 1;
      const { error } = await honest.call(nextId, name, {});
      assert.equal((error as Fields)['code'], 'INVALID_REQUEST', name);
    }
    await unharmed();
  });

  it('gives no operation a field by the prototype of its input', async () => {
    const client = await RawClient.greeted(home);
    const text = JSON.stringify(callOf(1, 'memory_store', { 'x-placeholder': 0 }));
    for (const input of [
      `{"__proto__":${JSON.stringify(NOTE)}}`,
      `{"constructor":{"prototype":${JSON.stringify(NOTE)}}}`,
      `{"title":"t","__proto__":{"content":"c"}}`,
    ]) {
      client.lines.length = 0;
      client.raw(`${text.replace('{"x-placeholder":0}', input)}\n`);
      const answer = await client.answer(1);
      assert.equal((answer['error'] as Fields)['code'], 'VALIDATION_FAILED', JSON.stringify(answer));
    }
    client.socket.destroy();
    await unharmed();
  });

  it('is ended at a line that is too long, and the daemon keeps none of it', {
    skip: isLinux ? false : 'the memory of a process is read from /proc',
  }, async (context) => {
    const before = residentMib(daemon.child.pid!);
    for (const open of [RawClient.connect(await socketOf(home)), RawClient.greeted(home)]) {
      const client = await open;
      for (let sent = 0; sent < HUGE_MIB; sent += 1) client.raw(Buffer.alloc(MIB, 'a'));
      await client.ended();
    }
    const grown = residentMib(daemon.child.pid!) - before;
    context.diagnostic(`after two lines of ${HUGE_MIB} MiB the daemon has grown by ${grown.toFixed(1)} MiB`);
    assert.ok(grown < 96, `the daemon grew by ${grown} MiB`);
    await unharmed();
  });

  it('does nothing with half a line', async () => {
    const line = JSON.stringify(callOf(1, 'memory_store', NOTE));
    for (const cut of [1, line.length / 2, line.length - 1, line.length]) {
      const client = await RawClient.greeted(home);
      client.raw(line.slice(0, cut));
      client.socket.end();
      await client.ended();
    }
    await unharmed();
  });

  it('cannot keep others out with connections that say nothing', async (context) => {
    const path = await socketOf(home);
    const before = residentMib(daemon.child.pid!);
    const silent: RawClient[] = [];
    while (silent.length < CONNECTIONS)
      silent.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => RawClient.connect(path)))));
    for (const { socket } of silent) socket.resume();
    const grown = residentMib(daemon.child.pid!) - before;
    context.diagnostic(`with ${CONNECTIONS} connections the daemon has grown by ${grown.toFixed(1)} MiB`);
    await unharmed();
    const listed = await run(home, ['stats', '--json']);
    assert.equal(listed.code, 0, listed.err);
    await Promise.all(silent.map((client) => client.ended(4 * LOCAL_SILENT_MS)));
    const further = await Promise.all(Array.from({ length: 4 }, () => RawClient.greeted(home)));
    for (const { socket } of further) socket.destroy();
    assert.ok(CONNECTIONS > LOCAL_CONNECTIONS_MAX);
    await unharmed();
  });

  it('gets no more answers into the memory of the daemon than a few, when it reads none', {
    skip: isLinux ? false : 'the memory of a process is read from /proc',
  }, async (context) => {
    const client = await RawClient.greeted(home);
    client.socket.pause();
    const before = residentMib(daemon.child.pid!);
    const list = JSON.stringify(callOf(7, 'memory_list', { limit: NOTES, format: 'json' }));
    client.raw(`${list}\n`.repeat(CALLS));
    let most = 0;
    for (let n = 0; n < 40; n += 1) {
      await unharmed();
      most = Math.max(most, residentMib(daemon.child.pid!) - before);
    }
    context.diagnostic(`with ${CALLS} calls unread the daemon has grown by at most ${most.toFixed(1)} MiB`);
    client.socket.destroy();
    assert.ok(most < 128, `the daemon grew by ${most} MiB`);
    await unharmed();
  });

  it('is kept out as another user of the machine', {
    skip: process.getuid?.() === 0 ? false : 'only root can become another user',
  }, async (context) => {
    const path = await socketOf(home);
    assert.deepEqual([statSync(path).mode & 0o777, statSync(home).mode & 0o777], [0o600, 0o700]);
    const script = `require('node:net').createConnection(${JSON.stringify(path)})
      .on('connect', () => console.log('connected')).on('error', ({ code }) => console.log(code))`;
    const asNobody = () =>
      execFileSync(process.execPath, ['-e', script], {
        uid: 65534,
        gid: 65534,
        cwd: '/',
        encoding: 'utf8',
      }).trim();
    try {
      assert.equal(asNobody(), 'EACCES');
      // Also where the home lets others in: the socket itself does not.
      chmodSync(home, 0o755);
      assert.equal(asNobody(), 'EACCES');
      context.diagnostic('nobody gets EACCES, with a home of mode 0700 and of 0755');
    } finally {
      chmodSync(home, 0o700);
    }
  });

  it('neither delays the shutdown by calls without end nor loses a call that was answered', async () => {
    const client = await RawClient.greeted(home);
    const deaf = await RawClient.greeted(home);
    deaf.socket.pause();
    const list = JSON.stringify(callOf(7, 'memory_list', { limit: NOTES, format: 'json' }));
    deaf.raw(`${list}\n`.repeat(CALLS));
    let id = 0;
    const timer = setInterval(() => {
      for (let n = 0; n < 20 && client.socket.writable; n += 1) {
        id += 1;
        const input = { title: `at the end ${id}`, content: 'text', force: true };
        client.send({ ...callOf(id, 'memory_store', input), key: crypto.randomUUID() });
      }
    }, 5);
    try {
      await untilAnswer(
        'some are stored',
        async () => client.lines.length,
        (count) => count > 20,
      );
      assert.equal(await within('the daemon ends', daemon.end('SIGTERM'), { withinMs: 15_000 }), 0);
    } finally {
      clearInterval(timer);
      deaf.socket.destroy();
    }
    const answers = client.lines.flatMap((line) => ('answer' in line ? [line['answer'] as Fields] : []));
    const codes = answers.flatMap(({ error }) => (error === undefined ? [] : [(error as Fields)['code']]));
    assert.deepEqual(
      [...new Set(codes)].filter((code) => code !== 'SHUTTING_DOWN'),
      [],
    );
    const db = openBeside({ home });
    const known = new Set(db.prepare('SELECT id FROM memories').pluck().all());
    db.close();
    const stored = answers.flatMap(({ value }) => (value === undefined ? [] : [(value as Fields)['id']]));
    assert.ok(stored.length > 0 && stored.every((stored) => known.has(stored)));
    assert.deepEqual(auditLog(join(home, 'mnemesh.db')), []);
  });
});
