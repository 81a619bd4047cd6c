import assert from 'node:assert/strict';
import { createHash, createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { makeAuthority } from '../../../node/mesh/forming/x509.js';
import { readCertificatePair } from '../../../node/mesh/tls/certificate-files.js';
import { openListenerFiles } from '../../../node/mesh/tls/listener-files.js';
import { systemClock, systemRandom } from '../../../node/seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { askRaw, certificateIn, HandScheduler, keptLog, openTls } from '../../support/mesh.js';
import { event, until } from '../../support/wait.js';
import { openHttpNode } from '../../surface/http/http-node.js';

const fingerprint = (cert: string) => new X509Certificate(cert).fingerprint256;

const folder = temporaryFolder('tls');
const server = await certificateIn(folder, 'server');
const friend = await certificateIn(folder, 'friend');
const stranger = await certificateIn(folder, 'stranger');
const other = await certificateIn(folder, 'other', {
  by: await makeAuthority(systemClock.nowMs(), systemRandom),
});
const expired = await certificateIn(folder, 'expired', { yearsAgo: 12 });
const allowlist = join(folder, 'allowlist');
writeFileSync(allowlist, `${fingerprint(friend.cert)} # the friend\n`);
const scheduler = new HandScheduler();
const log = keptLog();
const files = openListenerFiles(
  { tlsCert: server.certPath, tlsKey: server.keyPath, mtlsAllowlist: allowlist },
  { scheduler, log },
);
let requests = 0;
const node = await openHttpNode(
  { apiKey: 'sesame' },
  {
    tls: files.tls,
    peerRoutes: [
      {
        kind: 'peer',
        name: 'echo',
        method: 'GET',
        path: '/echo',
        summary: 'Says who asks.',
        access: 'peers',
        answer: async ({ fingerprint: client }) => {
          requests += 1;
          return { status: 200, contentType: 'application/json', body: JSON.stringify({ client }) };
        },
      },
    ],
  },
);
after(async () => {
  files.close();
  await node.close();
});

describe('mutual TLS with an allowlist', () => {
  it('serves who is on the list, and its fingerprint reaches the route without an API key', async () => {
    const { text } = await askRaw(node.port, friend, '/api/v1/echo');
    assert.match(text, /^HTTP\/1\.1 200/);
    const hex = createHash('sha256').update(new X509Certificate(friend.cert).raw).digest('hex');
    assert.ok(text.includes(hex), text);
  });

  it('takes the cursor of a peer that has heard of ten thousand others', async () => {
    const { text } = await askRaw(node.port, friend, `/api/v1/echo?cursor=${'c'.repeat(990_000)}`);
    assert.match(text, /^HTTP\/1\.1 200/);
    const beyond = await askRaw(node.port, friend, `/api/v1/echo?cursor=${'c'.repeat(1_000_000)}`);
    assert.match(beyond.text, /^HTTP\/1\.1 400.*URL is longer than 1000000 bytes/s);
  });

  it('asks for the API key on every other route', async () => {
    assert.match((await askRaw(node.port, friend, '/api/v1/memories')).text, /^HTTP\/1\.1 401/);
  });

  for (const [who, client] of [
    ['no certificate', null],
    ['one that is not on the list', stranger],
    ['one of another authority', other],
    ['an expired one that is not on the list', expired],
  ] as const) {
    it(`has no HTTP at all for ${who}`, async () => {
      const before = requests;
      const { text } = await askRaw(node.port, client, '/api/v1/echo');
      assert.equal(text, '');
      assert.equal(requests, before);
    });
  }

  it('speaks no plain HTTP', async () => {
    assert.doesNotMatch(
      await node.raw('GET /api/v1/health HTTP/1.1\r\nHost: x\r\n\r\n').catch(() => ''),
      /200/,
    );
  });

  it('follows the list: who came in stays, who went out is cut off at once', async () => {
    const open = await openTls(node.port, friend);
    const closed = event('the connection is cut off', open, 'close');
    writeFileSync(allowlist, `${fingerprint(stranger.cert)}\n${fingerprint(other.cert)}\n`);
    scheduler.tick();
    await closed;
    assert.equal((await askRaw(node.port, friend)).text, '');
    for (const client of [stranger, other]) {
      assert.match((await askRaw(node.port, client)).text, /^HTTP\/1\.1 200/);
    }
  });

  for (const [what, content] of [
    ['empty', '# nobody\n'],
    ['broken', 'no fingerprint\n'],
  ] as const) {
    it(`keeps the list that held when the new one is ${what}, and says so`, async () => {
      log.lines.length = 0;
      writeFileSync(allowlist, content);
      scheduler.tick();
      assert.equal(log.lines.find(({ level }) => level === 'error')?.fields['code'], 'ALLOWLIST_REFUSED');
      assert.match((await askRaw(node.port, stranger)).text, /^HTTP\/1\.1 200/);
    });
  }

  it('takes another certificate over while connections go on, and keeps the old one when the new is broken', async () => {
    const open = await openTls(node.port, stranger);
    assert.equal(fingerprintOf(open), fingerprint(server.cert));
    const next = await certificateIn(folder, 'next');
    copyFileSync(next.certPath, server.certPath);
    scheduler.tick();
    assert.equal(log.lines.at(-1)?.fields['code'], 'TLS_RELOAD_REFUSED', 'the key is still the old one');
    copyFileSync(next.keyPath, server.keyPath);
    scheduler.tick();
    const fresh = await openTls(node.port, stranger);
    assert.equal(fingerprintOf(fresh), fingerprint(next.cert));
    assert.equal(open.destroyed, false);
    open.write('GET /api/v1/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    let text = '';
    open.on('data', (part: Buffer) => {
      text += part.toString();
    });
    await until('the old connection is answered', () => text.includes('200 OK'));
    fresh.destroy();
  });

  it('ends with connections that never sent a thing', async () => {
    const idle = await openTls(node.port, stranger);
    const closed = event('the idle connection is ended', idle, 'close');
    await node.surface.drain(5000);
    await closed;
  });
});

const fingerprintOf = (socket: { getPeerX509Certificate(): X509Certificate | undefined }) =>
  socket.getPeerX509Certificate()?.fingerprint256;

const pems = temporaryFolder('pem');
const pair = await certificateIn(pems, 'pair');

describe('certificate and key files', () => {
  const folder = pems;

  it('are read in PKCS#8, PKCS#1 and SEC1', () => {
    const key = createPrivateKey(pair.key);
    const pkcs1 = join(folder, 'pkcs1.key');
    writeFileSync(pkcs1, key.export({ format: 'pem', type: 'pkcs1' }));
    assert.equal(readCertificatePair(pair.certPath, pkcs1).ok, true);
    assert.equal(readCertificatePair(pair.certPath, pair.keyPath).ok, true);
    // Of another key: refused for not fitting, so its form was read.
    const sec1 = join(folder, 'sec1.key');
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    writeFileSync(sec1, privateKey.export({ format: 'pem', type: 'sec1' }));
    const read = readCertificatePair(pair.certPath, sec1);
    assert.match(read.ok ? '' : read.error.message, /is not the key of/);
  });

  it('are refused with a message that names the file and shows nothing of it', () => {
    const rubbish = join(folder, 'rubbish');
    writeFileSync(rubbish, 'top secret rubbish');
    for (const [cert, key] of [
      [rubbish, pair.keyPath],
      [pair.certPath, rubbish],
      [pair.certPath, join(folder, 'missing')],
    ] as const) {
      const read = readCertificatePair(cert, key);
      assert.equal(read.ok, false);
      assert.doesNotMatch(read.ok ? '' : read.error.message, /secret/);
    }
  });
});
