import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startDaemonHere } from '../support/daemon-here.js';
import { freePort, type RunningDaemon, temporaryFolder } from '../support/daemon-process.js';
import { until } from '../support/wait.js';
import { run } from './cli/cli-process.js';
import { McpProcess, textOf } from './mcp/mcp-process.js';

const env = { SVC_EMBED_BACKEND: 'builtin' };
const NOTES = [
  ['Office hours', 'The office is closed on Friday afternoon.'],
  ['Coffee machine', 'The machine in the kitchen is cleaned by the last guest.'],
  ['Parking', 'Guests leave their cars behind the building.'],
] as const;
const QUESTION = 'Wann ist das Büro geschlossen?';

describe('a German question', () => {
  const home = temporaryFolder('other-language');
  let daemon: RunningDaemon;
  const ask = async (path: string, body?: object) => {
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    };
    const answer = await fetch(`${daemon.base}${path}`, body === undefined ? {} : init);
    return (await answer.json()) as { memories: { title: string }[]; embedding: { embedded: number } };
  };

  before(async () => {
    daemon = await startDaemonHere(home, await freePort(), env);
    for (const [title, content] of NOTES) await ask('/memories', { title, content });
    await until('the notes are embedded', async () => {
      const { embedding } = await ask('/capabilities');
      return embedding.embedded === NOTES.length;
    });
  });
  after(() => daemon.end('SIGTERM'));

  it('finds an English note over HTTP', async () => {
    assert.equal((await ask('/recall', { context: QUESTION })).memories[0]?.title, 'Office hours');
  });

  it('finds it over MCP', async () => {
    const mcp = new McpProcess({ home, env });
    try {
      await mcp.request(1, 'initialize', {
        ...{ protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
      });
      const answer = await mcp.call(2, 'memory_recall', { context: QUESTION, format: 'json' });
      const { memories } = JSON.parse(textOf(answer)) as { memories: { title: string }[] };
      assert.equal(memories[0]?.title, 'Office hours');
    } finally {
      await mcp.end();
    }
  });

  it('finds it on the command line, beside the daemon and without it', async () => {
    const recalled = async () => {
      const { out, err, code } = await run(home, ['recall', QUESTION, '--json'], { env });
      assert.equal(code, 0, err);
      return (JSON.parse(out) as { memories: { title: string }[] }).memories[0]?.title;
    };
    assert.equal(await recalled(), 'Office hours');
    const alone = temporaryFolder('other-language-alone');
    for (const [title, content] of NOTES)
      assert.equal((await run(alone, ['store', '--title', title, '--content', content], { env })).code, 0);
    const { out } = await run(alone, ['recall', QUESTION, '--json'], { env });
    assert.equal((JSON.parse(out) as { memories: { title: string }[] }).memories[0]?.title, 'Office hours');
  });
});
