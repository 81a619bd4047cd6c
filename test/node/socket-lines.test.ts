import assert from 'node:assert/strict';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SocketLines } from '../../node/private-socket.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { event, untilAnswer } from '../support/wait.js';

const BYTES_MAX = 100_000;

describe('the lines of a socket', () => {
  const path = join(temporaryFolder('lines'), 'lines.sock');
  let server: Server;
  before(async () => {
    server = createServer().listen(path);
    await event('the server listens', server, 'listening');
  });
  after(() => server.close());

  /** The two ends of a connection. */
  async function ends(): Promise<[from: Socket, to: Socket]> {
    const accepted = event('a process connects', server, 'connection');
    const from = createConnection(path);
    const [to] = (await accepted) as [Socket];
    return [from, to];
  }

  const taken = (lines: readonly string[], count: number) =>
    untilAnswer(
      `${count} lines`,
      async () => lines.length,
      (length) => length === count,
    );

  it('come in order, also with pauses between them and letters cut in two', async () => {
    const [from, to] = await ends();
    const got: string[] = [];
    const lines = new SocketLines(
      to,
      BYTES_MAX,
      (line) => {
        got.push(line);
        lines.pause();
        setImmediate(() => lines.resume());
      },
      (error) => assert.fail(String(error)),
    );
    const sent = Array.from({ length: 500 }, (_, n) => `größer ${n} ${'x'.repeat(n)}`);
    const bytes = Buffer.from(`${sent.join('\n')}\n`);
    for (let at = 0; at < bytes.length; at += 777) from.write(bytes.subarray(at, at + 777));
    await taken(got, sent.length);
    assert.deepEqual(got, sent);
    from.destroy();
  });

  it('are not taken while they pause', async () => {
    const [from, to] = await ends();
    const got: string[] = [];
    const lines = new SocketLines(
      to,
      BYTES_MAX,
      (line) => {
        got.push(line);
        lines.pause();
      },
      (error) => assert.fail(String(error)),
    );
    from.write('one\ntwo\nthree\n');
    await taken(got, 1);
    await new Promise(setImmediate);
    assert.deepEqual(got, ['one']);
    lines.resume();
    assert.deepEqual(got, ['one', 'two']);
    from.destroy();
  });

  it('end at one that is too long, or that is refused, and the end of the connection is still seen', async () => {
    for (const [bad, why] of [
      ['x'.repeat(BYTES_MAX + 1), /longer than 100000 bytes/],
      ['bad', /refused/],
    ] as const) {
      const [from, to] = await ends();
      const got: string[] = [];
      const errors: unknown[] = [];
      const take = (line: string) => {
        if (line === 'bad') throw new Error('refused');
        got.push(line);
      };
      new SocketLines(to, BYTES_MAX, take, (error) => errors.push(error));
      from.end(`good\n${bad}\nlost\n${bad}\n`);
      await event('the connection ends', to, 'end');
      assert.deepEqual(got, ['good']);
      assert.equal(errors.length, 1);
      assert.match(String(errors[0]), why);
    }
  });
});
