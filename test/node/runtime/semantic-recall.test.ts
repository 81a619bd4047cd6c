import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { memoryRecall } from '../../../node/operations/core/memory-recall.js';
import { memoryStore } from '../../../node/operations/core/memory-store.js';
import { memoryCapabilities } from '../../../node/operations/meta/memory-capabilities.js';
import type { OPERATIONS } from '../../../node/operations/registry.js';
import type { Services } from '../../../node/pipeline/call.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { startDaemon } from '../../../node/runtime/daemon.js';
import { openInlineNode } from '../../../node/runtime/inline-node.js';
import { systemClock, systemScheduler } from '../../../node/seams.js';
import { BuiltinEmbedder } from '../../../node/semantics/encoder/builtin-embedder.js';
import { LocalSemantics } from '../../../node/semantics/local-semantics.js';
import { VectorClient } from '../../../storage/vectors/vector-client.js';
import { recordingLog } from '../../storage/vectors/real-seams.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { OPERATOR } from '../../support/memories.js';
import { until, untilAnswer } from '../../support/wait.js';
import { ask, settingsFor } from './support.js';

const caller = {
  agentId: 'ai:me',
  claimed: 'explicit',
  viewer: OPERATOR,
  admin: false,
  local: true,
} as const;

async function run(
  services: Services,
  operation: (typeof OPERATIONS)[number],
  input: Record<string, unknown>,
) {
  const answer = await runOperation(
    operation,
    { surface: 'mcp', caller, input, unknownFields: 'refuse' },
    services,
  );
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value;
}

const titles = (body: Record<string, unknown>) =>
  (body['memories'] as { title: string }[]).map((memory) => memory.title);

describe('recall by meaning', () => {
  it('finds what shares no word with the question, for the owner and for a process beside it', async () => {
    const home = temporaryFolder('semantic');
    const settings = settingsFor(home, { embedBackend: 'builtin' });
    const daemon = await startDaemon(settings);
    const { port } = daemon.address;
    for (const [title, content] of [
      ['Pet', 'The cat sleeps on the sofa.'],
      ['Finance', 'Quarterly revenue grew by eight percent.'],
    ]) {
      const stored = await ask(port, 'POST', '/memories', { title, content });
      assert.equal(stored.status, 201);
    }
    await until('both are embedded', async () => {
      const { body } = await ask(port, 'GET', '/capabilities');
      return body['pending_embeddings'] === 0 && body['embedder_loaded'] === true;
    });
    const capabilities = await ask(port, 'GET', '/capabilities');
    assert.equal(capabilities.body['recall_mode_active'], 'hybrid');
    const context = 'where does my kitten nap';
    const recalled = await ask(port, 'POST', '/recall', { context });
    assert.equal(recalled.body['mode'], 'hybrid');
    assert.equal((recalled.body['meta'] as Record<string, unknown>)['recall_mode'], 'hybrid');
    assert.equal(titles(recalled.body)[0], 'Pet');

    // Another process on the database asks the owner over its socket.
    const beside = await openInlineNode(settings, 'cli');
    const asked = await run(beside.services, memoryRecall, { context });
    assert.equal(asked['mode'], 'hybrid');
    assert.equal(titles(asked)[0], 'Pet');

    await daemon.stop();
    assert.deepEqual(
      readdirSync(home).filter((name) => name.endsWith('.sock')),
      [],
    );
    // Without an owner this process embeds.
    const next = await untilAnswer(
      'a recall by meaning without an owner',
      () => run(beside.services, memoryRecall, { context }),
      (answer) => answer['mode'] === 'hybrid',
    );
    assert.equal(titles(next)[0], 'Pet');
    await beside.close();
  });

  it('answers by keyword and says so while the embedder fails', async () => {
    const home = temporaryFolder('semantic');
    const settings = settingsFor(home);
    const node = await openInlineNode(settings, 'cli');
    const log = recordingLog();
    const seams = { clock: systemClock, scheduler: systemScheduler };
    const entry = new URL('data:text/javascript,throw new Error("no weights here")');
    const embedder = new BuiltinEmbedder({ ...seams, log, entry });
    const vectors = new VectorClient({
      ...seams,
      place: { engine: 'sqlite', path: join(home, 'mnemesh.db'), synchronous: 'FULL' },
      model: embedder.model,
      dim: embedder.dim,
    });
    const semantic = new LocalSemantics(embedder, vectors, node.services.store, systemClock);
    const services: Services = { ...node.services, semantic };
    await run(services, memoryStore, { title: 'Pet', content: 'The cat sleeps on the sofa.' });

    assert.equal(
      await semantic.evidence({ query: 'a cat', contextTokens: [], namespace: null, viewer: OPERATOR }),
      'failing',
    );
    const recalled = await run(services, memoryRecall, { context: 'a cat' });
    assert.equal(recalled['mode'], 'keyword');
    assert.deepEqual(titles(recalled), ['Pet']);
    const meta = recalled['meta'] as Record<string, unknown>;
    assert.deepEqual([meta['recall_mode'], meta['semantic']], ['keyword_only', 'failing']);

    const capabilities = await run(services, memoryCapabilities, {});
    assert.equal(capabilities['recall_mode_active'], 'degraded');
    assert.equal(capabilities['embedder_loaded'], false);
    assert.equal(capabilities['tier'], 'keyword');
    assert.equal(capabilities['embedder_error'], 'no weights here');
    await semantic.close();
    await node.close();
  });

  it('is switched off by the setting, and said to be', async () => {
    const home = temporaryFolder('semantic');
    const node = await openInlineNode(settingsFor(home), 'mcp');
    const recalled = await run(node.services, memoryRecall, { context: 'a cat' });
    assert.equal((recalled['meta'] as Record<string, unknown>)['semantic'], 'disabled');
    const capabilities = await run(node.services, memoryCapabilities, {});
    assert.equal(capabilities['recall_mode_active'], 'keyword_only');
    await node.close();
  });
});
