import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { KeyAndCertificate } from '../../../node/mesh/forming/certificate.js';
import { issueCertificate, makeAuthority, newTlsKey } from '../../../node/mesh/forming/x509.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../../node/seams.js';
import { WebhookSender } from '../../../node/webhooks/sender.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { testAuthority } from '../../support/mesh.js';
import { event, until, within } from '../../support/wait.js';
import { WebhookDaemon } from '../../support/webhook-daemon.js';
import { type ServerCertificate, WebhookReceiver } from '../../support/webhook-receiver.js';

const NAME = 'hook.example.org';
const YEAR_MS = 365 * 86_400_000;
const CORRELATION = '019a0000-0000-7000-8000-000000000001';

describe('a webhook over TLS', { timeout: 120_000 }, () => {
  let authority: KeyAndCertificate;
  let other: KeyAndCertificate;
  let tlsKey: Awaited<ReturnType<typeof newTlsKey>>;
  let receiver: WebhookReceiver;
  let plain: WebhookReceiver;
  before(async () => {
    authority = await testAuthority();
    other = await makeAuthority(systemClock.nowMs(), systemRandom);
    tlsKey = await newTlsKey();
    receiver = await WebhookReceiver.open(0, certificateOf(NAME));
    plain = await WebhookReceiver.open();
  });
  after(async () => {
    await receiver.close();
    await plain.close();
  });
  afterEach(() => {
    receiver.certificate = certificateOf(NAME);
    receiver.got.splice(0);
    receiver.names.splice(0);
  });

  /** A certificate of a host, valid for ten years from `years` from now on. */
  function certificateOf(host: string, { by = authority, years = 0 } = {}): ServerCertificate {
    const request = { peerId: 'peer-00000000000000aa', publicKey: tlsKey.publicKey, url: `https://${host}/` };
    const cert = issueCertificate(by, request, systemClock.nowMs() + years * YEAR_MS, systemRandom);
    return { cert, key: tlsKey.key };
  }

  const sender = (trusted: readonly KeyAndCertificate[] | undefined, timeoutMs?: number) =>
    new WebhookSender({
      ...{ clock: systemClock, scheduler: systemScheduler, crypto: systemCrypto },
      settings: { allowLoopbackWebhooks: true, ssrfGuardAllowDnsFail: false, webhookHmacSecret: null },
      resolve: () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(trusted === undefined ? {} : { authorities: trusted.map(({ cert }) => cert) }),
    });
  const delivery = (url: string) => ({
    ...{ subscriptionId: 's', seq: 1, correlationId: CORRELATION, url },
    ...{
      body: JSON.stringify({ correlation_id: CORRELATION, event: 'memory_store' }),
      secretHash: 'ab'.repeat(32),
    },
  });
  /** Sends an event to a name, which resolves to this machine; null when it was acknowledged. */
  const send = (url: string, trusted?: readonly KeyAndCertificate[], timeoutMs?: number) =>
    sender(trusted, timeoutMs).send(delivery(url));
  const address = (name = NAME) => `https://${name}:${receiver.port}/hook`;

  it('asks for the name and not for the address that it calls', async () => {
    assert.equal(await send(address(), [authority]), null);
    assert.deepEqual(receiver.names, [NAME]);
    assert.equal(receiver.got[0]!.headers.host, `${NAME}:${receiver.port}`);
  });

  it('asks for the name without the final dot of the address', async () => {
    assert.equal(await send(address(`${NAME}.`), [authority]), null);
    assert.deepEqual(receiver.names, [NAME]);
  });

  it('shares a handshake with the events of its turn only', async () => {
    const turns = [sender([authority]).open(), sender([authority]).open()];
    for (const turn of turns) {
      for (let n = 0; n < 3; n += 1) assert.equal(await turn.run(delivery(address())), null);
      turn.close();
    }
    assert.deepEqual([receiver.got.length, receiver.names], [6, [NAME, NAME]]);
  });

  it('goes to an address that the certificate names', async () => {
    const here = await WebhookReceiver.open(0, certificateOf('127.0.0.1'));
    assert.equal(await send(`https://127.0.0.1:${here.port}/`, [authority]), null);
    assert.deepEqual(here.names, [null], 'an address is no name of TLS');
    await here.close();
  });

  const refused = async (trusted: readonly KeyAndCertificate[] | undefined, name = NAME) => {
    assert.equal(await send(address(name), trusted), 'network');
    assert.deepEqual(receiver.names, [name], 'the receiver was reached');
    assert.deepEqual(receiver.got, [], 'and was sent nothing');
  };

  it('is not sent where the certificate has another name', async () => {
    receiver.certificate = certificateOf('other.example.org');
    await refused([authority]);
  });

  it('is not sent where the certificate names the address only', async () => {
    receiver.certificate = certificateOf('127.0.0.1');
    await refused([authority]);
  });

  it('is not sent to a name below that of the certificate', async () => {
    await refused([authority], `x.${NAME}`);
  });

  it('is not sent where the certificate has expired, or is not valid yet', async () => {
    receiver.certificate = certificateOf(NAME, { years: -12 });
    await refused([authority]);
    receiver.names.splice(0);
    receiver.certificate = certificateOf(NAME, { years: 1 });
    await refused([authority]);
  });

  it('is not sent where the authority is not known', async () => {
    receiver.certificate = certificateOf(NAME, { by: other });
    await refused([authority]);
    receiver.names.splice(0);
    await refused(undefined);
  });

  it('is not sent to a stranger because the environment switches the check off', async () => {
    receiver.certificate = certificateOf(NAME, { by: other });
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      await refused([authority]);
    } finally {
      delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    }
  });

  it('ends in its time where the receiver does not answer the handshake', async () => {
    const mute = createServer(() => undefined).listen(0, '127.0.0.1');
    await event('the mute server listens', mute, 'listening');
    const connected = once(mute, 'connection') as Promise<[Socket]>;
    const { port } = mute.address() as AddressInfo;
    assert.equal(await send(`https://${NAME}:${port}/`, [authority], 300), 'network');
    const [socket] = await connected;
    await within(
      'the connection ends',
      socket.destroyed ? Promise.resolve([]) : once(socket.resume(), 'close'),
    );
    mute.close();
  });

  it('is not sent without TLS to an address with https', async () => {
    assert.equal(await send(`https://${NAME}:${plain.port}/`, [authority]), 'network');
    assert.deepEqual(plain.got, []);
  });

  it('reaches a receiver whose authority the environment of the node names', async () => {
    const file = join(temporaryFolder('authority'), 'authority.pem');
    writeFileSync(file, authority.cert);
    const node = await WebhookDaemon.start({ NODE_EXTRA_CA_CERTS: file });
    try {
      receiver.certificate = certificateOf('localhost');
      await node.subscribe(address('localhost'));
      const id = await node.store('sent over TLS');
      await until('the event arrives', () => receiver.got.length > 0);
      assert.equal(receiver.got[0]!.body['memory_id'], id);
      assert.deepEqual(receiver.names, ['localhost']);
    } finally {
      await node.end();
    }
  });
});
