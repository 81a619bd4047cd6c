import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PEER_RESPONSE_BYTES_MAX } from '../../protocol/base/limits.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { PeerReply, PeerRequest, PeerTransport } from '../../protocol/wire/transport.js';

/** A request as the other side reads it. */
export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Uint8Array;
}

export type Answerer = (heard: Heard) => Promise<{ readonly status: number; readonly body: Uint8Array }>;

export interface TransportUnderTest {
  readonly transport: PeerTransport;
  /** A peer that answers so. */
  listen(answerer: Answerer): Promise<Peer>;
  /** A peer at whose address there is nothing. */
  absent(): Promise<Peer>;
  /** Waits for replies; where time is virtual, lets it pass. */
  come<T>(replies: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const LONG_MS = 20_000;
const encode = (text: string) => new TextEncoder().encode(text);
const POST: PeerRequest = {
  method: 'POST',
  path: '/api/v1/x',
  query: 'a=1&b=%2F',
  headers: { 'X-Peer-Id': 'p' },
  body: encode('{"a":1}'),
};
const GET: PeerRequest = { ...POST, method: 'GET', body: null };
const never = () => new Promise<never>(() => {});

const shown = (reply: PeerReply) =>
  reply.kind === 'answer' ? `answer ${reply.status}, ${reply.body.length} bytes` : reply.kind;

/** What every way to carry messages to peers does: nothing but its replies says how it went, and it never rejects. */
export function peerTransportContract(name: string, open: () => Promise<TransportUnderTest>): void {
  describe(`transport to peers: ${name}`, () => {
    let under: TransportUnderTest;
    before(async () => {
      under = await open();
    });
    after(() => under.close());
    const send = (peer: Peer, request = POST, timeoutMs = LONG_MS) =>
      under.come(under.transport.send(peer, request, timeoutMs));
    const says = (status: number, body: Uint8Array) => under.listen(async () => ({ status, body }));

    it('carries method, path, query, headers and body as they are', async () => {
      const heard: Heard[] = [];
      const peer = await under.listen(async (each) => {
        heard.push(each);
        return { status: 200, body: encode('{}') };
      });
      const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
      assert.equal(shown(await send(peer, { ...POST, body: bytes })), 'answer 200, 2 bytes');
      assert.equal(shown(await send(peer, GET)), 'answer 200, 2 bytes');
      const lines = heard.map((each) => [each.method, each.path, each.query, each.headers['x-peer-id']]);
      assert.deepEqual(lines, [
        ['POST', '/api/v1/x', 'a=1&b=%2F', 'p'],
        ['GET', '/api/v1/x', 'a=1&b=%2F', 'p'],
      ]);
      assert.deepEqual([...heard[0]!.body], [...bytes]);
      assert.equal(heard[1]!.body.length, 0);
    });

    it('answers status and bytes, whatever they are, and follows nothing', async () => {
      const bytes = Uint8Array.from({ length: 256 }, (_, n) => 255 - n);
      for (const status of [200, 207, 307, 401, 404, 429, 500, 503]) {
        const reply = await send(await says(status, bytes));
        assert.equal(shown(reply), `answer ${status}, 256 bytes`);
        assert.deepEqual(reply.kind === 'answer' && [...reply.body], [...bytes]);
      }
      assert.equal(shown(await send(await says(200, new Uint8Array(0)))), 'answer 200, 0 bytes');
    });

    it('takes an answer as large as one may be, and none that is larger', async () => {
      const whole = await send(await says(200, new Uint8Array(PEER_RESPONSE_BYTES_MAX)));
      assert.equal(shown(whole), `answer 200, ${PEER_RESPONSE_BYTES_MAX} bytes`);
      const more = await send(await says(200, new Uint8Array(PEER_RESPONSE_BYTES_MAX + 1)));
      assert.equal(shown(more), 'unreachable');
    });

    it('says that nothing listens there, or that there is no address', async () => {
      const absent = await under.absent();
      assert.equal(shown(await send(absent)), 'unreachable');
      const there = await says(200, encode('{}'));
      assert.equal(shown(await send({ ...there, url: null })), 'unreachable');
      assert.equal(shown(await send(there)), 'answer 200, 2 bytes', 'the same peer with its address');
    });

    it('gives up at the deadline, and the next message is answered by its own answer', async () => {
      let silent = true;
      const peer = await under.listen((heard) =>
        silent ? never() : Promise.resolve({ status: 200, body: heard.body }),
      );
      assert.equal(shown(await send(peer, POST, 150)), 'timeout');
      silent = false;
      const reply = await send(peer, { ...POST, body: encode('the second') });
      assert.equal(reply.kind === 'answer' && new TextDecoder().decode(reply.body), 'the second');
    });

    it('gives each of many messages at once its own answer', async () => {
      const echo: Answerer = async ({ body }) => ({ status: 200, body });
      const peers = [await under.listen(echo), await under.listen(echo)];
      const absent = await under.absent();
      const texts = Array.from({ length: 24 }, (_, n) => `message ${n}`);
      const sent = texts.map((text, n) =>
        under.transport.send(peers[n % 2]!, { ...POST, body: encode(text) }, LONG_MS),
      );
      const lost = under.transport.send(absent, POST, LONG_MS);
      const replies = await under.come(Promise.all(sent));
      const found = replies.map((reply) => reply.kind === 'answer' && new TextDecoder().decode(reply.body));
      assert.deepEqual(found, texts);
      assert.equal(shown(await under.come(lost)), 'unreachable');
    });
  });
}
