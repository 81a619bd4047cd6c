import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { EmbeddingServer } from '../../support/embedding-server.js';
import { run } from './cli-process.js';

describe('a command on a machine without a daemon', () => {
  const commands =
    (home: string, env: Record<string, string>) =>
    async (...args: string[]) => {
      const { code, out, err } = await run(home, args, { env });
      assert.equal(code, 0, err);
      return { out, err };
    };

  it('finds by meaning what another command stored', async () => {
    const mnemesh = commands(temporaryFolder('here'), { SVC_EMBED_BACKEND: 'builtin' });
    await mnemesh('store', '--title', 'Pet', '--content', 'The cat sleeps on the sofa.');
    await mnemesh('store', '--title', 'Finance', '--content', 'Quarterly revenue grew by eight percent.');
    const { out } = await mnemesh('recall', 'a kitten naps', '--json');
    const answer = JSON.parse(out);
    assert.equal(answer.mode, 'hybrid', out);
    assert.equal(answer.memories[0].title, 'Pet');
    assert.match((await mnemesh('recall', 'a kitten naps')).out, /hybrid recall/);
  });

  it('says in one line, in every format, that it searched by words only', async () => {
    const server = await EmbeddingServer.start('native');
    const { url } = server;
    await server.close();
    const home = temporaryFolder('words');
    const mnemesh = commands(home, { SVC_EMBED_BACKEND: 'local-native', SVC_EMBED_BASE_URL: url });
    await mnemesh('store', '--title', 'Pet', '--content', 'The cat sleeps on the sofa.');
    const json = JSON.parse((await mnemesh('recall', 'cat', '--json')).out);
    assert.equal(json.mode, 'keyword');
    assert.match(json.note, /words only/);
    for (const [args, found] of [
      [['recall', 'cat'], /1 memory, keyword recall\nsearched by words only, .*\n$/],
      [['recall', 'zebra'], /no memories found, keyword recall\nsearched by words only, .*\n$/],
      [
        ['recall', 'cat', '--format', 'toon'],
        /^count:1\|mode:keyword\|note:searched by words only, [^|\n]*\|/,
      ],
      [['recall', 'cat', '--format', 'toon_compact'], /^count:1\|mode:keyword\|note:searched by words only/],
    ] as const) {
      assert.match((await mnemesh(...args)).out, found);
    }
  });

  it('embeds every memory again, for another encoder too, and says how far it came', async () => {
    const server = await EmbeddingServer.start('compatible', { dim: 48 });
    const home = temporaryFolder('reembed');
    const builtin = commands(home, { SVC_EMBED_BACKEND: 'builtin' });
    const env = {
      SVC_EMBED_BACKEND: 'compatible',
      SVC_EMBED_BASE_URL: server.url,
      SVC_EMBED_MODEL: 'all-minilm',
    };
    for (const title of ['one', 'two', 'three'])
      await builtin('store', '--title', title, '--content', 'a cat');
    const first = JSON.parse((await builtin('reembed', '--json')).out);
    assert.deepEqual(
      [first.embedded, first.skipped, first.failed, first.target_model, first.target_dim],
      [3, 0, 0, 'builtin/use-multilingual-3', 512],
    );
    // The model of that name has 384 dimensions, the server's 48.
    const refused = await run(home, ['reembed'], { env });
    assert.equal(refused.code, 75);
    assert.match(refused.err, /answers 48 dimensions, not 384: set \[embeddings\] dim = 48/);
    const { out } = await builtin('recall', 'a kitten', '--json');
    assert.equal(JSON.parse(out).mode, 'hybrid', 'the old vectors are searched');
    await server.close();
  });
});
