import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Daemon, startDaemon } from '../../../node/runtime/daemon.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { EmbeddingServer } from '../../support/embedding-server.js';
import { until, untilAnswer } from '../../support/wait.js';
import { ask, settingsFor } from './support.js';

interface Embedding {
  readonly encoder: string | null;
  readonly dim: number;
  readonly embedded: number;
  readonly pending: number;
  readonly failed: number;
  readonly truncated: number;
  readonly coming: { readonly model: string; readonly done: number; readonly of: number } | null;
  readonly advice: readonly string[];
}

const ROWS = 12;
/** A busy machine takes long to load a model. */
const LOADS_WITHIN_MS = 60_000;
const BUILTIN = { embedBackend: 'builtin' } as const;

const remote = (
  server: EmbeddingServer,
  model = 'model-a',
  backend: 'compatible' | 'local-native' = 'compatible',
) => ({
  embedBackend: backend,
  embedBaseUrl: server.url,
  embedModel: model,
  embedDim: server.dim,
  embedBackfillBatch: 1,
});

async function embeddingOf(daemon: Daemon): Promise<Embedding> {
  return (await ask(daemon.address.port, 'GET', '/capabilities')).body['embedding'] as Embedding;
}

async function recall(daemon: Daemon, context: string) {
  const { body } = await ask(daemon.address.port, 'POST', '/recall', { context });
  const { mode, note, meta, memories } = body as {
    mode: string;
    note?: string;
    meta: { semantic?: string };
    memories: { title: string }[];
  };
  return { mode, note, semantic: meta.semantic, titles: memories.map(({ title }) => title) };
}

async function storeRows(daemon: Daemon): Promise<void> {
  const { port } = daemon.address;
  for (let at = 0; at < ROWS - 1; at += 1) {
    const { status } = await ask(port, 'POST', '/memories', {
      title: `note ${at}`,
      content: `Invoice ${at} was paid.`,
    });
    assert.equal(status, 201);
  }
  await ask(port, 'POST', '/memories', { title: 'Pet', content: 'The cat sleeps on the sofa.' });
}

const embedded = (daemon: Daemon, encoder: string) =>
  untilAnswer(
    `${encoder} is searched`,
    () => embeddingOf(daemon),
    (found) =>
      found.encoder === encoder && found.coming === null && found.embedded === ROWS && found.pending === 0,
    { withinMs: LOADS_WITHIN_MS },
  );

