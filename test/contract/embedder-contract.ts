import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { chunkMemory } from '../../node/semantics/chunking.js';
import type { Embedder } from '../../node/semantics/embedder.js';
import type { Result } from '../../protocol/base/result.js';
import { dot } from '../storage/vectors/random-vectors.js';
import { realClock } from '../storage/vectors/real-seams.js';
import { within } from '../support/wait.js';

const ALLOWED = new Set(['UNAVAILABLE', 'OVERLOADED', 'DEADLINE', 'SHUTTING_DOWN', 'INVALID_ARGUMENT']);
const LONG_MS = 60_000;
const TEXTS = ['The ferry leaves at noon.', 'Rotate the deploy key every month.', 'naïve café, übermäßig'];
const LONG_TEXT = 'a ferry between two harbours '.repeat(10_000);
/** The windows of a text that is far too long: nothing longer than a window is ever embedded. */
const windowsOf = ({ input }: Embedder) => {
  const chunking = chunkMemory('The timetable', LONG_TEXT, input);
  assert.ok(chunking.ok);
  return chunking.windows;
};

const code = (result: Result<unknown>) => (result.ok ? 'ok' : result.error.code);
const inTime = () => realClock.monotonicMs() + LONG_MS;
const soon = <T>(what: string, promise: Promise<T>) => within(what, promise, { withinMs: LONG_MS });

/** What everything that makes vectors does, also one that has none to give: an answer has all vectors, or says why not. */
export function embedderContract(name: string, open: () => Embedder): void {
  describe(`embedder: ${name}`, () => {
    let embedder: Embedder;
    before(() => {
      embedder = open();
    });
    after(() => embedder.close());

    it('answers one unit vector for each text, or a failure that callers know', async () => {
      for (const texts of [
        TEXTS,
        [...TEXTS].reverse(),
        [TEXTS[0]!, TEXTS[0]!],
        windowsOf(embedder),
        ['fine', ' '],
      ]) {
        const result = await soon('the texts are embedded', embedder.embed(texts));
        if (!result.ok) assert.ok(ALLOWED.has(result.error.code), result.error.code);
        else assertVectors(embedder, result.value, texts.length);
      }
      for (const text of [
        TEXTS[0]!,
        LONG_TEXT,
        '',
        '   ',
        '12 34',
        '明天上午十点开会',
        '🚢🚢🚢',
        'Паром уходит',
      ]) {
        const result = await soon(`"${text.slice(0, 20)}" is embedded`, embedder.embedQuery(text, inTime()));
        if (!result.ok) assert.ok(ALLOWED.has(result.error.code), result.error.code);
        else assertVectors(embedder, [result.value], 1);
      }
    });

    it('has a name, a dimension and a depth that is a count', () => {
      assert.ok(embedder.model !== '' && Number.isInteger(embedder.dim) && embedder.dim > 0);
      const { queries, background } = embedder.queueDepth();
      for (const count of [queries, background]) assert.ok(Number.isInteger(count) && count >= 0);
      assert.equal(embedder.state().failing, embedder.state().lastError !== null);
    });

    it('is over when it is closed, once or twice', async () => {
      const own = open();
      await soon('it closes', own.close());
      await soon('it closes again', own.close());
      assert.equal(code(await soon('it refuses', own.embed(['late']))), 'SHUTTING_DOWN');
      assert.equal(code(await soon('it refuses', own.embedQuery('late', inTime()))), 'SHUTTING_DOWN');
    });
  });
}

/** What an embedder with a model does besides. */
export function answeringEmbedderContract(name: string, open: () => Embedder): void {
  describe(`embedder that answers: ${name}`, () => {
    let embedder: Embedder;
    before(() => {
      embedder = open();
    });
    after(() => embedder.close());
    const vectors = async (texts: readonly string[]) => {
      const result = await soon('the texts are embedded', embedder.embed(texts));
      assert.ok(result.ok, code(result));
      assertVectors(embedder, result.value, texts.length);
      return result.value;
    };
    const query = (text: string, deadlineMs = inTime()) =>
      soon('the query is embedded', embedder.embedQuery(text, deadlineMs));
    /** The order of additions differs with the batch, so the last bits do. */
    const alike = (a: Float32Array, b: Float32Array) => dot(a, b) > 1 - 1e-5;

    it('says the same of a text each time, by itself, in a batch in any order, and as a query', async () => {
      const batch = await vectors(TEXTS);
      const again = (await vectors([...TEXTS].reverse())).reverse();
      for (const [place, text] of TEXTS.entries()) {
        const [single] = await vectors([text]);
        const asked = await query(text);
        assert.ok(asked.ok, code(asked));
        for (const other of [again[place]!, single!, asked.value])
          assert.ok(alike(batch[place]!, other), `"${text}": ${dot(batch[place]!, other)}`);
      }
      assert.ok(!alike(batch[0]!, batch[1]!), 'another text has another vector');
    });

    it('answers nothing for no texts', async () => {
      assert.deepEqual(await vectors([]), []);
    });

    it('reads of a text that is far too long as much as it can, and the same each time', async () => {
      const windows = windowsOf(embedder);
      const [all, [first]] = [await vectors(windows), await vectors(windows.slice(0, 1))];
      assert.ok(alike(all[0]!, first!));
      const asked = await query(LONG_TEXT);
      const more = await query(`${LONG_TEXT} and what nobody reads any more`);
      assert.ok(asked.ok && more.ok);
      assert.ok(alike(asked.value, more.value));
    });

    it('refuses a blank text, with all that came beside it, and a query without letters', async () => {
      for (const texts of [[''], [' \n\t '], ['fine', '']])
        assert.equal(code(await soon('it is refused', embedder.embed(texts))), 'INVALID_ARGUMENT');
      for (const text of ['', ' ', '12 34 !?'])
        assert.equal(code(await query(text)), 'INVALID_ARGUMENT', text);
      for (const text of ['明天上午十点开会', 'Паром уходит в полдень', 'المعدية تغادر'])
        assert.equal(code(await query(text)), 'ok', text);
    });

    it('gives up a query whose time is over, and answers the next', async () => {
      assert.equal(code(await query('never asked before', realClock.monotonicMs() - 1)), 'DEADLINE');
      assert.equal(code(await query('never asked before')), 'ok');
    });

    it('ends what is under way when it is closed', async () => {
      const own = open();
      const open_ = [own.embed(TEXTS), own.embedQuery('under way', inTime())];
      await soon('it closes', own.close());
      for (const result of await soon('what was under way ends', Promise.all(open_)))
        assert.equal(code(result), 'SHUTTING_DOWN');
      assert.deepEqual(own.queueDepth(), { queries: 0, background: 0 });
      assert.equal(own.state().loaded, false);
    });
  });
}

function assertVectors(embedder: Embedder, vectors: readonly Float32Array[], count: number): void {
  assert.equal(vectors.length, count);
  for (const vector of vectors) {
    assert.equal(vector.length, embedder.dim);
    assert.ok(Math.abs(dot(vector, vector) - 1) < 1e-5, 'a vector is of unit length');
  }
}
