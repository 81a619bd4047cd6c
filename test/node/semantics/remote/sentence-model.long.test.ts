import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { SettingFlags } from '../../../../node/config/load-settings.js';
import { defaultsIn } from '../../../../node/config/settings.js';
import { startDaemon } from '../../../../node/runtime/daemon.js';
import { openEmbedder } from '../../../../node/semantics/open-embedder.js';
import { MemoryClient } from '../../../bench/memory-client.js';
import { dot } from '../../../storage/vectors/random-vectors.js';
import { realClock, realScheduler, recordingLog } from '../../../storage/vectors/real-seams.js';
import { temporaryFolder } from '../../../support/daemon-process.js';
import {
  installOnnxModel,
  installSentenceModel,
  type SentenceModel,
  SentenceServer,
} from '../../../support/sentence-model.js';
import { until } from '../../../support/wait.js';
import { ask, settingsFor } from '../../runtime/support.js';

const MODEL = 'all-MiniLM-L6-v2';
const FIXTURE = new URL('../../../../../fixtures/paraphrases.json', import.meta.url);
const ENTRIES = JSON.parse(readFileSync(FIXTURE, 'utf8')) as {
  query?: string;
  title: string;
  content: string;
}[];

/** Percent of the questions without a common word whose memory is among the first 1 and 3. */
async function paraphrases(
  embedded: SettingFlags,
): Promise<{ first: number; third: number; seconds: number }> {
  const client = await MemoryClient.open(temporaryFolder('paraphrases'), false, embedded);
  try {
    for (const { title, content } of ENTRIES) await client.store('paraphrases', title, content);
    const beganMs = performance.now();
    await client.embedAll(() => undefined);
    const seconds = (performance.now() - beganMs) / 1000;
    const places: number[] = [];
    for (const { query, title } of ENTRIES) {
      if (query === undefined) continue;
      const { titles, mode } = await client.recall('paraphrases', query, false);
      assert.equal(mode, 'hybrid');
      places.push(titles.indexOf(title));
    }
    const share = (cut: number) =>
      (100 * places.filter((place) => place >= 0 && place < cut).length) / places.length;
    return { first: share(1), third: share(3), seconds };
  } finally {
    await client.close();
  }
}

const figures = (name: string, { first, third, seconds }: Awaited<ReturnType<typeof paraphrases>>) =>
  `${name}: paraphrases top@1 ${first.toFixed(1)} %, top@3 ${third.toFixed(1)} %, embedded in ${seconds.toFixed(1)} s`;

describe('a real sentence model', () => {
  let model: SentenceModel;
  let server: SentenceServer | null = null;
  before(async () => {
    model = await installSentenceModel();
    if (model.problem === null) server = await SentenceServer.start(model);
  });
  after(() => server?.close());

  /** Null when the test is skipped. */
  function served(context: TestContext): SettingFlags | null {
    if (server !== null) return { embedBackend: 'compatible', embedBaseUrl: server.url, embedModel: MODEL };
    context.skip(model.problem ?? 'the model is not served');
    return null;
  }

  it('behind HTTP finds paraphrases at least as well as the built-in encoder', async (context) => {
    const settings = served(context);
    if (settings === null) return;
    const remote = await paraphrases(settings);
    const builtin = await paraphrases({ embedBackend: 'builtin' });
    context.diagnostic(figures('all-MiniLM-L6-v2 over HTTP', remote));
    context.diagnostic(figures('built in', builtin));
    assert.ok(remote.third >= 90, figures('remote', remote));
  });

  it('that is killed leaves recall by words, and says so', async (context) => {
    const settings = served(context);
    if (settings === null || model.problem !== null) return;
    const own = await SentenceServer.start(model);
    const daemon = await startDaemon(
      settingsFor(temporaryFolder('served'), { ...settings, embedBaseUrl: own.url }),
    );
    const { port } = daemon.address;
    await ask(port, 'POST', '/memories', { title: 'Pet', content: 'The cat sleeps on the sofa.' });
    await until('it is embedded', async () => {
      const { embedding } = (await ask(port, 'GET', '/capabilities')).body as {
        embedding: { embedded: number };
      };
      return embedding.embedded === 1;
    });
    const recall = async (context_: string) =>
      (await ask(port, 'POST', '/recall', { context: context_ })).body as Record<string, unknown>;
    assert.equal((await recall('a kitten naps'))['mode'], 'hybrid');
    await own.close();
    const without = await recall('which cat sleeps?');
    assert.equal(without['mode'], 'keyword');
    assert.match(String(without['note']), /words only/);
    assert.equal(without['count'], 1);
    await daemon.stop();
  });

  it('in a folder answers the vectors of the served one, as far as its numbers are as fine', async (context) => {
    const settings = served(context);
    if (settings === null || model.problem !== null) return;
    const home = temporaryFolder('onnx-home');
    const local = await installOnnxModel(model, home);
    if (local.problem !== null) return context.skip(local.problem);
    const folder: SettingFlags = { embedBackend: 'onnx', embedModelFolder: local.folder, home };
    const seams = { clock: realClock, scheduler: realScheduler, log: recordingLog() };
    const embedders = await Promise.all(
      [settings, folder].map((flags) => openEmbedder({ ...defaultsIn(home), ...flags } as never, seams)),
    );
    const texts = ENTRIES.map(({ title, content }) => `${title} ${content}`);
    const [remote, onnx] = await Promise.all(
      embedders.map(async (opened) => {
        assert.ok(opened.ok, JSON.stringify(opened));
        const embedded = await opened.value.embed(texts);
        await opened.value.close();
        assert.ok(embedded.ok, JSON.stringify(embedded));
        return embedded.value;
      }),
    );
    const cosines = remote!.map((vector, at) => dot(vector, onnx![at]!));
    context.diagnostic(
      `lowest cosine between the two forms of the model: ${Math.min(...cosines).toFixed(3)}`,
    );
    assert.ok(Math.min(...cosines) > 0.9, String(Math.min(...cosines)));
    const found = await paraphrases(folder);
    context.diagnostic(figures('all-MiniLM-L6-v2 in a folder (int8)', found));
    assert.ok(found.third >= 90, figures('onnx', found));
  });
});
