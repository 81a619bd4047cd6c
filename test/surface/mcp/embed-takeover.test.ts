import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { until } from '../../support/wait.js';
import { McpProcess, textOf } from './mcp-process.js';

const WITHIN_MS = 1000;
const ENV = { SVC_EMBED_BACKEND: 'builtin' };
const NOTES = [
  ['Pet', 'The cat sleeps on the sofa.'],
  ['Finance', 'Quarterly revenue grew by eight percent.'],
] as const;

const answerOf = async (server: McpProcess, id: number, name: string, args: object) =>
  JSON.parse(textOf(await server.call(id, name, args))) as Record<string, unknown>;

describe('two MCP servers on one database', () => {
  it('recall by meaning within a second after the one that embeds was killed', async () => {
    const home = temporaryFolder('takeover');
    const first = new McpProcess({ home, env: ENV });
    await first.request(1, 'initialize', {});
    for (const [at, [title, content]] of NOTES.entries()) {
      await first.call(10 + at, 'memory_store', { title, content });
    }
    let id = 100;
    await until('the first embeds', async () => {
      id += 1;
      const { embedding } = (await answerOf(first, id, 'memory_capabilities', {})) as {
        embedding: { embedded: number };
      };
      return embedding.embedded === NOTES.length;
    });
    const second = new McpProcess({ home, env: ENV });
    await second.request(1, 'initialize', {});
    const recall = async (context: string) => {
      id += 1;
      return await answerOf(second, id, 'memory_recall', { context, format: 'json' });
    };
    const before = await recall('a kitten on the couch');
    assert.equal(before['mode'], 'hybrid', JSON.stringify(before));

    first.child.kill('SIGKILL');
    await first.ended;
    const killedMs = performance.now();
    const after = await recall('where does the kitten nap?');
    const tookMs = performance.now() - killedMs;
    assert.equal(after['mode'], 'hybrid', JSON.stringify(after));
    assert.equal((after['memories'] as { title: string }[])[0]!.title, 'Pet');
    assert.ok(tookMs < WITHIN_MS, `${tookMs} ms`);
    await second.end();
  });
});
