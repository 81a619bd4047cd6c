// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { createConnection, type Socket } from 'node:net';
import { after, before, describe, it } from 'node:test';
import type { RunningChild } from '../../../actors/core/child.js';
import { ApprovalStream } from '../../../actors/streams/approval-stream.js';
import { approvalsRoute } from '../../../node/http/approvals-route.js';
import { BACKGROUND_POLICY } from '../../../node/restart-policies.js';
import { systemClock, systemScheduler } from '../../../node/seams.js';
import type { Store } from '../../../storage/port.js';
import { EventListener } from '../../support/event-listener.js';
import { until } from '../../support/wait.js';
import { type HttpNode, openHttpNode } from '../http/http-node.js';

const ADMIN = 'human:admin';
/** More bytes than a connection of this machine takes from a node whose client reads none. */
const EVENTS = 4500;
const PER_AGENT = 50;
const LISTENERS_MAX = 6;
const KEEPALIVE_MS = 1500;
/** Long, so that events are. */
const NAMESPACE = `slow/${'n'.repeat(490)}`;
const ACTION = 'a'.repeat(500);

let node: HttpNode;
let stream: ApprovalStream;
let child: RunningChild;
let made = 0;

before(async () => {
  // The surface is made before its node can be asked.
  const store: Pick<Store, 'query'> = {
    query: (query, options) => node.services.store.query(query, options),
  };
  stream = new ApprovalStream({
    store,
    policy: BACKGROUND_POLICY,
    clock: systemClock,
    scheduler: systemScheduler,
    listenersMax: LISTENERS_MAX,
    keepaliveMs: KEEPALIVE_MS,
  });
  child = await stream.spec.start(new AbortController().signal);
  node = await openHttpNode(
    { adminAgentIds: [ADMIN], adminHeaderTrust: true },
    { streamRoutes: [approvalsRoute(stream)] },
  );
});
after(async () => {
  await node.close();
  await child.stop();
});

/** Requests actions until something holds, or so many are made. */
async function requestActions(count: number, isEnough = () => false): Promise<void> {
  for (; made < count && !isEnough(); made += 1) {
    const asked = await node.services.store.execute({
      kind: 'request-approval',
      pendingId: node.services.random.uuid(),
      command: { kind: 'expire-memories' },
      action: ACTION,
      namespace: NAMESPACE,
      memoryId: null,
      approver: { form: 'human' },
      requestedBy: `ai:requester-${Math.floor(made / PER_AGENT)}`,
    });
    assert.ok(asked.ok, JSON.stringify(asked));
    // The stream has its turns meanwhile, as it has beside a writer of its own.
    if (made % 20 === 0) await new Promise((resolve) => systemScheduler.immediate(() => resolve(null)));
  }
}

const base = () => `http://127.0.0.1:${node.port}/api/v1`;

/** A client that never reads. */
async function stall(lastEventId = ''): Promise<Socket> {
  const before = stream.listeners;
  const socket = createConnection({ host: '127.0.0.1', port: node.port });
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(
    `GET /api/v1/approvals/stream HTTP/1.1\r\nHost: localhost:${node.port}\r\nX-Agent-Id: ${ADMIN}\r\n` +
      `Last-Event-ID: ${lastEventId}\r\n\r\n`,
  );
  await until('the listener is there', () => stream.listeners > before);
  return socket;
}

describe('a listener that does not read', () => {
  it('is cut while it is live, and the others hear everything', async () => {
    const reader = await EventListener.open(base(), ADMIN);
    const stalled = await stall();
    await requestActions(EVENTS, () => stream.listeners === 1);
    assert.equal(stream.listeners, 1, `${made} events did not fill the connection`);
    const rest = await read(stalled);
    assert.match(rest.slice(-200), /event: lagged\ndata: \{"lagged":true\}\n\n/);
    const ends = made + 20;
    await requestActions(ends);
    const events = await reader.heard(made, 60_000);
    assert.equal(new Set(events.map(({ id }) => id)).size, made);
    reader.close();
    await until('no listener is left', () => stream.listeners === 0);
  });

  it('is cut while older events are replayed, at the second keepalive', async () => {
    await requestActions(EVENTS);
    const reader = await EventListener.open(base(), ADMIN, { lastEventId: 1 });
    const stalled = await stall('1');
    await reader.heard(EVENTS - 1, 60_000);
    await until('the listener is cut', () => stream.listeners === 1);
    await until('its connection is closed', async () => {
      const metrics = (await node.send('GET', '/metrics')).text;
      return metrics.includes('svc_streams_open 1\n');
    });
    stalled.destroy();
    reader.close();
  });
});

describe('the number of listeners', () => {
  it('has a bound, beyond which the answer is 503, and a place becomes free', async () => {
    await until('no listener is left', () => stream.listeners === 0);
    const open = [];
    for (let count = 0; count < LISTENERS_MAX; count += 1) open.push(await EventListener.open(base(), ADMIN));
    const refused = await node.send('GET', '/api/v1/approvals/stream');
    assert.deepEqual([refused.status, refused.json!['code']], [503, 'OVERLOADED']);
    assert.equal(refused.headers.get('retry-after'), '1');
    open[0]!.close();
    await until('a place is free', () => stream.listeners === LISTENERS_MAX - 1);
    const again = await EventListener.open(base(), ADMIN);
    assert.equal(again.status, 200);
    await until('a keepalive comes', () => again.comments >= 2);
    for (const listener of [...open, again]) listener.close();
  });
});

describe('the end of the node', () => {
  it('does not wait for a listener that does not read', async () => {
    const reader = await EventListener.open(base(), ADMIN, { lastEventId: 1 });
    const stalled = await stall('1');
    await reader.heard(EVENTS - 1, 60_000);
    const beganMs = performance.now();
    await node.surface.drain(20_000);
    assert.ok(performance.now() - beganMs < 5000);
    await until('the stream of the reader ends', () => reader.ended === 'clean');
    stalled.destroy();
  });
});

/** What a socket gets when it reads at last, to its end. */
async function read(socket: Socket): Promise<string> {
  let text = '';
  let ended = false;
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  socket.on('close', () => {
    ended = true;
  });
  socket.resume();
  await until('the connection ends', () => ended);
  return text;
}
