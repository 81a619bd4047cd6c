import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadMachineIdentity } from '../../node/identity/machine-key.js';
import { fingerprintOfCertificate } from '../../node/mesh/forming/certificate.js';
import { systemRandom } from '../../node/seams.js';
import {
  cleanEnvironment,
  type DaemonProcess,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { certificateIn, testAuthority } from '../support/mesh.js';
import { onlyOnSqlite } from '../support/test-store.js';
import { event, until, within } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

/** Real `sync-daemon` processes beside real daemons. */

const PATIENT = { withinMs: 60_000 } as const;
const closing: (() => unknown)[] = [];
after(() => Promise.all(closing.map((close) => close())));

interface Home {
  readonly home: string;
  readonly peerId: string;
  readonly port: number;
}

async function aHome(): Promise<Home> {
  const home = temporaryFolder('sync-daemon');
  const { peerId } = loadMachineIdentity(join(home, 'keys'), systemRandom);
  return { home, peerId, port: await freePort() };
}

function enrolEachOther(...homes: readonly Home[]): void {
  for (const at of homes)
    for (const peer of homes)
      if (at !== peer)
        copyFileSync(join(peer.home, 'keys', 'daemon.pub'), join(at.home, 'keys', `${peer.peerId}.pub`));
}

/** A daemon whose enrolled peers may read. */
async function serve(at: Home, extra: Record<string, string> = {}): Promise<DaemonProcess> {
  const daemon = await startDaemonProcess(at.home, at.port, { SVC_FED_SYNC_TRUST_PEER: '1', ...extra });
  closing.push(() => daemon.end('SIGKILL'));
  return daemon;
}

interface Syncing {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly errors: () => string;
  end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

async function sync(
  at: Home,
  flags: readonly string[],
  extra: Record<string, string> = {},
): Promise<Syncing> {
  const child = spawn(process.execPath, [MAIN, 'sync-daemon', '--interval', '1', ...flags], {
    env: cleanEnvironment(at.home, { SVC_LOG_LEVEL: 'info', ...extra }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, errors] = ['', ''];
  child.stdout!.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  closing.push(() => child.kill('SIGKILL'));
  const seen = () => out + errors;
  await until('the exchange begins', () => out.includes('exchanges with') || child.exitCode !== null, {
    ...PATIENT,
    seen,
  });
  return {
    child,
    out: () => out,
    errors: () => errors,
    end: async (signal = 'SIGTERM') => {
      if (child.exitCode === null) {
        child.kill(signal);
        await event('sync-daemon ends', child, 'exit', { withinMs: 30_000, seen });
      }
      return child.signalCode ?? child.exitCode;
    },
  };
}

const store = async (at: Home, title: string) => {
  const { code, out, err } = await run(at.home, [
    'store',
    '--title',
    title,
    '--content',
    `words of ${title}`,
    '--json',
  ]);
  assert.equal(code, 0, err);
  return (JSON.parse(out) as { id: string }).id;
};

const titles = async (at: Home) => {
  const { out } = await run(at.home, ['list', '--limit', '500', '--json']);
  return (JSON.parse(out) as { memories: { title: string }[] }).memories.map(({ title }) => title).sort();
};

const untilTitles = (at: Home, wanted: readonly string[], seen: () => string) =>
  until(
    `${wanted.join(', ')} are here`,
    async () => JSON.stringify(await titles(at)) === JSON.stringify([...wanted].sort()),
    {
      ...PATIENT,
      everyMs: 200,
      seen,
    },
  );

const urlOf = ({ port }: Home) => `http://127.0.0.1:${port}`;

describe('sync-daemon over mutual TLS', () => {
  it('carries writes and deletions both ways without an API, and ends with code 0 at SIGTERM and SIGINT', async () => {
    const [one, two] = [await aHome(), await aHome()];
    enrolEachOther(one, two);
    const fingerprints = new Map<Home, string>();
    for (const at of [one, two]) {
      const { cert } = await certificateIn(at.home, 'node', { peerId: at.peerId });
      writeFileSync(join(at.home, 'ca.crt'), (await testAuthority()).cert);
      fingerprints.set(at, fingerprintOfCertificate(new X509Certificate(cert)));
    }
    for (const [at, peer] of [
      [one, two],
      [two, one],
    ] as const)
      writeFileSync(join(at.home, 'keys', `${peer.peerId}.fingerprints`), `${fingerprints.get(peer)}\n`);
    writeFileSync(join(two.home, 'allowlist'), `${fingerprints.get(one)}\n`);
    const file = (at: Home, name: string) => join(at.home, name);
    const child = spawn(
      process.execPath,
      [
        MAIN,
        'serve',
        '--port',
        String(two.port),
        '--tls-cert',
        file(two, 'node.crt'),
        '--tls-key',
        file(two, 'node.key'),
        '--mtls-allowlist',
        file(two, 'allowlist'),
      ],
      {
        env: cleanEnvironment(two.home, { SVC_FED_SYNC_TRUST_PEER: '1' }),
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    closing.push(() => child.kill('SIGKILL'));
    await event('the peer listens', child.stdout!, 'data', PATIENT);

    const gone = await store(one, 'soon gone');
    await store(one, 'of one');
    await store(two, 'of two');
    const url = `https://127.0.0.1:${two.port}`;
    const pair = ['--client-cert', file(one, 'node.crt'), '--client-key', file(one, 'node.key')];
    const syncing = await sync(one, ['--peers', url, ...pair, '--ca-cert', file(one, 'ca.crt')]);
    await untilTitles(one, ['of one', 'of two', 'soon gone'], syncing.errors);
    await untilTitles(two, ['of one', 'of two', 'soon gone'], syncing.errors);
    // What was deleted at the other node is deleted here.
    assert.equal((await run(two.home, ['delete', gone])).code, 0);
    await untilTitles(one, ['of one', 'of two'], syncing.errors);
    assert.equal(await syncing.end('SIGTERM'), 0, syncing.errors());
    assert.match(
      syncing.out(),
      /ended: [1-9]\d* operations sent, [1-9]\d* received; peers that lack some of what was written here: 0/,
    );

    // Known certificates suffice where their authority is not known, and nothing else does.
    const skips = ['--peers', url, ...pair, '--insecure-skip-server-verify'];
    const unpinned = await run(one.home, ['sync-daemon', ...skips]);
    assert.deepEqual([unpinned.code, unpinned.out], [2, '']);
    assert.match(unpinned.err, /SVC_FED_PEER_FINGERPRINTS/);
    writeFileSync(file(one, 'pins'), `127.0.0.1 ${'0'.repeat(64)}\n`);
    await store(one, 'later');
    const wrong = await sync(one, skips, { SVC_FED_PEER_FINGERPRINTS: file(one, 'pins') });
    await until('the certificate is refused', () => wrong.errors().includes('"untrusted"'), PATIENT);
    assert.ok(!(await titles(two)).includes('later'));
    writeFileSync(file(one, 'pins'), `127.0.0.1 ${fingerprints.get(two)}\n`);
    await untilTitles(two, ['later', 'of one', 'of two'], wrong.errors);
    assert.equal(await wrong.end('SIGINT'), 0);
    // Without pins the authority counts.
    const unknown = await sync(one, ['--peers', url, ...pair]);
    await until('the authority is not known', () => unknown.errors().includes('"untrusted"'), PATIENT);
    assert.equal(await unknown.end(), 0);
  });
});

describe('sync-daemon and peers that fail', () => {
  it('waits for one that is away and is not delayed by one that hangs', async () => {
    const [one, two, three] = [await aHome(), await aHome(), await aHome()];
    enrolEachOther(one, two, three);
    const hanging = createTcpServer(() => undefined).listen(0, '127.0.0.1');
    await event('it listens', hanging, 'listening');
    closing.push(() => hanging.close());
    const { port: hangs } = hanging.address() as { port: number };
    const daemon = await serve(three);
    await store(one, 'first');
    const peers = [`http://127.0.0.1:${hangs}`, urlOf(two), urlOf(three)].join(',');
    const syncing = await sync(one, ['--peers', peers]);
    await untilTitles(three, ['first'], syncing.errors);
    assert.equal(await daemon.end('SIGKILL'), 'SIGKILL');
    await store(one, 'second');
    // It comes for the first time, and the other comes back.
    await serve(two);
    await untilTitles(two, ['first', 'second'], syncing.errors);
    await store(two, 'third');
    await serve(three);
    await untilTitles(three, ['first', 'second', 'third'], syncing.errors);
    assert.equal(await syncing.end(), 0);
    // What it knew is kept: a new one begins where this one ended.
    const again = await sync(one, ['--peers', urlOf(three)]);
    await store(one, 'fourth');
    await untilTitles(three, ['first', 'second', 'third', 'fourth'], again.errors);
    assert.equal(await again.end(), 0);
    assert.match(again.out(), /ended: [12] operations sent, 0 received; .*: 0/);
  });

  it('takes nothing that a peer changed, and takes it once it is given as it was written', async () => {
    const [one, two] = [await aHome(), await aHome()];
    enrolEachOther(one, two);
    await serve(two);
    let lies = true;
    let changed = 0;
    const proxy = createServer((asked, answer) => {
      const chunks: Buffer[] = [];
      asked.on('data', (chunk: Buffer) => chunks.push(chunk));
      asked.on('end', () => {
        const { method, url, headers } = asked;
        const to = httpRequest({ port: two.port, host: '127.0.0.1', method, path: url, headers }, (from) => {
          const parts: Buffer[] = [];
          from.on('data', (part: Buffer) => parts.push(part));
          from.on('end', () => {
            const text = Buffer.concat(parts).toString();
            const told = lies ? text.replaceAll('words of kept', 'words of a liar') : text;
            if (told !== text) changed += 1;
            const { 'content-length': _length, ...rest } = from.headers;
            answer.writeHead(from.statusCode!, rest).end(told);
          });
        });
        to.on('error', () => answer.destroy());
        to.end(Buffer.concat(chunks));
      });
    }).listen(0, '127.0.0.1');
    await event('the liar listens', proxy, 'listening');
    closing.push(() => proxy.close());
    const { port } = proxy.address() as { port: number };
    await store(two, 'kept');
    const syncing = await sync(one, ['--peers', `http://127.0.0.1:${port}`]);
    await until('the liar was asked', () => changed > 2, PATIENT);
    assert.deepEqual(await titles(one), []);
    assert.match(syncing.errors(), /operations of a peer were refused/);
    lies = false;
    await untilTitles(one, ['kept'], syncing.errors);
    const { out } = await run(one.home, ['search', 'words', '--json']);
    assert.match(out, /words of kept/);
    assert.equal(await syncing.end(), 0);
  });
});

describe('several processes on the database of sync-daemon', () => {
  it('are a daemon and two sync-daemons that keep one whole log', {
    skip: onlyOnSqlite('it looks into the log'),
  }, async () => {
    const [one, two] = [await aHome(), await aHome()];
    enrolEachOther(one, two);
    await serve(two);
    const daemon = await serve(one);
    const both = await Promise.all([sync(one, ['--peers', urlOf(two)]), sync(one, ['--peers', urlOf(two)])]);
    const wanted = Array.from({ length: 40 }, (_, index) => `note ${index}`);
    const post = (at: string, title: string) =>
      fetch(`${at}/memories`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title, content: `words of ${title}` }),
      });
    const answers = await Promise.all(
      wanted.map((title, index) => post(index % 2 === 0 ? daemon.base : `${urlOf(two)}/api/v1`, title)),
    );
    for (const answer of answers) assert.equal(answer.status, 201, await answer.text());
    const seen = () => both.map(({ errors }) => errors()).join('\n');
    await untilTitles(one, wanted, seen);
    await untilTitles(two, wanted, seen);
    for (const each of both) assert.equal(await each.end(), 0);
    assert.equal(await daemon.end('SIGTERM'), 0);
    assert.deepEqual(auditLog(join(one.home, 'mnemesh.db')), []);
    for (const each of both) assert.ok(!/"level":50/.test(each.errors()), each.errors());
  });
});

describe('the words of sync-daemon', () => {
  it('refuse what cannot be exchanged with, before anything is opened', async () => {
    const { home } = await aHome();
    const refused = async (words: readonly string[], what: RegExp) => {
      const { code, out, err } = await run(home, ['sync-daemon', ...words]);
      assert.deepEqual([code, out], [2, ''], err);
      assert.match(err, what);
    };
    const peers = ['--peers', 'http://127.0.0.1:9'];
    await refused([], /no peers: name their addresses with --peers/);
    await refused(['--peers', 'ftp://node2'], /--peers must list addresses/);
    await refused([...peers, '--interval', '0'], /--interval must be a number from 1/);
    await refused([...peers, '--batch-size', '1'], /--batch-size must be a number from 64 to 4096/);
    await refused([...peers, '--client-cert', 'a.crt'], /--client-cert needs --client-key/);
    await refused([...peers, '--client-key', 'a.key'], /--client-key needs --client-cert/);
    await refused([...peers, '--ca-cert', 'a', '--insecure-skip-server-verify'], /exclude each other/);
  });

  it('show a key neither in the list of processes nor in the log, and warn of it', async () => {
    const [one, two] = [await aHome(), await aHome()];
    enrolEachOther(one, two);
    await serve(two, { SVC_API_KEY: 'a-key-of-the-peer' });
    await store(one, 'with a key');
    const syncing = await sync(one, ['--peers', urlOf(two), '--api-key', 'a-key-of-the-peer']);
    await untilTitles(two, ['with a key'], syncing.errors);
    assert.match(syncing.errors(), /other users could see the key/);
    assert.ok(!(syncing.out() + syncing.errors()).includes('a-key-of-the-peer'));
    if (process.platform === 'linux')
      assert.ok(!readFileSync(`/proc/${syncing.child.pid}/cmdline`, 'utf8').includes('a-key-of'));
    assert.equal(await within('it ends', syncing.end()), 0);
  });
});

describe('sync-daemon in a formed mesh', () => {
  it('knows the members without their addresses, and stops calling them once this node is removed', async () => {
    const [one, two] = [await aHome(), await aHome()];
    const ok = async (at: Home, words: readonly string[], stdin = '') => {
      const { code, out, err } = await run(at.home, words, { stdin });
      assert.equal(code, 0, err);
      return out;
    };
    await ok(one, ['mesh', 'init', '--url', `https://127.0.0.1:${await freePort()}`]);
    await serve(one);
    const token = await ok(one, ['mesh', 'invite']);
    await ok(two, ['mesh', 'join', '-', '--url', `https://127.0.0.1:${await freePort()}`], token);
    await store(one, 'of one');
    await store(two, 'of two');
    const syncing = await sync(two, []);
    await untilTitles(two, ['of one', 'of two'], syncing.errors);
    await untilTitles(one, ['of one', 'of two'], syncing.errors);
    await ok(one, ['mesh', 'remove', two.peerId]);
    await until('the removal is known', () => syncing.errors().includes('MESH_REMOVED'), PATIENT);
    await store(one, 'after the removal');
    // Two rounds.
    await new Promise((resolve) => setTimeout(resolve, 2500));
    assert.deepEqual(await titles(two), ['of one', 'of two']);
    assert.equal(await syncing.end(), 0);
  });
});
