import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  cleanEnvironment,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { auditLog } from '../support/log-audit.js';
import { openBeside } from '../support/test-store.js';

const run = promisify(execFile);

/** Writes of each of the four; the long form is the issue's. */
export async function manyProcesses(each: number): Promise<void> {
  const home = temporaryFolder('processes');
  const env = cleanEnvironment(home);
  const daemon = await startDaemonProcess(home, await freePort());
  const overMcp = async (name: string) => {
    const client = new Client({ name, version: '1' });
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [MAIN, 'mcp'], env: env as never }),
    );
    for (let n = 0; n < each; n += 1) {
      const result = await client.callTool({
        name: 'memory_store',
        arguments: { title: `${name} ${n}`, content: `written by ${name}` },
      });
      assert.ok(result.isError !== true, JSON.stringify(result));
    }
    await client.close();
  };
  const overHttp = async () => {
    for (let n = 0; n < each; n += 1) {
      const response = await fetch(`${daemon.base}/memories`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ title: `http ${n}`, content: 'written over http' }),
      });
      assert.equal(response.status, 201, await response.text());
    }
  };
  const overCli = async () => {
    for (let n = 0; n < each; n += 1) {
      await run(
        process.execPath,
        [MAIN, 'store', '--title', `cli ${n}`, '--content', 'written by a command'],
        {
          env,
        },
      );
    }
  };
  await Promise.all([overMcp('mcp-one'), overMcp('mcp-two'), overHttp(), overCli()]);
  assert.equal(await daemon.end('SIGTERM'), 0, daemon.errors());
  const path = join(home, 'mnemesh.db');
  assert.deepEqual(auditLog(path), []);
  const db = openBeside({ path });
  const count = (sql: string) => (db.prepare(sql).get() as { n: number }).n;
  assert.equal(count('SELECT count(*) AS n FROM memories'), 4 * each);
  assert.equal(count('SELECT count(*) AS n FROM operations'), 4 * each);
  db.close();
}
