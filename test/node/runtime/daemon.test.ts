import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { createConnection } from 'node:net';
import { describe, it } from 'node:test';
import { ConfigError } from '../../../node/config/load-settings.js';
import { startDaemon } from '../../../node/runtime/daemon.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { event, until } from '../../support/wait.js';
import { ask, BesideDatabase, settingsFor } from './support.js';

describe('a daemon', () => {
  it('does not listen beyond loopback without an API key, and makes nothing before it refuses', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.org', '127.0.0.1.example.org']) {
      const home = temporaryFolder('daemon');
      await assert.rejects(startDaemon(settingsFor(home, { host })), ConfigError, host);
      assert.deepEqual(readdirSync(home), []);
    }
  });

  it('listens beyond loopback with an API key', async () => {
    const home = temporaryFolder('daemon');
    const daemon = await startDaemon(settingsFor(home, { host: '0.0.0.0', apiKey: 'k' }));
    assert.equal((await ask(daemon.address.port, 'GET', '/memories')).status, 401);
    assert.equal((await ask(daemon.address.port, 'GET', '/memories?api_key=k')).status, 200);
    await daemon.stop();
  });

  it('leaves nothing running when its port is taken', async () => {
    const home = temporaryFolder('daemon');
    const daemon = await startDaemon(settingsFor(home));
    const other = settingsFor(temporaryFolder('daemon'), { port: daemon.address.port });
    await assert.rejects(startDaemon(other), { code: 'EADDRINUSE' });
    assert.deepEqual(
      readdirSync(other.home).filter((name) => name.endsWith('-wal')),
      [],
      'its database is closed',
    );
    const beside = new BesideDatabase(other.home);
    assert.equal(beside.owner(), null, 'it never claimed what it could not serve');
    beside.close();
    assert.equal((await ask(daemon.address.port, 'GET', '/memories')).status, 200);
    await daemon.stop();
  });

  it('shares its database with another: both serve, one owns it, and the other takes over at its end', async () => {
    const home = temporaryFolder('daemon');
    const settings = settingsFor(home);
    const first = await startDaemon(settings);
    const beside = new BesideDatabase(home);
    await until('the first owns it', () => beside.livingRole() === 'daemon');
    const { holder } = beside.owner()!;
    const second = await startDaemon(settings);
    const ports = [first.address.port, second.address.port] as const;
    const writes = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        ask(ports[n % 2]!, 'POST', '/memories', { title: `t${n}`, content: 'c' }),
      ),
    );
    assert.deepEqual([...new Set(writes.map((write) => write.status))], [201]);
    for (const [n, write] of writes.entries()) {
      const read = await ask(ports[(n + 1) % 2]!, 'GET', `/memories/${write.body['id']}`);
      assert.equal(read.status, 200, 'one serves what the other took');
    }
    assert.equal(beside.owner()!.holder, holder);

    await first.stop();
    await until('the second owns it', () => beside.livingRole() === 'daemon');
    const next = beside.owner()!;
    assert.notEqual(next.holder, holder);
    assert.equal(next.fencing, 2);
    assert.equal((await ask(ports[1], 'GET', '/memories')).status, 200);
    await second.stop();
    beside.close();
    assert.deepEqual(auditLog(settings.dbPath), []);
  });

  it('collects what expired, after hiding it at once', async () => {
    const home = temporaryFolder('daemon');
    const daemon = await startDaemon(settingsFor(home));
    const { port } = daemon.address;
    const made = await ask(port, 'POST', '/memories', { title: 'soon gone', content: 'c', ttl_secs: 1 });
    const kept = await ask(port, 'POST', '/memories', { title: 'stays', content: 'c' });
    const id = made.body['id'] as string;
    const beside = new BesideDatabase(home);
    await new Promise((resume) => setTimeout(resume, 1000));
    assert.equal((await ask(port, 'GET', `/memories/${id}`)).status, 404);
    await until('it is collected', () => beside.count('memories', id) === 0);
    assert.equal(beside.count('archived_memories', id), 1);
    assert.equal(beside.count('tombstones', id), 1);
    assert.equal(beside.count('memories', kept.body['id'] as string), 1);
    await daemon.stop();
    beside.close();
  });

  it('answers what is under way before it stops, and ends with 0, however often it is told', async () => {
    const home = temporaryFolder('daemon');
    const settings = settingsFor(home);
    const daemon = await startDaemon(settings);
    const { port } = daemon.address;
    const body = JSON.stringify({ title: 'slow', content: 'sent in two parts' });
    const socket = createConnection(port, '127.0.0.1');
    socket.setEncoding('utf8');
    let answer = '';
    socket.on('data', (text: string) => {
      answer += text;
    });
    socket.write(
      `POST /api/v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
    );
    const inflight = async () => {
      const metrics = await fetch(`http://127.0.0.1:${port}/metrics`);
      return (await metrics.text()).includes('svc_requests_inflight 2\n');
    };
    await until('the request is under way', inflight);
    const [first, second] = [daemon.stop(), daemon.stop()];
    const refused = () =>
      ask(port, 'GET', '/health').then(
        () => false,
        () => true,
      );
    await until('new connections are refused', refused);
    const ended = event('the answered connection ends', socket, 'close');
    socket.write(body.slice(9));
    await ended;
    assert.match(answer, /^HTTP\/1\.1 201 /);
    await Promise.all([first, second]);
    assert.equal(await daemon.stopped, 0);
    await daemon.stop();
    const { id } = JSON.parse(answer.slice(answer.indexOf('{'))) as { id: string };
    const beside = new BesideDatabase(home);
    assert.equal(beside.count('memories', id), 1);
    beside.close();
    assert.deepEqual(auditLog(settings.dbPath), []);
  });

  it('writes the touches of its recalls when it stops', async () => {
    const home = temporaryFolder('daemon');
    const daemon = await startDaemon(settingsFor(home));
    const { port } = daemon.address;
    const made = await ask(port, 'POST', '/memories', { title: 'ferry', content: 'leaves at noon' });
    const recalled = await ask(port, 'POST', '/recall', { context: 'ferry' });
    assert.equal(recalled.body['count'], 1);
    await daemon.stop();
    const beside = new BesideDatabase(home);
    assert.equal(beside.accessCount(made.body['id'] as string), 1);
    beside.close();
  });
});
