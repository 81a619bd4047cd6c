// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { Connections } from '../../../node/http/connections.js';
import { event } from '../../support/wait.js';
import { openHttpNode } from './http-node.js';

const CONNECTIONS = 4096;

/** A connection of a source, without a network. */
class FakeSocket extends EventEmitter {
  destroyed = false;

  constructor(
    readonly remotePort: number,
    readonly remoteAddress = '10.0.0.1',
  ) {
    super();
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function fixture(connectionsMax: number, silentPerSourceMax: number) {
  const clock = { ms: 0, monotonicMs: () => clock.ms };
  const connections = new Connections(clock, { connectionsMax, silentPerSourceMax, silentGraceMs: 100 });
  let port = 0;
  const open = (address?: string): FakeSocket => {
    port += 1;
    const socket = new FakeSocket(port, address);
    connections.opened(socket as unknown as Socket);
    return socket;
  };
  const use = (socket: FakeSocket) => connections.used(socket as unknown as Socket);
  const rest = (socket: FakeSocket) => connections.rested(socket as unknown as Socket);
  return { clock, connections, open, use, rest };
}

describe('connections that send nothing', () => {
  it('do not keep a new client out when they fill the listener', async (context) => {
    const node = await openHttpNode();
    const silent: Socket[] = [];
    try {
      for (let at = 0; at < CONNECTIONS; at += 128) {
        const opening = Array.from({ length: 128 }, () => {
          const socket = createConnection({ host: '127.0.0.1', port: node.port });
          socket.on('error', () => undefined);
          silent.push(socket);
          return event('the connection opens', socket, 'connect');
        });
        await Promise.all(opening);
      }
      const beganMs = performance.now();
      assert.equal((await node.send('GET', '/health')).status, 200);
      context.diagnostic(`a new client was answered after ${Math.round(performance.now() - beganMs)} ms`);
    } finally {
      for (const socket of silent) socket.destroy();
      await node.close();
    }
  });

  it('end soon', async () => {
    const node = await openHttpNode({ requestTimeoutMs: 100 });
    try {
      const socket = createConnection({ host: '127.0.0.1', port: node.port });
      socket.resume();
      await event('the node ends the connection', socket, 'close', { withinMs: 12_000 });
    } finally {
      await node.close();
    }
  });

  it('make way, the oldest first, and connections in use do not', () => {
    const { connections, open, use } = fixture(3, 100);
    const [used, first, second] = [open(), open(), open()];
    use(used);
    const third = open();
    assert.deepEqual(
      [used.destroyed, first.destroyed, second.destroyed, third.destroyed],
      [false, true, false, false],
    );
    use(second);
    use(third);
    assert.equal(open().destroyed, true, 'all others are in use');
    assert.equal(connections.size, 3);
    used.destroy();
    assert.equal(open().destroyed, false);
  });

  it('make way also when they sent a request before, the one that rests longest first', () => {
    const { open, use, rest } = fixture(3, 100);
    const all = [open(), open(), open()] as const;
    for (const socket of all) use(socket);
    rest(all[1]);
    rest(all[0]);
    use(all[1]);
    rest(all[1]);
    assert.equal(open().destroyed, false);
    assert.deepEqual(
      all.map(({ destroyed }) => destroyed),
      [true, false, false],
    );
  });

  it('are bounded for each source after a short while', () => {
    const { clock, open } = fixture(100, 2);
    const other = open('10.0.0.2');
    const mine = [open(), open(), open(), open()];
    assert.ok(
      mine.every(({ destroyed }) => !destroyed),
      'a burst is let in',
    );
    clock.ms = 100;
    const last = open();
    assert.deepEqual(
      mine.map(({ destroyed }) => destroyed),
      [true, true, true, false],
    );
    assert.deepEqual([last.destroyed, other.destroyed], [false, false]);
  });
});
