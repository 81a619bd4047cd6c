import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { MnemeshError } from '../../node/client/client-error.js';
import { createClient } from '../../node/client/index.js';
import { startDaemonProcess } from '../support/daemon-process.js';
import { ADMIN, GovernedDaemon, REQUESTER } from '../support/governed-daemon.js';
import { until, within } from '../support/wait.js';

/** The next `count` events of a stream. */
async function take<T>(stream: AsyncGenerator<T>, count: number): Promise<T[]> {
  const events: T[] = [];
  for (let left = count; left > 0; left -= 1) {
    const next = await within(`event ${events.length + 1} comes`, stream.next());
    if (next.done === true) break;
    events.push(next.value);
  }
  return events;
}

describe('streams of the client', () => {
  let node: GovernedDaemon;
  before(async () => {
    node = await GovernedDaemon.start({}, startDaemonProcess);
  });
  after(() => node.end());
  const clientOf = (agentId: string) => createClient({ url: `http://127.0.0.1:${node.port}`, agentId });

  it('tell each change once, over a killed node, and go on from an id', async () => {
    const ending = new AbortController();
    let opened = 0;
    const onOpen = () => {
      opened += 1;
    };
    const stream = clientOf(ADMIN).approvalsStream({ signal: ending.signal, onOpen });
    const first = take(stream, 1);
    await until('the stream is open', () => opened > 0);
    const before = await node.request('before the kill');
    const [seen] = await first;
    assert.equal(seen!.event, 'approval_requested');
    assert.equal(seen!.event === 'approval_requested' && seen!.data.pending_id, before);
    await node.restart('SIGKILL');
    await node.decide(before, 'approve');
    const later = await node.request('after the kill');
    const told = await take(stream, 2);
    assert.deepEqual(
      told.map(({ event, data }) => [event, (data as { pending_id: string }).pending_id]),
      [
        ['approval_decided', before],
        ['approval_requested', later],
      ],
    );
    assert.equal(opened, 2);
    ending.abort();
    assert.equal((await within('the stream ends', stream.next())).done, true);
    const again = clientOf(REQUESTER).approvalsStream({ lastEventId: seen!.id! });
    const [next] = await take(again, 1);
    assert.equal(next!.event, 'approval_decided');
    await within('the reader leaves', again.return());
  });

  it('bring the messages to an agent, and refuse who names none', async () => {
    let isOpen = false;
    const onOpen = () => {
      isOpen = true;
    };
    const reader = clientOf('ai:reader').inboxStream({ onOpen });
    const coming = take(reader, 1);
    await until('the inbox is followed', () => isOpen);
    await clientOf('ai:sender').call('memory_notify', {
      ...{ target_agent_id: 'ai:reader', title: 'hello', payload: 'read this' },
    });
    const [message] = await coming;
    assert.equal(message!.event === 'message' && message!.data.from, 'ai:sender');
    await reader.return();
    const nameless = createClient({ url: `http://127.0.0.1:${node.port}` }).inboxStream();
    await assert.rejects(
      nameless.next(),
      (error) => error instanceof MnemeshError && error.code === 'FORBIDDEN',
    );
    const nobody = createClient({ url: 'http://127.0.0.1:9', agentId: ADMIN }).inboxStream();
    await assert.rejects(nobody.next(), MnemeshError);
    const ended = clientOf(ADMIN).approvalsStream({ signal: AbortSignal.abort() });
    assert.equal((await ended.next()).done, true);
  });
});

describe('a stream of a server that is none', () => {
  it('comes back after events that are half, broken or no JSON, with the last id', async () => {
    const asked: (string | undefined)[] = [];
    const answers: ((response: ServerResponse) => void)[] = [
      (response) =>
        response.end('id: 7\nevent: message\ndata: {"title":"first"}\n\nid: 8\nevent: message\ndata: {"ti'),
      (response) => response.end('id: 8\nevent: message\ndata: no JSON\n\n'),
      (response) =>
        response.end(': keepalive\nid: 9\n\nid: 10\nevent: message\ndata: {"title":"second"}\n\n'),
    ];
    const server = createServer((request, response) => {
      asked.push(request.headers['last-event-id'] as string | undefined);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      answers.shift()!(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const stream = createClient({ url, agentId: 'ai:reader' }).inboxStream();
    const events = await take(stream, 2);
    assert.deepEqual(
      events.map(({ id, data }) => [id, data]),
      [
        ['7', { title: 'first' }],
        ['10', { title: 'second' }],
      ],
    );
    assert.deepEqual(asked, [undefined, '7', '7']);
    await stream.return();
    server.closeAllConnections();
    server.close();
  });
});
