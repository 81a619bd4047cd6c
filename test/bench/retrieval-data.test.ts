// Runs alone: it measures time.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { collectionFor, partsOf, readConversations } from './retrieval-data.js';
import { Score } from './retrieval-score.js';

function readAs(data: unknown) {
  const folder = mkdtempSync(join(tmpdir(), 'mnemesh-test-'));
  try {
    const path = join(folder, 'data.json');
    writeFileSync(path, JSON.stringify(data));
    return readConversations(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const LOCOMO = [
  {
    conversation: {
      speaker_a: 'Ann',
      session_2_date_time: '1:00 pm on 9 May, 2023',
      session_2: [{ speaker: 'Bob', dia_id: 'D2:1', text: 'Look.', blip_caption: 'a red kite' }],
      session_1_date_time: '1:56 pm on 8 May, 2023',
      session_1: [
        { speaker: 'Ann', dia_id: 'D1:1', text: 'Hello.' },
        { speaker: 'Bob', dia_id: 'D1:2', text: 'Hi.' },
      ],
    },
    qa: [
      { question: 'What was shown?', evidence: ['D2:01; D1:2', 'D'] },
      { question: 'What was not said?', evidence: ['D7:1'] },
      { question: 'Who was never asked?' },
    ],
  },
];

test('reads sessions of LoCoMo in order, with captions in brackets and whole evidence', () => {
  const [conversation] = readAs(LOCOMO);
  const { memories, questions } = collectionFor(conversation!, 1, 'session');
  assert.deepEqual(
    memories.map(({ key, title, content }) => [key, title, content]),
    [
      ['D1', 'Session 1 (1:56 pm on 8 May, 2023)', 'Ann: Hello.\nBob: Hi.'],
      ['D2', 'Session 2 (1:00 pm on 9 May, 2023)', 'Bob: Look. [a red kite]'],
    ],
  );
  assert.deepEqual(questions, [{ text: 'What was shown?', evidence: ['D2', 'D1'] }]);
});

test('gives each turn of LoCoMo a title of its own', () => {
  const [conversation] = readAs(LOCOMO);
  const { memories, questions } = collectionFor(conversation!, 1, 'turn');
  assert.deepEqual(
    memories.map(({ key, title, content }) => [key, title, content]),
    [
      ['D1:1', 'Session 1 turn 1 (8 May 2023) Ann', 'Hello.'],
      ['D1:2', 'Session 1 turn 2 (8 May 2023) Bob', 'Hi.'],
      ['D2:1', 'Session 2 turn 1 (9 May 2023) Bob', 'Look. [a red kite]'],
    ],
  );
  assert.deepEqual(questions, [{ text: 'What was shown?', evidence: ['D2:1', 'D1:2'] }]);
});

test("reads LongMemEval's haystacks and leaves out questions without an answer", () => {
  const entry = {
    question_id: 'q1',
    question: 'Which city?',
    haystack_session_ids: ['s-a', 's-b'],
    haystack_dates: ['2023/05/20 (Sat) 02:21', '2023/05/21 (Sun) 10:00'],
    haystack_sessions: [
      [{ role: 'user', content: 'I moved to Lund.', has_answer: true }],
      [{ role: 'assistant', content: 'Fine.' }],
    ],
    answer_session_ids: ['s-a'],
  };
  const conversations = readAs([entry, { ...entry, question_id: 'q2_abs' }]);
  assert.equal(conversations.length, 1);
  const session = collectionFor(conversations[0]!, 1, 'session');
  assert.deepEqual(session.questions, [{ text: 'Which city?', evidence: ['s-a'] }]);
  assert.equal(session.memories[0]!.title, 'Session 1 (2023/05/20 (Sat) 02:21)');
  const turn = collectionFor(conversations[0]!, 1, 'turn');
  assert.deepEqual(turn.questions, [{ text: 'Which city?', evidence: ['s-a#0'] }]);
});

test('refuses a file of another format', () => {
  assert.throws(() => readAs([{ hello: 1 }]), /neither/);
});

test('cuts a text that is too long at its lines and loses nothing of it', () => {
  const text = Array.from({ length: 40 }, (_, at) => `line ${at} äöü`).join('\n');
  const parts = partsOf(text, 100);
  assert.ok(parts.length > 1);
  assert.ok(parts.every((part) => Buffer.byteLength(part) <= 100));
  assert.equal(parts.join(''), text);
  assert.deepEqual(partsOf('€'.repeat(10), 8), ['€€', '€€', '€€', '€€', '€€']);
  assert.deepEqual(partsOf('  '), []);
});

test('scores a question by the share of its evidence among the first answers', () => {
  const score = new Score();
  score.add(['a', 'x', 'a', 'y', 'z', 'b'], ['a', 'b']);
  score.add(['x'], ['c']);
  const percent = score.percent();
  assert.equal(percent['any@1'], 50);
  assert.equal(percent['fraction@1'], 25);
  assert.equal(percent['all@1'], 0);
  // The answer that came twice takes one place only, so the last one is fifth.
  assert.equal(percent['all@5'], 50);
});
