import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, before, it } from 'node:test';
import { fingerprintOfCertificate } from '../../node/mesh/forming/certificate.js';
import { issueCertificate, makeAuthority, newTlsKey } from '../../node/mesh/forming/x509.js';
import { systemRandom } from '../../node/seams.js';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import { cleanEnvironment, freePort, MAIN, temporaryFolder } from '../support/daemon-process.js';
import { TestPeer } from '../support/test-peer.js';
import { event, until } from '../support/wait.js';
import type { WireAnswer } from './wire-client.js';

/** Certificates against signatures, over real mutual TLS (interface §5.2). */

interface Identity {
  readonly key: string;
  readonly cert: string;
}

const home = temporaryFolder('hostile-certificate');
const bound = new TestPeer('bound to its certificate');
const loose = new TestPeer('bound to none');
const identities = new Map<string, Identity>();
let child: ChildProcess;
let port = 0;
let errors = '';

const fingerprint = (name: string) =>
  fingerprintOfCertificate(new X509Certificate(identities.get(name)!.cert));

before(async () => {
  const authority = await makeAuthority(Date.now(), systemRandom);
  for (const name of ['server', 'own', 'spare', 'stranger']) {
    const { key, publicKey } = await newTlsKey();
    const subject = { peerId: bound.peerId, publicKey, url: null };
    identities.set(name, { key, cert: issueCertificate(authority, subject, Date.now(), systemRandom) });
  }
  const keyDir = join(home, 'keys');
  mkdirSync(keyDir, { mode: 0o700 });
  for (const peer of [bound, loose]) peer.enrol(keyDir);
  writeFileSync(join(keyDir, `${bound.peerId}.fingerprints`), `${fingerprint('own')}\n`);
  const file = (name: string, text: string) => {
    writeFileSync(join(home, name), text, { mode: 0o600 });
    return join(home, name);
  };
  const server = identities.get('server')!;
  port = await freePort();
  const flags = [
    ['--port', String(port)],
    ['--tls-cert', file('server.pem', server.cert)],
    ['--tls-key', file('server.key', server.key)],
    ['--mtls-allowlist', file('allowlist', `${fingerprint('own')}\n${fingerprint('spare')}\n`)],
  ].flat();
  child = spawn(process.execPath, [MAIN, 'serve', ...flags], {
    env: cleanEnvironment(home, { SVC_API_KEY: 'a-key', SVC_FED_CERT_PEER_BINDING: 'enforce' }),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ready = async () => {
    assert.equal(child.exitCode, null, errors);
    return (await call('own', { path: '/health' }).catch(() => null))?.status === 200;
  };
  await until('the node answers', ready, { withinMs: 60_000, seen: () => errors });
});
after(async () => {
  child.kill('SIGTERM');
  if (child.exitCode === null) await event('the node ends', child, 'exit', { seen: () => errors });
});

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: Uint8Array;
}

/** A request under a certificate, or under none. */
function call(
  identity: string | null,
  { method = 'GET', path, headers = {}, body }: Call,
): Promise<WireAnswer> {
  const client = identity === null ? {} : identities.get(identity)!;
  return new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, method, path, headers, rejectUnauthorized: false, agent: false, ...client },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode!, json: JSON.parse(text) as WireAnswer['json'] }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

const send = (identity: string | null, { method, path, query, headers, body }: ReceivedMessage) => {
  const present = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  return call(identity, { method, path: query === '' ? path : `${path}?${query}`, headers: present, body });
};

it('a peer under its own certificate needs no API key for messages, and for all else', async () => {
  const operation = bound.operation({ title: 'by its own' });
  const answer = await send('own', bound.push(bound.pushOf(operation)));
  assert.deepEqual([answer.status, answer.json?.['applied']], [200, 1]);
  const other = await call('own', { path: '/api/v1/memories' });
  assert.deepEqual([other.status, other.json?.['code']], [401, 'UNAUTHORIZED']);
});

it('a certificate that is on no list, and none at all, open no connection', async () => {
  for (const identity of ['stranger', null]) {
    await assert.rejects(send(identity, bound.push(bound.pushOf())));
  }
});

it('a stolen certificate does not speak for another peer, nor a listed one for a bound peer', async () => {
  const stolen = await send('own', loose.push(loose.pushOf()));
  assert.deepEqual([stolen.status, stolen.json?.['code']], [401, 'peer_id_cert_mismatch']);
  const spare = await send('spare', bound.push(bound.pushOf()));
  assert.deepEqual([spare.status, spare.json?.['code']], [401, 'peer_id_cert_mismatch']);
});

it('a certificate that is bound to nobody speaks for nobody where binding is enforced', async () => {
  const { status, json } = await send('spare', loose.push(loose.pushOf()));
  assert.deepEqual([status, json?.['code']], [401, 'peer_id_cert_unbound']);
});

it('a certificate alone is no signature', async () => {
  const { status, json } = await send('own', bound.push(bound.pushOf(), { 'x-memory-sig': undefined }));
  assert.deepEqual([status, json?.['code']], [401, 'x_memory_sig_missing']);
});
