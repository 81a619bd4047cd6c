import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type DaemonProcess, freePort, startDaemonProcess } from '../support/daemon-process.js';
import { HookHome } from '../support/hooks.js';
import { ModelServer } from '../support/model-server.js';
import { until } from '../support/wait.js';
import { run } from '../surface/cli/cli-process.js';

type Fields = Readonly<Record<string, unknown>>;

const SENTENCES = [
  'The shop is deployed on Sundays.',
  'Ann has the key.',
  'A rollback takes eleven minutes.',
];
const TEXT = `${SENTENCES.join(' ')} ${'Nobody deploys on other days without the lead. '.repeat(8)}`;
const saying = (texts: readonly string[]) => JSON.stringify({ atoms: texts });

describe('atomise in processes', { timeout: 240_000 }, () => {
  const home = new HookHome();
  let server: ModelServer;
  let daemon: DaemonProcess | null = null;
  before(async () => {
    server = await ModelServer.start('compatible', { key: 'sk-of-the-daemon' });
  });
  beforeEach(() => {
    Object.assign(server, { mood: 'fine', script: [], says: saying(SENTENCES) });
    server.asked.length = 0;
  });
  after(async () => {
    await daemon?.end('SIGTERM');
    await server.close();
  });

  const start = async () => {
    daemon = await startDaemonProcess(home.home, await freePort(), { ...server.environment });
    return daemon;
  };
  const post = async ({ base }: DaemonProcess, path: string, body: object) => {
    const answer = await fetch(`${base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:alice' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Fields };
  };
  const store = async (running: DaemonProcess, title: string, content = TEXT) => {
    const { body } = await post(running, '/memories', { title, content, namespace: 'team' });
    return String(body['id']);
  };
  const contents = async ({ base }: DaemonProcess, source: string) => {
    const answer = await fetch(`${base}/memories?namespace=team&limit=100`, {
      headers: { 'x-agent-id': 'ai:alice' },
    });
    const { memories } = (await answer.json()) as { memories: (Fields & { metadata: Fields })[] };
    return memories
      .filter(({ metadata }) => metadata['atom_source_id'] === source)
      .map(({ content }) => String(content))
      .sort();
  };

  for (const kept of [0, 1, 2]) {
    it(`killed after ${kept} atoms goes on behind them`, async () => {
      const [reached, hold] = [join(home.home, 'reached'), join(home.home, 'hold')];
      rmSync(reached, { force: true });
      const command = home.node(
        `const { existsSync, writeFileSync } = require('node:fs');`,
        `const text = require('node:fs').readFileSync(0, 'utf8');`,
        `if (text.includes(${JSON.stringify(SENTENCES[kept])}) && text.includes('[atom]') && existsSync('${hold}')) {`,
        `  writeFileSync('${reached}', ''); setTimeout(() => {}, 20000);`,
        `}`,
      );
      home.register({ event: 'pre_store', command, timeout_ms: 20_000 });
      const first = await start();
      const id = await store(first, `Killed after ${kept}`);
      writeFileSync(hold, '');
      const lost = post(first, '/memory_atomise', { memory_id: id, max_atom_tokens: 50 }).catch(() => null);
      await until('the hook holds the atom', () => existsSync(reached));
      await first.end('SIGKILL');
      await lost;
      rmSync(hold);
      const second = await start();
      assert.deepEqual(await contents(second, id), SENTENCES.slice(0, kept).sort());
      server.says = saying(SENTENCES.slice(kept));
      const again = await post(second, '/memory_atomise', { memory_id: id, max_atom_tokens: 50 });
      assert.deepEqual([again.status, again.body['atom_count']], [200, 3], JSON.stringify(again.body));
      assert.deepEqual(await contents(second, id), [...SENTENCES].sort());
      await second.end('SIGTERM');
      daemon = null;
    });
  }

  it('killed while the model is asked leaves nothing', async () => {
    const first = await start();
    const id = await store(first, 'Killed while asked');
    server.mood = 'hang';
    const lost = post(first, '/memory_atomise', { memory_id: id, max_atom_tokens: 50 }).catch(() => null);
    await until('the model is asked', () => server.asked.length === 1);
    await first.end('SIGKILL');
    await lost;
    server.mood = 'fine';
    const second = await start();
    assert.deepEqual(await contents(second, id), []);
    const { body } = await post(second, '/memory_atomise', { memory_id: id, max_atom_tokens: 50 });
    assert.equal(body['atom_count'], 3);
  });

  it('ends with the exit codes of the command', async () => {
    const running = daemon ?? (await start());
    const exit = async (words: readonly string[]) => {
      const env = { ...server.environment, SVC_AGENT_ID: 'ai:alice' };
      return (await run(home.home, words, { env })).code;
    };
    const id = await store(running, 'By command');
    const split = ['--max-atom-tokens', '50'];
    assert.equal(await exit(['atomise', id, ...split]), 0);
    assert.equal(await exit(['atomise', id, ...split, '--json']), 1);
    assert.equal(await exit(['atomise', await store(running, 'Small', 'short')]), 1);
    assert.equal(await exit(['atomise', '00000000-0000-4000-8000-000000000000']), 2);
    server.says = 'no';
    assert.equal(await exit(['atomise', id, ...split, '--force']), 4);
    assert.equal(await exit(['ingest-multistep', '--content', 'One.']), 1);
    server.says = '{"items":["One."]}';
    assert.equal(await exit(['ingest-multistep', '--content', 'One.', '--pipeline-variant', 'four_step']), 0);
  });
});
