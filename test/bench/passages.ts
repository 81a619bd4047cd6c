import { toon } from '../../node/pipeline/toon.js';
import { loadTokenCounting } from '../../node/semantics/count-tokens.js';
import { CONTENT_BYTES_MAX } from '../../protocol/base/limits.js';
import type { Bench, BenchContext } from './bench.js';
import { MemoryClient } from './memory-client.js';
import { readNotes } from './notes.js';
import { readParaphrases } from './paraphrase.js';
import type { BenchResult } from './report.js';
import { collectionFor, readConversations } from './retrieval-data.js';
import { rounded } from './statistics.js';

const BUDGETS = [300, 600, 1000, 1500, 2000, 3000];
/** Sessions of a conversation that make one longer memory. */
const JOINED = 4;

/** How often one recall is enough: what answers the question is in the texts that it returns. */
export const passagesBench: Bench = {
  name: 'passages',
  summary: 'How often the texts of a recall hold what answers the question, and what they cost, by budget.',
  usage: '[<file of LoCoMo or LongMemEval>] [--keyword] [--questions <n of each conversation>]',
  run: runPassages,
};

interface Memory {
  readonly title: string;
  readonly content: string;
  readonly conversation?: string;
  readonly turn?: number;
}

interface Question {
  readonly text: string;
  /** Texts that answer it. */
  readonly answers: readonly string[];
}

/** Memories of one namespace each, and what is asked of them. */
interface Corpus {
  readonly name: string;
  readonly parts: readonly {
    readonly memories: readonly Memory[];
    readonly questions: readonly Question[];
  }[];
}

