import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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

const ROWS = 12;
const ROUNDS = 15;

type Body = Record<string, unknown>;

/** Errors that a race may rightly answer with; anything else is a defect. */
const EXPECTED = new Set(['NOT_FOUND', 'CONFLICT', 'ARCHIVE_RESTORE_COLLISION', 'VERSION_CONFLICT']);

describe('two processes on the life of the same rows', { timeout: 120_000 }, () => {
  it('archive, restore, consolidate, update and delete lose nothing', async () => {
    const home = temporaryFolder('life-race');
    const daemon = await startDaemonProcess(home, await freePort());
    const client = new Client({ name: 'race', version: '1' });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [MAIN, 'mcp', '--profile', 'full'],
        env: cleanEnvironment(home) as Record<string, string>,
      }),
    );
    const check = (body: Body) => {
      const { code } = body as { code?: string };
      if (code !== undefined) assert.ok(EXPECTED.has(code), JSON.stringify(body));
      return body;
    };
    const mcp = async (name: string, input: Body) => {
      const result = await client.callTool({ name, arguments: input });
      return check(JSON.parse((result.content as { text: string }[])[0]!.text) as Body);
    };

    const ids: string[] = [];
    for (let n = 0; n < ROWS; n += 1) {
      const { id } = await mcp('memory_store', { title: `row ${n}`, content: `text ${n}`, metadata: {} });
      ids.push(String(id));
    }
    // The daemon's callers name the agent that owns the rows.
    const agent = String(
      ((await mcp('memory_get', { id: ids[0]! })) as { metadata: Body }).metadata['agent_id'],
    );
    const owned = (method: string, path: string, body?: unknown) =>
      fetch(`${daemon.base}${path}`, {
        method,
        headers: { 'content-type': 'application/json', 'x-agent-id': agent },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).then(async (response) => check((await response.json()) as Body));

    let joined = 0;
    const pick = (round: number, step: number) => ids[(round * 5 + step * 7) % ROWS]!;
    const daemonSide = async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await owned('POST', '/archive', [pick(round, 0), pick(round, 1)]);
        await owned('PUT', `/memories/${pick(round, 2)}`, { content: `by http ${round}` });
        await owned('POST', `/archive/${pick(round, 0)}/restore`);
        await owned('DELETE', `/memories/${pick(round, 3)}`);
        const pair = [pick(round, 4), pick(round, 5)];
        const done = await owned('POST', '/consolidate', { ids: pair, title: `http sum ${round}` });
        if (done['id'] !== undefined) joined += 1;
      }
    };
    const mcpSide = async () => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await mcp('memory_archive_restore', { id: pick(round, 1) });
        const pair = [pick(round, 5), pick(round, 6)];
        const done = await mcp('memory_consolidate', { ids: pair, title: `mcp sum ${round}` });
        if (done['id'] !== undefined) joined += 1;
        await mcp('memory_update', { id: pick(round, 4), content: `by mcp ${round}` });
        await mcp('memory_archive_restore', { id: pick(round, 3) });
        await mcp('memory_archive_restore', { id: pick(round, 5) });
      }
    };
    await Promise.all([daemonSide(), mcpSide()]);
    assert.ok(joined > 0, 'some consolidations went through');

    await client.close();
    await daemon.end('SIGTERM');
    const path = `${home}/mnemesh.db`;
    assert.deepEqual(auditLog(path), []);
    const after = openBeside({ path });
    const places = after.prepare(
      `SELECT (SELECT count(*) FROM memories WHERE id = @id) + (SELECT count(*) FROM archived_memories WHERE id = @id) AS n`,
    );
    for (const id of ids) assert.deepEqual(places.get({ id }), { n: 1 }, `${id} is in exactly one place`);
    const sums = after.prepare("SELECT count(*) AS n FROM memories WHERE source = 'consolidation'").get() as {
      n: number;
    };
    assert.equal(sums.n, joined, 'every acknowledged consolidation stands');
    const sources = after
      .prepare(
        "SELECT count(*) AS n FROM operations WHERE kind = 'archive' AND payload LIKE '%\"consolidate\"%'",
      )
      .get() as { n: number };
    assert.equal(sources.n, 2 * joined, 'every consolidation took both its sources, and no other');
    after.close();
  });
});
