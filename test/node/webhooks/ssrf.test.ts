import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { addressRefusal, urlRefusal } from '../../../node/outbound/address-guard.js';
import type { Resolved } from '../../../node/outbound/lookups.js';
import { systemClock, systemCrypto, systemScheduler } from '../../../node/seams.js';
import { type SenderParts, WebhookSender } from '../../../node/webhooks/sender.js';
import { WEBHOOK_LOOKUPS_MAX } from '../../../protocol/base/limits.js';
import { event, until } from '../../support/wait.js';
import { acknowledge, WebhookReceiver } from '../../support/webhook-receiver.js';

/** Addresses as text that must be refused at once, whatever is resolved. */
const HOSTILE_URLS = [
  // Other schemes, and none
  'http://example.org/hook',
  'ftp://example.org/',
  'file:///etc/passwd',
  'gopher://example.org/',
  'data:text/plain,x',
  'javascript:alert(1)',
  'ws://example.org/',
  '//example.org/',
  'example.org/hook',
  '',
  'https://',
  // Credentials
  'https://user:password@example.org/',
  'https://user@example.org/',
  'https://example.org@127.0.0.1/',
  'https://example.org%40127.0.0.1/',
  // This machine
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://a.localhost/',
  'https://localhost.localdomain/',
  'https://ip6-localhost/',
  'http://localhost:9077/',
  'https://127.0.0.1/',
  'https://127.0.0.1./',
  'https://127.1/',
  'https://127.255.255.254/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0x7f.0.0.1/',
  'https://017700000001/',
  'https://0177.0.0.1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://127。0。0。1/',
  'https://[::1]/',
  'https://[::1]:8443/',
  'https://[0:0:0:0:0:0:0:1]/',
  // IPv4 in IPv6
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://[::ffff:8.8.8.8]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[64:ff9b::a00:1]/',
  'https://[64:ff9b:1::a00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2002:c0a8:101::1]/',
  'https://[2001::7f00:1]/',
  // Private, shared, link-local, documentation, benchmarks, multicast, reserved
  'https://0.0.0.0/',
  'https://0/',
  'https://10.0.0.1/',
  'https://10.255.255.255/',
  'https://100.64.0.1/',
  'https://169.254.169.254/latest/meta-data/',
  'https://0xa9fea9fe/',
  'https://172.16.0.1/',
  'https://172.31.255.255/',
  'https://192.0.0.192/',
  'https://192.0.2.1/',
  'https://192.88.99.1/',
  'https://192.168.0.1/',
  'https://192.168.1.1:8443/',
  'https://198.18.0.1/',
  'https://198.51.100.7/',
  'https://203.0.113.7/',
  'https://224.0.0.1/',
  'https://239.255.255.250/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://[::]/',
  'https://[fc00::1]/',
  'https://[fd12:3456::1]/',
  'https://[fe80::1]/',
  'https://[febf::1]/',
  'https://[fec0::1]/',
  'https://[ff02::1]/',
  'https://[2001:db8::1]/',
  'https://[3fff::1]/',
  'https://[100::1]/',
  `https://example.org/${'x'.repeat(2048)}`,
] as const;

/** Answers of a resolver, one address of which may not be called. */
const HOSTILE_ANSWERS: readonly (readonly string[])[] = [
  ['127.0.0.1'],
  ['127.0.0.2'],
  ['10.1.2.3'],
  ['169.254.169.254'],
  ['192.168.1.1'],
  ['172.20.0.1'],
  ['100.100.100.200'],
  ['0.0.0.0'],
  ['255.255.255.255'],
  ['224.0.0.251'],
  ['::1'],
  ['0:0:0:0:0:0:0:1'],
  ['::'],
  ['::ffff:127.0.0.1'],
  ['::ffff:a9fe:a9fe'],
  ['64:ff9b::7f00:1'],
  ['2002:7f00:1::'],
  ['fe80::1'],
  ['fe80::1%eth0'],
  ['fd00::1'],
  ['ff05::2'],
  ['127.1'],
  ['not an address'],
  [''],
  [],
  ['93.184.216.34', '127.0.0.1'],
  ['93.184.216.34', '10.0.0.1', '93.184.216.35'],
  ['2606:2800:220:1::1', '::1'],
  ['93.184.216.34', 'fd00::1'],
];

