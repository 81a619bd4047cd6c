import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { leastWeakScore, RECALL_MIN_SCORE, WEAK_ROWS } from '../../../protocol/ranking/likelihood.js';
import { type HttpNode, openHttpNode } from './http-node.js';

type Row = { readonly title: string; readonly score: number; readonly weak?: true };

const NOTES = [
  ['Ferry to Lemvig', 'The last ferry to Lemvig leaves the north pier at 22:40 in summer.'],
  ['Crane inspection', 'The blue crane is inspected every March by Bureau Holm.'],
  ['Canteen hours', 'The canteen opens at seven and closes at three.'],
  ['Lost keys', 'Lost keys are reported to Ingrid at the gate.'],
  ['Berth plan', 'Large vessels lie at berth four, tugs at berth nine.'],
  ['Fuel supplier', 'Diesel comes from Nordolie on Tuesdays.'],
  ['Radio channel', 'Tugs listen on channel 12, pilots on channel 14.'],
  ['Storm rule', 'Above wind force nine the cranes are lashed.'],
  ['Visitor badges', 'Visitors wear a yellow badge and leave it at the gate.'],
  ['Waste oil', 'Waste oil is collected from shed two every second Friday.'],
] as const;
const ANSWERED = [
  ['when does the last ferry to Lemvig leave?', 'Ferry to Lemvig'],
  ['who inspects the blue crane?', 'Crane inspection'],
  ['on which channel do pilots listen?', 'Radio channel'],
  ['diesel', 'Fuel supplier'],
] as const;
/** Each shares a word with a note and is answered by none. */
const UNANSWERED = [
  'which insurance pays when a visitor drops a laptop in the car park?',
  'what is the salary of a senior pilot in Bergen?',
  'who painted the mural in the canteen of the Oslo office?',
];

let node: HttpNode;
before(async () => {
  node = await openHttpNode();
  for (const [title, content] of NOTES) {
    assert.equal((await node.send('POST', '/api/v1/memories', { title, content })).status, 201);
  }
});
after(() => node.close());

async function recall(fields: Record<string, string>) {
  const { status, json, text } = await node.send('GET', `/api/v1/recall?${new URLSearchParams(fields)}`);
  assert.equal(status, 200, text);
  const { memories, count, note, meta } = json as {
    memories: Row[];
    count: number;
    note?: string;
    meta: { below_min_score: number };
  };
  return { rows: memories, count, note, dropped: meta.below_min_score };
}

describe('the score of a recall', () => {
  it('lies between 0 and 1, never rises, and is higher for what is answered than for what is not', async () => {
    const tops: [number[], number[]] = [[], []];
    for (const [question, title] of ANSWERED) {
      const { rows, note } = await recall({ q: question, min_score: '0' });
      assert.equal(rows[0]!.title, title, question);
      assert.equal(note, undefined);
      for (const [at, { score }] of rows.entries()) {
        assert.ok(score >= 0 && score <= (rows[at - 1]?.score ?? 1), `${question}: ${score}`);
      }
      tops[0].push(rows[0]!.score);
    }
    for (const question of UNANSWERED) {
      const { rows } = await recall({ q: question, min_score: '0' });
      assert.ok(rows.length > 0, `${question} shares a word`);
      tops[1].push(rows[0]!.score);
    }
    assert.ok(Math.min(...tops[0]) > Math.max(...tops[1]), JSON.stringify(tops));
  });

  it('drops rows below min_score, whose default keeps every answer, and counts them', async () => {
    for (const [question, title] of ANSWERED) {
      const all = await recall({ q: question, min_score: '0' });
      assert.equal(all.dropped, 0);
      for (const cut of [undefined, 0.2, 0.6, 1]) {
        const own = await recall({ q: question, ...(cut === undefined ? {} : { min_score: String(cut) }) });
        assert.equal(own.count + own.dropped, all.count, `${question} at ${cut}`);
        assert.ok(own.rows.every(({ score }) => score >= (cut ?? RECALL_MIN_SCORE)));
        if (cut === undefined) assert.equal(own.rows[0]!.title, title);
      }
    }
  });

  it('leaves an empty answer that says so, in every format', async () => {
    for (const question of UNANSWERED) {
      const cut = String(RECALL_MIN_SCORE);
      const { count, dropped, note } = await recall({ q: question, min_score: cut });
      const some = dropped === 1 ? '1' : String(dropped);
      assert.deepEqual([count, dropped > 0], [0, true], question);
      assert.equal(
        note,
        `no memory answers this; ${some} scored below ${RECALL_MIN_SCORE}, and min_score 0 returns them`,
      );
      for (const format of ['toon', 'toon_compact']) {
        const { text } = await node.send(
          'GET',
          `/api/v1/recall?q=${encodeURIComponent(question)}&min_score=${cut}&format=${format}`,
        );
        assert.ok(text.startsWith(`count:0|mode:keyword|note:${note}|`), text);
        assert.match(text, /\]:\n$/);
      }
    }
    const nothing = await recall({ q: 'zeppelin' });
    assert.deepEqual([nothing.count, nothing.dropped, nothing.note], [0, 0, 'no memory answers this']);
    const unasked = await recall({ q: 'ferry', budget_tokens: '0' });
    assert.deepEqual([unasked.count, unasked.note], [0, undefined], 'the budget left it empty');
  });

  it('gives the nearest rows back, marked as weak, where no row passes and the caller names no score', async () => {
    let weak = 0;
    for (const question of [
      ...UNANSWERED,
      'who lashes the pilots in a storm of wind?',
      'the gate of the harbour master',
    ]) {
      const { rows, dropped, note } = await recall({ q: question });
      const all = await recall({ q: question, min_score: '0' });
      assert.equal(rows.length + dropped, all.count);
      if (all.rows[0]!.score >= RECALL_MIN_SCORE) continue;
      const least = leastWeakScore(all.rows[0]!.score)!;
      const near = all.rows.slice(0, WEAK_ROWS).filter(({ score }) => score >= least);
      assert.deepEqual(
        rows.map(({ title, weak: mark }) => [title, mark]),
        near.map(({ title }) => [title, true]),
        question,
      );
      assert.match(
        note!,
        near.length > 0 ? /^no memory surely answers this; the rows are weak/ : /^no memory answers/,
      );
      weak += near.length;
      const url = `/api/v1/recall?q=${encodeURIComponent(question)}&format=toon_compact`;
      assert.ok((await node.send('GET', url)).text.includes(`|note:${note}|`));
    }
    assert.ok(weak > 0);
    for (const [question] of ANSWERED) {
      const { rows, note } = await recall({ q: question });
      assert.deepEqual([rows.some((row) => row.weak), note], [false, undefined]);
    }
  });

  it('decides what counts as used, whatever min_score is', async () => {
    const counts = async () => {
      await node.services.touches.flush();
      const { json } = await node.send('GET', '/api/v1/memories?limit=100');
      return (json!['memories'] as Record<string, unknown>[])
        .map((row) => [row['title'], row['access_count']])
        .sort();
    };
    const before = await counts();
    for (const question of UNANSWERED) {
      await recall({ q: question, min_score: '0' });
      await recall({ q: question });
    }
    assert.deepEqual(await counts(), before);
    await recall({ q: 'when does the last ferry to Lemvig leave?', min_score: '0' });
    const moved = (await counts()).filter((row, at) => row[1] !== before[at]![1]);
    assert.deepEqual(
      moved.map(([title]) => title),
      ['Ferry to Lemvig'],
    );
  });
});
