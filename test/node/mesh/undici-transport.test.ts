import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer } from 'node:net';
import { after, describe, it } from 'node:test';
import { makeAuthority } from '../../../node/mesh/forming/x509.js';
import { type PeerTrust, UndiciTransport } from '../../../node/mesh/undici-transport.js';
import { systemClock, systemRandom, systemScheduler } from '../../../node/seams.js';
import { PEER_RESPONSE_BYTES_MAX } from '../../../protocol/base/limits.js';
import type { Peer } from '../../../protocol/peers/peer.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { certificateIn, type TestCertificate, testAuthority } from '../../support/mesh.js';

const PEER_ID = 'peer-00000000000000aa';
const REQUEST = { method: 'POST', path: '/api/v1/x', query: 'a=1', headers: { 'x-peer-id': 'p' } } as const;
const body = new TextEncoder().encode('{"a":1}');

const folder = temporaryFolder('transport');
const authority = await testAuthority();
const own = await certificateIn(folder, 'own', { peerId: 'peer-00000000000000bb' });
const good = await certificateIn(folder, 'good', { peerId: PEER_ID });

describe('the transport to peers', () => {
  const stops: (() => void)[] = [];
  after(() => {
    for (const stop of stops) stop();
  });

  async function serve(certificate: TestCertificate, listener: RequestListener) {
    let connections = 0;
    const server = createServer(
      { cert: certificate.cert, key: certificate.key, requestCert: true, rejectUnauthorized: false },
      listener,
    );
    server.on('secureConnection', () => {
      connections += 1;
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stops.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return { port: (server.address() as AddressInfo).port, connections: () => connections };
  }

  const peerAt = (port: number): Peer => ({
    peerId: PEER_ID,
    url: `https://127.0.0.1:${port}`,
    publicKey: new Uint8Array(32),
    fingerprints: [],
    allowedNamespaces: null,
    allowedSenderAgentIds: [],
    state: 'member',
  });

  function transport(trust: Partial<PeerTrust> = {}): UndiciTransport {
    const made = new UndiciTransport({
      scheduler: systemScheduler,
      trustOf: () => ({
        client: own,
        authorities: [authority.cert],
        names: 'peer',
        fingerprints: [],
        ...trust,
      }),
    });
    stops.push(() => void made.close());
    return made;
  }

  const echo: RequestListener = (request, response) => {
    const client = (
      request.socket as { getPeerCertificate?(): { fingerprint256: string } }
    ).getPeerCertificate?.();
    request.resume().on('end', () => {
      response.end(
        JSON.stringify({ url: request.url, client: client?.fingerprint256, headers: request.headers }),
      );
    });
  };

  it('presents its certificate, sends what it was given, and keeps the connection', async () => {
    const { port, connections } = await serve(good, echo);
    const carried = transport();
    for (let round = 0; round < 5; round += 1) {
      const reply = await carried.send(peerAt(port), { ...REQUEST, body }, 5000);
      assert.equal(reply.kind, 'answer', JSON.stringify(reply));
      const seen = JSON.parse(new TextDecoder().decode(reply.kind === 'answer' ? reply.body : undefined));
      assert.equal(seen.url, '/api/v1/x?a=1');
      assert.equal(seen.client, new X509Certificate(own.cert).fingerprint256);
      assert.equal(seen.headers['x-peer-id'], 'p');
      assert.equal(seen.headers['accept-encoding'], undefined);
    }
    // A message may go out before the connection of the one before is free again.
    assert.ok(connections() <= 2, `${connections()} connections`);
  });

  const hex = (cert: string) => new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase();
  const distrusted: readonly (readonly [string, () => Promise<TestCertificate>, Partial<PeerTrust>])[] = [
    [
      'another authority',
      async () =>
        certificateIn(folder, 'other', {
          peerId: PEER_ID,
          by: await makeAuthority(systemClock.nowMs(), systemRandom),
        }),
      {},
    ],
    ['an expired certificate', () => certificateIn(folder, 'old', { peerId: PEER_ID, yearsAgo: 12 }), {}],
    [
      'the certificate of another peer',
      () => certificateIn(folder, 'wrong', { peerId: 'peer-00000000000000cc' }),
      {},
    ],
    ['another certificate than the known one', async () => good, { fingerprints: ['ab'.repeat(32)] }],
    [
      'no name of the host where that counts',
      () => certificateIn(folder, 'named', { peerId: PEER_ID }),
      { names: 'host' },
    ],
  ];
  for (const [what, certificate, trust] of distrusted) {
    it(`sends nothing to ${what}`, async () => {
      let requests = 0;
      const { port } = await serve(await certificate(), (_request, response) => {
        requests += 1;
        response.end();
      });
      // The last one names 127.0.0.1, so it is asked for by another name of the same place.
      const peer =
        trust.names === 'host' ? { ...peerAt(port), url: `https://localhost:${port}` } : peerAt(port);
      const reply = await transport(trust).send(peer, { ...REQUEST, body }, 5000);
      assert.equal(reply.kind, 'untrusted', JSON.stringify(reply));
      assert.equal(requests, 0);
    });
  }

  it('sends to a peer with one of several known certificates', async () => {
    const { port } = await serve(good, echo);
    const reply = await transport({ fingerprints: ['ab'.repeat(32), hex(good.cert)] }).send(
      peerAt(port),
      { ...REQUEST, body },
      5000,
    );
    assert.equal(reply.kind, 'answer');
  });

  it('gives up on a peer that never answers, drips, or says nothing from the start', async () => {
    const silent = await serve(good, () => undefined);
    const dripping = await serve(good, (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('x'), 20);
      response.on('close', () => clearInterval(drip));
    });
    for (const { port } of [silent, dripping]) {
      const reply = await transport().send(peerAt(port), { ...REQUEST, body }, 300);
      assert.equal(reply.kind, 'timeout', JSON.stringify(reply));
    }
    const halfOpen = createPlainServer(() => undefined);
    await new Promise<void>((resolve) => halfOpen.listen(0, '127.0.0.1', resolve));
    stops.push(() => halfOpen.close());
    const { port } = halfOpen.address() as AddressInfo;
    const startedMs = systemClock.monotonicMs();
    const reply = await transport().send(peerAt(port), { ...REQUEST, body }, 20_000);
    assert.equal(reply.kind, 'unreachable', JSON.stringify(reply));
    assert.ok(systemClock.monotonicMs() - startedMs < 8000);
  });

  it('never rejects: nobody there, a torn answer, an answer without end', async () => {
    const torn = await serve(good, (request) => request.socket.destroy());
    const endless = await serve(good, (_request, response) => {
      const block = Buffer.alloc(1024 * 1024);
      let sent = 0;
      const more = () => {
        while (sent < PEER_RESPONSE_BYTES_MAX + 2 * block.length) {
          sent += block.length;
          if (!response.write(block)) return void response.once('drain', more);
        }
        response.end();
      };
      more();
    });
    for (const port of [torn.port, endless.port, 1]) {
      const reply = await transport().send(peerAt(port), { ...REQUEST, body }, 20_000);
      assert.equal(reply.kind, 'unreachable', `${port}: ${JSON.stringify({ ...reply, body: undefined })}`);
    }
    const closed = transport();
    await closed.close();
    assert.equal((await closed.send(peerAt(torn.port), { ...REQUEST, body }, 1000)).kind, 'unreachable');
    assert.equal(
      (await transport().send({ ...peerAt(1), url: null }, { ...REQUEST, body }, 1000)).kind,
      'unreachable',
    );
  });

  it('follows no redirect', async () => {
    const { port } = await serve(good, (_request, response) => {
      response.writeHead(307, { location: 'https://127.0.0.1:1/elsewhere' }).end();
    });
    const reply = await transport().send(peerAt(port), { ...REQUEST, body }, 5000);
    assert.equal(reply.kind === 'answer' && reply.status, 307);
  });
});
