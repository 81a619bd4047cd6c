import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../../support/daemon-process.js';
import { ENGLISH, storeWithEnglishVectors } from '../../support/english-vectors.js';
import { untilAnswer } from '../../support/wait.js';
import { run } from '../../surface/cli/cli-process.js';

const NEW = 'builtin/use-multilingual-3';
const BUILTIN = { SVC_EMBED_BACKEND: 'builtin', SVC_EMBED_BACKFILL_BATCH: '8' };
/** A busy machine takes long to embed. */
const OPTIONS = { withinMs: 120_000 };

interface Embedding {
  readonly encoder: string;
  readonly embedded: number;
  readonly pending: number;
  readonly skipped: number;
  readonly coming: object | null;
  readonly advice: readonly string[];
}

async function send(daemon: DaemonProcess, path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { 'content-type': 'application/json' };
  const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  return (await (await fetch(`${daemon.base}${path}`, init)).json()) as Record<string, unknown>;
}

const embeddingOf = async (daemon: DaemonProcess) =>
  (await send(daemon, '/capabilities'))['embedding'] as Embedding;

async function recall(daemon: DaemonProcess, context: string) {
  const { mode, memories } = await send(daemon, '/recall', { context });
  return { mode, titles: (memories as { title: string }[]).map(({ title }) => title) };
}

const PET = { title: 'Pet', content: 'The cat sleeps on the sofa.' };
const HOLIDAY = { title: '休暇', content: '来週の金曜日は会社の創立記念日なので休みです。' };

function memoriesOf(count: number) {
  const text = 'Somebody sent it by mail and the accounting department booked it some days later. '.repeat(6);
  const invoices = Array.from({ length: count }, (_, at) => ({
    title: `Invoice ${at}`,
    content: `Invoice number ${at} of the supplier was paid in time. ${text}`,
  }));
  return [PET, ...invoices, HOLIDAY];
}

describe('a database with vectors of the English encoder, which is no longer there', () => {
  it('gets new vectors while it serves, goes on after a kill, and is searched by words and meaning', async () => {
    const home = temporaryFolder('english');
    const memories = memoriesOf(500);
    await storeWithEnglishVectors(home, memories);
    const killed = await startDaemonProcess(home, await freePort(), BUILTIN);
    const during = await untilAnswer(
      'some memories have new vectors',
      () => embeddingOf(killed),
      ({ encoder, embedded }) => encoder === NEW && embedded > 20,
      OPTIONS,
    );
    assert.ok(during.pending > 0, 'the change is under way');
    assert.equal(during.embedded + during.pending, memories.length);
    assert.match(during.advice.join(), new RegExp(`of ${memories.length} memories are embedded for ${NEW}`));
    const byMeaning = await untilAnswer(
      'the new vectors are searched as they come',
      () => recall(killed, 'where does my kitten nap'),
      ({ mode }) => mode === 'hybrid',
      OPTIONS,
    );
    assert.equal(byMeaning.titles[0], 'Pet');
    assert.equal((await recall(killed, 'invoice number 499')).titles[0], 'Invoice 499');
    const before = await embeddingOf(killed);
    assert.ok(before.pending > 0, 'the answers came while it was under way');
    await killed.end('SIGKILL');

    const next = await startDaemonProcess(home, await freePort(), BUILTIN);
    const first = await embeddingOf(next);
    assert.ok(first.embedded >= before.embedded, 'what was done is not done again');
    const after = await untilAnswer(
      'every memory has a new vector',
      () => embeddingOf(next),
      ({ pending }) => pending === 0,
      OPTIONS,
    );
    assert.deepEqual(
      [after.encoder, after.embedded, after.skipped, after.coming, after.advice],
      [NEW, memories.length, 0, null, []],
    );
    for (const [context, title] of [
      ['wo schläft meine Katze', 'Pet'],
      ['when is the company closed next week', '休暇'],
      ['invoice number 499', 'Invoice 499'],
    ] as const) {
      const found = await recall(next, context);
      assert.deepEqual([found.mode, found.titles[0]], ['hybrid', title]);
    }
    assert.equal(await next.end('SIGTERM'), 0);
  });

  it('is searched by words by a command without a daemon, which says so, until "reembed" has run', async () => {
    const home = temporaryFolder('english-cli');
    await storeWithEnglishVectors(home, memoriesOf(20));
    const mnemesh = async (...args: string[]) => {
      const { code, out, err } = await run(home, args, { env: BUILTIN });
      assert.equal(code, 0, err);
      return JSON.parse(out);
    };
    const before = await mnemesh('recall', 'the cat', '--json');
    assert.deepEqual([before.mode, before.memories[0].title], ['keyword', 'Pet']);
    assert.match(before.note, /words only/);
    const { out } = await run(home, ['doctor'], { env: BUILTIN });
    assert.match(out, /the vectors are of builtin\/use-lite-en, which is no longer built in/);
    assert.doesNotMatch(out, /no letters/);
    const plan = await mnemesh('reembed', '--dry-run', '--json');
    assert.deepEqual([plan.total_rows, plan.searched_model, plan.target_model], [22, ENGLISH.model, NEW]);
    const done = await mnemesh('reembed', '--json');
    assert.deepEqual([done.embedded, done.skipped, done.failed, done.target_model], [22, 0, 0, NEW]);
    const after = await mnemesh('recall', 'where does my kitten nap', '--json');
    assert.deepEqual([after.mode, after.memories[0].title], ['hybrid', 'Pet']);
  });
});