const PUBLIC = [
  '8.8.8.8',
  '93.184.216.34',
  '172.32.0.1',
  '100.128.0.1',
  '2606:2800:220:1::1',
  '2a00:1450::1',
];

const answered = (addresses: readonly string[]): readonly Resolved[] =>
  addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));

const CORRELATION = '019a0000-0000-7000-8000-000000000001';
const delivery = (url: string) => ({
  ...{ subscriptionId: 's', seq: 1, correlationId: CORRELATION, url },
  ...{
    body: JSON.stringify({ correlation_id: CORRELATION, event: 'memory_store' }),
    secretHash: 'ab'.repeat(32),
  },
});

function sender(
  more: Partial<Omit<SenderParts, 'settings'>> & { readonly settings?: Partial<SenderParts['settings']> },
) {
  const { settings, ...rest } = more;
  return new WebhookSender({
    ...{ clock: systemClock, scheduler: systemScheduler, crypto: systemCrypto },
    ...rest,
    settings: {
      ...{ allowLoopbackWebhooks: false, ssrfGuardAllowDnsFail: false, webhookHmacSecret: null },
      ...settings,
    },
  });
}

describe('the guard of webhooks', () => {
  let receiver: WebhookReceiver;
  before(async () => {
    receiver = await WebhookReceiver.open();
  });
  after(() => receiver.close());

  it('has at least sixty hostile targets', () => {
    assert.ok(new Set(HOSTILE_URLS).size >= 60);
    assert.equal(new Set(HOSTILE_URLS).size, HOSTILE_URLS.length);
  });

  for (const url of HOSTILE_URLS) {
    it(`refuses ${url.slice(0, 60)} when it is registered, and again when an event is sent`, async () => {
      assert.notEqual(urlRefusal(url, false), null);
      const resolve = () => Promise.reject(new Error('a refused address is not resolved'));
      assert.equal(await sender({ resolve }).send(delivery(url)), 'ssrf-rejected');
    });
  }

  for (const addresses of HOSTILE_ANSWERS) {
    it(`calls none of [${addresses.join(', ')}], which a name resolves to`, async () => {
      const url = `https://hook.example.org:${receiver.port}/`;
      assert.equal(urlRefusal(url, false), null);
      const resolve = () => Promise.resolve(answered(addresses));
      assert.equal(await sender({ resolve }).send(delivery(url)), 'dns-ssrf-rejected');
      assert.equal(receiver.got.length, 0);
    });
  }

  it('takes public addresses, and this machine only where it is permitted', () => {
    for (const address of PUBLIC) assert.equal(addressRefusal(address, false), null, address);
    for (const address of ['127.0.0.1', '::1']) {
      assert.notEqual(addressRefusal(address, false), null);
      assert.equal(addressRefusal(address, true), null);
    }
    assert.notEqual(addressRefusal('::ffff:127.0.0.1', true), null, 'not in another form');
    for (const url of ['http://localhost:1/', 'http://127.0.0.1:1/', 'http://[::1]:1/', 'https://localhost/'])
      assert.equal(urlRefusal(url, true), null, url);
    for (const url of ['http://10.0.0.1/', 'http://example.org/', 'https://[::ffff:127.0.0.1]/'])
      assert.notEqual(urlRefusal(url, true), null, url);
  });

  it('connects to the address that it checked, although the name means another one a moment later', async () => {
    const asked: string[] = [];
    const answers = [['127.0.0.1'], ['10.0.0.1'], ['169.254.169.254']];
    const resolve = (host: string) => {
      asked.push(host);
      return Promise.resolve(answered(answers[asked.length - 1]!));
    };
    const rebinding = sender({ resolve, settings: { allowLoopbackWebhooks: true } });
    const url = `http://rebound.localhost:${receiver.port}/`;
    assert.equal(await rebinding.send(delivery(url)), null, 'the first address was called');
    assert.deepEqual(asked, ['rebound.localhost'], 'and resolved once');
    assert.equal(receiver.got.at(-1)!.headers.host, `rebound.localhost:${receiver.port}`);
    const before = receiver.got.length;
    assert.equal(await rebinding.send(delivery(url)), 'dns-ssrf-rejected');
    assert.equal(await rebinding.send(delivery(url)), 'dns-ssrf-rejected');
    assert.equal(receiver.got.length, before);
  });

  it('connects to an address of the other family where the first one does not answer', async () => {
    const resolve = () => Promise.resolve(answered(['::1', '127.0.0.1']));
    const here = sender({ resolve, settings: { allowLoopbackWebhooks: true } });
    const before = receiver.got.length;
    assert.equal(await here.send(delivery(`http://localhost:${receiver.port}/`)), null);
    assert.equal(receiver.got.length, before + 1);
  });

  it('sends without TLS only to this machine, whatever its name resolves to', async () => {
    const resolve = () => Promise.resolve(answered(['93.184.216.34']));
    const there = sender({ resolve, settings: { allowLoopbackWebhooks: true } });
    assert.equal(await there.send(delivery('http://x.localhost/')), 'dns-ssrf-rejected');
  });

  it('refuses where the name cannot be resolved, and sends nothing where that is permitted', async () => {
    const resolve = () => Promise.reject(new Error('ENOTFOUND'));
    const url = `https://hook.example.org:${receiver.port}/`;
    assert.equal(await sender({ resolve }).send(delivery(url)), 'dns-ssrf-rejected');
    const permitted = sender({ resolve, settings: { ssrfGuardAllowDnsFail: true } });
    assert.equal(await permitted.send(delivery(url)), 'network');
  });

  it('resolves few names at a time, each of them once', async () => {
    const asked: string[] = [];
    const answers = new Map<string, (found: readonly Resolved[]) => void>();
    const resolve = (host: string) => {
      asked.push(host);
      return new Promise<readonly Resolved[]>((answer) => answers.set(host, answer));
    };
    const busy = sender({ resolve, timeoutMs: 1000 });
    const urls = ['a', 'a', 'b', 'c', 'd'].map((name) => `https://${name}.example.org/`);
    const ended = await Promise.all(urls.map((url) => busy.send(delivery(url))));
    assert.deepEqual(ended, Array(urls.length).fill('network'), 'an attempt ends in its time');
    assert.deepEqual(asked, ['a.example.org', 'b.example.org'], 'these lookups have not ended');
    assert.equal(asked.length, WEBHOOK_LOOKUPS_MAX);
    assert.equal(await busy.send(delivery(urls[0]!)), 'network', 'a further attempt waits for the same one');
    const waiting = busy.send(delivery(urls[3]!));
    answers.get('a.example.org')!(answered(['127.0.0.1']));
    await until('the next name is resolved', () => asked.length === 3, { everyMs: 0 });
    assert.equal(asked[2], 'c.example.org', 'those that gave up do not take the room');
    answers.get('c.example.org')!(answered(['127.0.0.1']));
    assert.equal(await waiting, 'dns-ssrf-rejected');
  });

  it('warns of no leak while many receivers wait for their names, and ends all of them together', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    const stopping = new AbortController();
    const answers: (() => void)[] = [];
    const resolve = () =>
      new Promise<readonly Resolved[]>((answer) => answers.push(() => answer(answered(['10.0.0.1']))));
    const busy = sender({ resolve });
    const sending = Array.from({ length: 40 }, (_, n) =>
      busy.open().run(delivery(`https://name-${n}.example.org/`), stopping.signal),
    );
    try {
      // Each answer wakes all that wait for room, and most of them wait again.
      for (let n = 0; n < 20; n += 1) {
        await until('the next name is resolved', () => answers.length > n, { everyMs: 0 });
        answers[n]!();
      }
      const refused = await Promise.all(sending.slice(0, 20));
      assert.deepEqual(new Set(refused), new Set(['dns-ssrf-rejected']));
      stopping.abort();
      assert.deepEqual(new Set(await Promise.all(sending.slice(20))), new Set(['network']));
      // A warning is told in a later turn of the loop.
      await new Promise((later) => setImmediate(later));
      assert.deepEqual(warnings.map(String), []);
    } finally {
      process.off('warning', note);
    }
  });

  it('sends the events of a turn on one connection, and makes another one where the receiver closed it', async () => {
    let connections = 0;
    let closes = false;
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        const correlation_id = request.headers['x-svc-correlation-id'];
        response.end(JSON.stringify({ status: 'ack', correlation_id }), () => {
          // Without a word in the answer, as a receiver that restarts does.
          if (closes) setImmediate(() => request.socket.destroy());
        });
      });
    }).listen(0, '127.0.0.1');
    await event('the server listens', server, 'listening');
    server.on('connection', () => {
      connections += 1;
    });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const turn = sender({ settings: { allowLoopbackWebhooks: true } }).open();
    for (let n = 0; n < 3; n += 1) assert.equal(await turn.run(delivery(url)), null);
    assert.equal(connections, 1);
    closes = true;
    for (let n = 0; n < 3; n += 1) assert.equal(await turn.run(delivery(url)), null);
    assert.equal(connections, 3);
    turn.close();
    await new Promise((resolve) => server.close(resolve));
  });

  it('follows no redirect', async () => {
    const redirecting = createServer((_request, response) => {
      response.writeHead(307, { location: receiver.url }).end();
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => redirecting.once('listening', resolve));
    const { port } = redirecting.address() as { port: number };
    const before = receiver.got.length;
    const here = sender({ settings: { allowLoopbackWebhooks: true } });
    assert.equal(await here.send(delivery(`http://127.0.0.1:${port}/`)), 'http-307');
    assert.equal(receiver.got.length, before);
    redirecting.close();
  });

  it('uses no proxy', async () => {
    const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy', 'ALL_PROXY'];
    for (const name of names) process.env[name] = 'http://127.0.0.1:9';
    try {
      const here = sender({ settings: { allowLoopbackWebhooks: true } });
      assert.equal(await here.send(delivery(receiver.url)), null);
    } finally {
      for (const name of names) delete process.env[name];
    }
  });

  it('takes only the acknowledgement of this event for one', async () => {
    const answers: readonly (readonly [number, string, string | null])[] = [
      [200, JSON.stringify({ status: 'ack', correlation_id: CORRELATION }), null],
      [202, JSON.stringify({ status: 'ack', correlation_id: CORRELATION, more: 1 }), null],
      [200, '', 'ack-decode'],
      [200, 'ack', 'ack-decode'],
      [200, 'null', 'ack-decode'],
      [200, '[]', 'ack-status'],
      [200, '{}', 'ack-status'],
      [200, JSON.stringify({ status: 'ok', correlation_id: CORRELATION }), 'ack-status'],
      [200, JSON.stringify({ status: 'ack' }), 'ack-corr-mismatch'],
      [200, JSON.stringify({ status: 'ack', correlation_id: 'x' }), 'ack-corr-mismatch'],
      [404, JSON.stringify({ status: 'ack', correlation_id: CORRELATION }), 'http-404'],
      [500, '', 'http-500'],
      [200, ' '.repeat(100_000), 'ack-read'],
    ];
    const here = sender({ settings: { allowLoopbackWebhooks: true } });
    for (const [status, body, error] of answers) {
      receiver.reply = (_got, response) => {
        response.writeHead(status).end(body);
      };
      assert.equal(await here.send(delivery(receiver.url)), error, `${status} ${body.slice(0, 40)}`);
    }
    receiver.reply = () => undefined;
    const impatient = sender({ settings: { allowLoopbackWebhooks: true }, timeoutMs: 100 });
    assert.equal(await impatient.send(delivery(receiver.url)), 'network', 'no answer in time');
    receiver.reply = (_got, response) => {
      response.writeHead(200);
      response.write('{');
    };
    assert.equal(await impatient.send(delivery(receiver.url)), 'network', 'an answer without an end');
    receiver.reply = acknowledge;
    const unsigned = { ...delivery(receiver.url), secretHash: null };
    assert.equal(await here.send(unsigned), 'no-secret');
  });
});