describe('a change of the encoder on a filled database', () => {
  it('searches the old vectors until the new ones are complete, and continues after a restart', async () => {
    const home = temporaryFolder('change');
    const server = await EmbeddingServer.start('compatible');
    const old = await startDaemon(settingsFor(home, BUILTIN));
    await storeRows(old);
    await embedded(old, 'builtin/use-multilingual-3');
    await old.stop();

    server.delayMs = 500;
    const between = await startDaemon(settingsFor(home, remote(server)));
    await until('some are done', async () => ((await embeddingOf(between)).coming?.done ?? 0) >= 3);
    const during = await embeddingOf(between);
    assert.equal(during.encoder, 'builtin/use-multilingual-3');
    assert.equal(during.coming?.model, 'compatible/model-a');
    assert.match(during.advice.join(), /of 12 memories are embedded for compatible\/model-a/);
    // The model of the old encoder must be loaded first.
    const found = await untilAnswer(
      'the old vectors are searched',
      () => recall(between, 'a kitten on the couch'),
      ({ mode }) => mode === 'hybrid',
      { withinMs: LOADS_WITHIN_MS },
    );
    assert.equal(found.titles[0], 'Pet');
    assert.notEqual((await embeddingOf(between)).coming, null);
    await between.stop();

    const asked = server.asked.length;
    server.delayMs = 0;
    const next = await startDaemon(settingsFor(home, remote(server)));
    await embedded(next, 'compatible/model-a');
    const texts = server.asked.slice(asked).flatMap(({ body }) => body['input'] as string[]);
    assert.ok(
      texts.filter((text) => text.includes('Invoice')).length < ROWS - 2,
      'what was done is not done again',
    );
    const after = await recall(next, 'a kitten naps');
    assert.deepEqual([after.mode, after.titles[0]], ['hybrid', 'Pet']);
    assert.equal((await embeddingOf(next)).dim, server.dim);
    await next.stop();
    await server.close();
  });

  it('embeds what is stored or edited meanwhile for both', async () => {
    const home = temporaryFolder('change-writes');
    const server = await EmbeddingServer.start('compatible');
    const old = await startDaemon(settingsFor(home, BUILTIN));
    await storeRows(old);
    await embedded(old, 'builtin/use-multilingual-3');
    await old.stop();
    server.delayMs = 40;
    const daemon = await startDaemon(settingsFor(home, remote(server)));
    const { port } = daemon.address;
    await until('some are done', async () => ((await embeddingOf(daemon)).coming?.done ?? 0) >= 2);
    const listed = await ask(port, 'GET', '/memories?limit=50');
    const first = (listed.body['memories'] as { id: string; title: string }[]).find(
      ({ title }) => title === 'note 0',
    );
    const edited = await ask(port, 'PUT', `/memories/${first!.id}`, {
      content: 'A zebra crossed the street.',
    });
    assert.equal(edited.status, 200);
    await until('both are done', async () => {
      const { coming, pending, encoder } = await embeddingOf(daemon);
      return coming === null && pending === 0 && encoder === 'compatible/model-a';
    });
    const texts = server.asked.flatMap(({ body }) => body['input'] as string[]);
    assert.ok(texts.some((text) => text.includes('zebra')));
    await daemon.stop();
    await server.close();
  });

  it('goes from one service to another model of it, and keeps nothing of a model that cannot be asked', async () => {
    const home = temporaryFolder('change-model');
    const server = await EmbeddingServer.start('native');
    const first = await startDaemon(settingsFor(home, remote(server, 'model-a', 'local-native')));
    await storeRows(first);
    await embedded(first, 'local-native/model-a');
    await first.stop();
    const second = await startDaemon(settingsFor(home, remote(server, 'model-b', 'local-native')));
    await embedded(second, 'local-native/model-b');
    await second.stop();
    const other = await EmbeddingServer.start('compatible', { dim: 24 });
    other.mood = 'broken';
    const third = await startDaemon(settingsFor(home, remote(other, 'model-c')));
    await until('it was asked', () => other.asked.length > 0);
    assert.equal(
      (await embeddingOf(third)).encoder,
      'local-native/model-b',
      'an encoder that fails replaces nothing',
    );
    assert.deepEqual((await recall(third, 'cat')).titles[0], 'Pet');
    await third.stop();
    other.mood = 'fine';
    const fourth = await startDaemon(settingsFor(home, remote(other, 'model-c')));
    await embedded(fourth, 'compatible/model-c');
    assert.equal((await recall(fourth, 'kitten')).mode, 'hybrid');
    await fourth.stop();
    await Promise.all([server.close(), other.close()]);
  });
});

describe('a service that embeds', () => {
  it('goes and comes back while the node runs, and the node says so', async () => {
    const server = await EmbeddingServer.start('compatible');
    const { port: at } = server;
    const daemon = await startDaemon(settingsFor(temporaryFolder('service'), remote(server)));
    await storeRows(daemon);
    await embedded(daemon, 'compatible/model-a');
    assert.equal((await recall(daemon, 'kitten')).mode, 'hybrid');
    await server.close();
    const without = await recall(daemon, 'the cat');
    assert.deepEqual([without.mode, without.semantic, without.titles[0]], ['keyword', 'failing', 'Pet']);
    assert.match(without.note!, /words only/);
    const { body } = await ask(daemon.address.port, 'GET', '/capabilities');
    assert.deepEqual([body['recall_mode_active'], body['embedder_loaded']], ['degraded', false]);
    assert.match(String(body['embedder_error']), /127\.0\.0\.1/);
    const again = await EmbeddingServer.start('compatible', { port: at });
    assert.equal((await recall(daemon, 'a kitten naps')).mode, 'hybrid');
    assert.equal(
      (await ask(daemon.address.port, 'GET', '/capabilities')).body['recall_mode_active'],
      'hybrid',
    );
    await daemon.stop();
    await again.close();
  });

  it('refuses one memory, and the others are embedded', async () => {
    const server = await EmbeddingServer.start('native');
    server.refuses = 'Invoice 3';
    const settings = { ...remote(server, 'model-a', 'local-native'), embedBackfillBatch: 8 };
    const daemon = await startDaemon(settingsFor(temporaryFolder('poison'), settings));
    await storeRows(daemon);
    await until('all others are embedded', async () => {
      const { embedded: count, failed, pending } = await embeddingOf(daemon);
      return count === ROWS - 1 && failed === 1 && pending === 0;
    });
    assert.match((await embeddingOf(daemon)).advice.join(), /1 memories were refused/);
    assert.equal((await recall(daemon, 'Invoice 3')).titles[0], 'note 3');
    await daemon.stop();
    await server.close();
  });
});