/** How the texts of a recall are asked for. */
interface Way {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const WAYS: readonly Way[] = [
  { name: 'default', fields: { content: 'passage' } },
  ...BUDGETS.map((budget) => ({
    name: `budget_tokens ${budget}`,
    fields: { content: 'passage', budget_tokens: budget },
  })),
  { name: 'full', fields: { content: 'full' } },
];

interface Measured {
  readonly corpus: string;
  readonly way: string;
  readonly questions: number;
  /** Questions with one answer in the texts, in percent, and the mean share of the answers there. */
  readonly any: number;
  readonly fraction: number;
  /** Mean cl100k tokens of the texts, and of the whole answer in compact TOON. */
  readonly textTokens: number;
  readonly answerTokens: number;
}

async function runPassages({ options, args, progress, workspace }: BenchContext): Promise<BenchResult> {
  const questionsMax = options.questionsMax ?? (options.quick ? 20 : Number.POSITIVE_INFINITY);
  const measured: Measured[] = [];
  for (const { name, parts } of corpora(args[0], options.quick)) {
    const client = await MemoryClient.open(workspace.folder(), options.keyword);
    try {
      progress.step(`${name}: storing and embedding`);
      for (const [at, { memories }] of parts.entries()) {
        for (const { title, content, conversation, turn } of memories) {
          const spoken = conversation === undefined || turn === undefined ? {} : { conversation, turn };
          await client.store(namespaceOf(at), title, content, spoken);
        }
      }
      await client.embedAll((done, total) => progress.at(done, total));
      const asked = parts.map(({ questions }) => questions.slice(0, questionsMax));
      for (const way of WAYS) {
        progress.step(`${name}: recalling, ${way.name}`);
        measured.push({ corpus: name, way: way.name, ...(await ask(client, asked, way, options.keyword)) });
      }
    } finally {
      await client.close();
    }
  }
  return report(measured);
}

const namespaceOf = (part: number): string => `part-${part + 1}`;

function corpora(path: string | undefined, quick: boolean): Corpus[] {
  const { notes, questions } = readNotes();
  const contentOf = new Map(notes.map(({ id, content }) => [id, content]));
  const paraphrases = readParaphrases();
  const all: Corpus[] = [
    {
      name: 'notes',
      parts: [
        {
          memories: notes,
          questions: questions.map(({ text, notes: right }) => ({
            text,
            answers: right.map((id) => contentOf.get(id)!),
          })),
        },
      ],
    },
    {
      name: 'paraphrases',
      parts: [
        {
          memories: paraphrases,
          questions: paraphrases.flatMap(({ query, content }) =>
            query === undefined ? [] : [{ text: query, answers: [content] }],
          ),
        },
      ],
    },
  ];
  if (path === undefined) return all;
  const sessions = readConversations(path)
    .slice(0, quick ? 1 : undefined)
    .map((conversation, at) => {
      const turns = new Map(
        conversation.sessions.flatMap((session) =>
          session.turns.map(({ key, text }) => [key, text] as const),
        ),
      );
      return {
        memories: collectionFor(conversation, at + 1, 'session').memories,
        questions: conversation.questions
          .map(({ text, evidence }) => ({ text, answers: evidence.turn.map((key) => turns.get(key)!) }))
          .filter(({ answers }) => answers.length > 0),
      };
    });
  const longer = sessions.map(({ memories, questions: asked }) => ({
    memories: joined(memories),
    questions: asked,
  }));
  return [
    ...all,
    { name: 'sessions', parts: sessions },
    { name: `${JOINED} sessions in one`, parts: longer },
  ];
}

/** Memories with several sessions each, as far as one may be that long. */
function joined(memories: readonly Memory[]): Memory[] {
  const all: { title: string; content: string; sessions: number }[] = [];
  for (const { title, content } of memories) {
    const text = `# ${title}\n\n${content}`;
    const last = all.at(-1);
    const together = last === undefined ? text : `${last.content}\n\n${text}`;
    if (last !== undefined && last.sessions < JOINED && Buffer.byteLength(together) <= CONTENT_BYTES_MAX) {
      last.content = together;
      last.sessions += 1;
    } else all.push({ title: `From ${title}`, content: text.slice(0, CONTENT_BYTES_MAX), sessions: 1 });
  }
  return all;
}

const count = loadTokenCounting();
/** Line ends and spaces do not decide whether a text is there. */
const plain = (text: string): string => text.replace(/[\s\u0000-\u001f]+/g, ' ').trim();

async function ask(
  client: MemoryClient,
  parts: readonly (readonly Question[])[],
  { fields }: Way,
  keyword: boolean,
): Promise<Omit<Measured, 'corpus' | 'way'>> {
  let questions = 0;
  let any = 0;
  let fraction = 0;
  let textTokens = 0;
  let answerTokens = 0;
  for (const [at, asked] of parts.entries()) {
    for (const { text, answers } of asked) {
      const answer = await client.answer(namespaceOf(at), text, keyword, fields);
      const rows = answer['memories'] as readonly { content?: string; passage?: string }[];
      const texts = rows.map(({ content, passage }) => content ?? passage ?? '');
      const shown = texts.map(plain);
      const found = answers.filter((right) => shown.some((one) => one.includes(plain(right)))).length;
      questions += 1;
      any += found > 0 ? 1 : 0;
      fraction += found / answers.length;
      textTokens += texts.reduce((sum, one) => sum + count(one), 0);
      answerTokens += count(toon(answer, 'memories', true, 'passage'));
    }
  }
  return {
    questions,
    any: rounded((100 * any) / questions, 1),
    fraction: rounded((100 * fraction) / questions, 1),
    textTokens: Math.round(textTokens / questions),
    answerTokens: Math.round(answerTokens / questions),
  };
}

function report(measured: readonly Measured[]): BenchResult {
  return {
    tables: [
      {
        title: 'passages: questions whose answer is in the texts of one recall, in percent',
        columns: ['corpus', 'texts', 'any', 'fraction', 'tokens of texts', 'tokens in TOON', 'questions'],
        rows: measured.map(({ corpus, way, any, fraction, textTokens, answerTokens, questions }) => [
          ...[corpus, way, any.toFixed(1), fraction.toFixed(1), textTokens, answerTokens, questions],
        ]),
        notes: [
          'an answer is the right note, or the text of a turn that is evidence; it counts where it is there as a whole',
          'any: at least one of the answers is there; fraction: the mean share of them; tokens: cl100k, on average',
        ],
      },
    ],
    json: measured.map(({ corpus, way, any, fraction, textTokens, answerTokens, questions }) => ({
      ...{ corpus, way, any, fraction, questions },
      text_tokens: textTokens,
      answer_tokens: answerTokens,
    })),
  };
}
