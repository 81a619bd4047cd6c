import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { event } from '../../support/wait.js';
import { McpProcess, textOf } from './mcp-process.js';

const STORE = { name: 'memory_store', arguments: { title: 'owed', content: 'x' } };

describe('the end of an MCP server', () => {
  it('comes at the end of input, after every answer that is owed', async () => {
    const server = new McpProcess();
    server.send({ id: 1, method: 'initialize', params: {} });
    server.send({ id: 2, method: 'tools/call', params: STORE });
    // The last line has no line feed.
    server.raw('{"jsonrpc":"2.0","id":3,"method":"tools/list"}');
    assert.equal(await server.end(), 0);
    assert.deepEqual(server.messages.map(({ id }) => id).sort(), [1, 2, 3]);
    assert.ok(server.messages.every(({ result }) => result !== undefined));
  });

  it('comes at the end of input when nothing was said', async () => {
    assert.equal(await new McpProcess().end(), 0);
  });

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`comes with ${signal}, after every answer that is owed`, async () => {
      const server = new McpProcess();
      await server.request(1, 'initialize', {});
      server.send({ id: 2, method: 'tools/call', params: STORE });
      server.send({ id: 3, method: 'ping' });
      await server.answer(3);
      server.child.kill(signal);
      assert.equal(await server.ended, 0);
      assert.ok(textOf(await server.answer(2)).includes('"title":"owed"'));
    });
  }

  it('comes when nobody reads its answers any more', async () => {
    const server = new McpProcess();
    await server.request(1, 'initialize', {});
    server.child.stdout.destroy();
    // The pipe is only found broken by a write.
    server.send({ id: 2, method: 'ping' });
    assert.equal(await server.ended, 0);
  });

  it('comes when its parent is killed, though the stream stays open', async () => {
    const program = `
      const { spawn } = require('node:child_process');
      spawn(process.execPath, [${JSON.stringify(MAIN)}, 'mcp'], { stdio: 'inherit' });
      setInterval(() => {}, 1000);
    `;
    // A pipe that its reader holds open for writing too never ends.
    const home = temporaryFolder('mcp-parent');
    execFileSync('mkfifo', [join(home, 'input')]);
    const input = openSync(join(home, 'input'), 'r+');
    const parent = spawn(process.execPath, ['-e', program], {
      env: cleanEnvironment(home),
      stdio: [input, 'pipe', 'ignore'],
    });
    writeSync(input, '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n');
    await event('the server answers', parent.stdout!, 'data');
    const end = event('the server closes its output', parent.stdout!, 'close');
    parent.kill('SIGKILL');
    await event('the parent is gone', parent, 'exit');
    // The server holds the other end of this pipe as well: it closes when the server is gone.
    await end;
    closeSync(input);
  });

  it('refuses an unknown profile with exit code 2 and says nothing on standard output', async () => {
    const server = new McpProcess({ args: ['--profile', 'everything'] });
    assert.equal(await server.ended, 2);
    assert.match(
      server.errors,
      /--profile: "everything" is no profile and no family: the profiles are core, graph/,
    );
    assert.deepEqual(server.messages, []);
  });

  it('tells a client why the memory cannot be opened, and lives on', async () => {
    const server = new McpProcess({ env: { SVC_STORE_URL: '', SVC_DB: '/dev/null/nowhere.db' } });
    const answer = await server.call(1, 'memory_list');
    assert.equal(answer.result?.['isError'], true);
    assert.equal(JSON.parse(textOf(answer)).code, 'UNAVAILABLE');
    assert.deepEqual((await server.request(2, 'ping')).result, {});
    assert.equal(await server.end(), 0);
  });
});
