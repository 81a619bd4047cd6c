import { join } from 'node:path';
import { RECALL_LIMIT } from '../../protocol/base/limits.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import {
  type AnswerEvidence,
  featuresOf,
  likelihood,
  RECALL_MIN_SCORE,
  rowScore,
} from '../../protocol/ranking/likelihood.js';
import { judgedAnswer } from '../../storage/sql/recall/recall.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import type { Bench, BenchContext } from './bench.js';
import { chanceOf, fitLogistic, type Observation } from './logistic.js';
import { MemoryClient } from './memory-client.js';
import { separation } from './notes.js';
import type { BenchResult } from './report.js';
import { FOLDS, joined, type Question, type QuestionSet, questionSets } from './score-questions.js';
import { rounded } from './statistics.js';

/** How many questions a long query joins. */
const JOINED = 3;

/** What the score of a recall is worth, and the weights that a fit to the questions would give it. */
export const scoreBench: Bench = {
  name: 'score',
  summary: 'Whether the score of recall tells answers from others; fits its weights.',
  usage: '[file in the format of LoCoMo or LongMemEval] [--questions <n of each set>]',
  run: runScore,
};

type Mode = 'hybrid' | 'keyword';

/** A question with its answer. */
interface Asked {
  readonly source: string;
  readonly mode: Mode;
  readonly question: Question;
  readonly evidence: AnswerEvidence;
  readonly rows: readonly { readonly right: boolean; readonly share: number }[];
}

type Judge = (evidence: AnswerEvidence, fold: number) => number;

/** What a fit calls likely enough, by words only and with meaning; it is moved to the cut, so that one cut serves both. */
const FITTED_CUTS = { words_only: 0.17, with_meaning: 0.25 } as const;
type Model = keyof typeof FITTED_CUTS;
const modelOf = ({ standing }: AnswerEvidence): Model => (standing === null ? 'words_only' : 'with_meaning');

async function runScore({ options, args, progress, workspace }: BenchContext): Promise<BenchResult> {
  const short = questionSets(args[0]);
  const sets = [
    ...short,
    ...short
      .filter(({ source }) => source !== 'session' && source !== 'turn')
      .map((set) => joined(set, JOINED)),
  ];
  const home = workspace.folder();
  const client = await MemoryClient.open(home, options.keyword);
  const database = openSqlite(join(home, 'mnemesh.db'), { readonly: true });
  try {
    progress.step('score: storing and embedding');
    // Rows of a fresh database are numbered in the order of storing.
    const titles: string[] = [''];
    for (const { namespace, memories } of short) {
      for (const { title, content } of memories) {
        await client.store(namespace, title, content);
        titles.push(title);
      }
    }
    await client.embedAll((done, total) => progress.at(done, total));
    const asked: Asked[] = [];
    for (const set of sets) {
      progress.step(`score: ${set.source}`);
      asked.push(
        ...(await ask(client, database, set, titles, options.questionsMax ?? (options.quick ? 20 : null))),
      );
    }
    return report(asked);
  } finally {
    database.close();
    await client.close();
  }
}

async function ask(
  client: MemoryClient,
  database: SqliteConnection,
  { source, namespace, questions }: QuestionSet,
  titles: readonly string[],
  most: number | null,
): Promise<Asked[]> {
  const asked: Asked[] = [];
  const now = new Date().toISOString();
  for (const question of sample(questions, most)) {
    const nearest = await client.nearest(namespace, question.text);
    const answerOf = (vectors: VectorEvidence | null) => {
      const judged = judgedAnswer(database, {
        query: question.text,
        namespace,
        limit: RECALL_LIMIT,
        viewer: { all: true, agentId: null, asNamespace: null },
        now,
        vectors,
        ...{ tags: [], since: null, until: null, kinds: null },
      });
      const isRight = (rid: number) => question.right.includes(titles[rid]!);
      const rows = judged.rows.map(({ rid, share }) => ({ right: isRight(rid), share }));
      return { source, question, evidence: judged.evidence, rows };
    };
    // A query that the embedder cannot read is answered by words in both modes.
    const keyword = answerOf(null);
    asked.push({ mode: 'hybrid', ...(nearest === null ? keyword : answerOf(nearest)) });
    asked.push({ mode: 'keyword', ...keyword });
  }
  return asked;
}

/** About `most` questions with an answer and half as many without one, spread over all. */
function sample(questions: readonly Question[], most: number | null): Question[] {
  return [true, false].flatMap((answerable) => {
    const own = questions.filter(({ right }) => right.length > 0 === answerable);
    const step = most === null ? 1 : Math.max(1, Math.floor(own.length / (answerable ? most : most / 2)));
    return own.filter((_, at) => at % step === 0);
  });
}

/**
 * Every source weighs the same, with two exceptions: every paraphrase is answered without a common word, which is rare, and
 * questions of other conversations give themselves away by their names.
 */
function weightOf({ source, question }: Asked): number {
  if (source === 'session' || source === 'turn') return question.right.length > 0 ? 1 : 0;
  return (source.startsWith('paraphrase') ? 0.15 : 1) * (source.endsWith('long') ? 0.3 : 1);
}

function observations(asked: readonly Asked[]): (Observation & { readonly fold: number })[] {
  const sizes = new Map<string, number>();
  const keyOf = ({ source, mode }: Asked) => `${source} ${mode}`;
  for (const one of asked) sizes.set(keyOf(one), (sizes.get(keyOf(one)) ?? 0) + 1);
  return asked.map((one) => ({
    fold: one.question.fold,
    right: one.rows.some(({ right }) => right),
    features: featuresOf(one.evidence),
    weight: (1000 * weightOf(one)) / sizes.get(keyOf(one))!,
  }));
}

const logit = (share: number): number => Math.log(share / (1 - share));

function fit(some: readonly Observation[], model: Model): number[] {
  const [first, ...others] = fitLogistic(some);
  return [first! + logit(RECALL_MIN_SCORE) - logit(FITTED_CUTS[model]), ...others];
}

/** A judge whose weights for a fold were fitted to the other folds, and the weights of all folds together. */
function fitted(asked: readonly Asked[]): { judge: Judge; weights: Record<Model, readonly number[]> } {
  const fitsOf = (model: Model) => {
    const all = observations(asked.filter(({ evidence }) => modelOf(evidence) === model));
    const folds = Array.from({ length: FOLDS }, (_, fold) =>
      all.length === 0
        ? []
        : fit(
            all.filter((one) => one.fold !== fold),
            model,
          ),
    );
    return { folds, all: all.length === 0 ? [] : fit(all, model).map((weight) => rounded(weight, 2)) };
  };
  const fits = { words_only: fitsOf('words_only'), with_meaning: fitsOf('with_meaning') };
  return {
    judge: (evidence, fold) => chanceOf(fits[modelOf(evidence)].folds[fold]!, featuresOf(evidence)),
    weights: { words_only: fits.words_only.all, with_meaning: fits.with_meaning.all },
  };
}

/** The figures of one set of questions under one judge, with answers cut at the default. */
function figuresOf(asked: readonly Asked[], judge: Judge) {
  const judged = asked.map(({ question, evidence, rows }) => ({
    answerable: question.right.length > 0,
    rows: rows.map(({ right, share }) => ({ right, score: rowScore(judge(evidence, question.fold), share) })),
  }));
  const answerable = judged.filter((one) => one.answerable);
  const others = judged.filter((one) => !one.answerable);
  const tops = (some: typeof judged) =>
    some.map(({ rows }) => Math.max(0, ...rows.map(({ score }) => score)));
  const right = answerable.flatMap(({ rows }) => rows.filter((row) => row.right));
  const kept = right.filter(({ score }) => score >= RECALL_MIN_SCORE).length;
  const filling = others.reduce(
    (sum, { rows }) => sum + rows.filter(({ score }) => score >= RECALL_MIN_SCORE).length,
    0,
  );
  return {
    questions: [answerable.length, others.length],
    auc: others.length === 0 ? null : rounded(separation(tops(answerable), tops(others)), 3),
    rows: others.length === 0 ? null : rounded(filling / others.length, 2),
    kept: right.length === 0 ? null : rounded((100 * kept) / right.length, 1),
  };
}

function report(asked: readonly Asked[]): BenchResult {
  const { judge, weights } = fitted(asked);
  const groups = [...new Set(asked.map(({ source, mode }) => `${source}\n${mode}`))].map((key) => {
    const [source, mode] = key.split('\n') as [string, Mode];
    const own = asked.filter((one) => one.source === source && one.mode === mode);
    return { source, mode, now: figuresOf(own, likelihood), cross: figuresOf(own, judge) };
  });
  const cell = (value: number | null) => (value === null ? '' : String(value));
  return {
    tables: [
      {
        title: `score: as it is, and in ${FOLDS}-fold cross-validation of a new fit`,
        columns: [
          'questions',
          'mode',
          'AUC',
          'rows',
          'kept %',
          'AUC, fit',
          'rows, fit',
          'kept %, fit',
          'answered',
          'not',
        ],
        rows: groups.map(({ source, mode, now, cross }) => [
          ...[source, mode, cell(now.auc), cell(now.rows), cell(now.kept)],
          ...[cell(cross.auc), cell(cross.rows), cell(cross.kept), ...now.questions],
        ]),
        notes: [
          'AUC: how often an answered question has a higher top score than one without an answer',
          `rows: for a question without an answer; kept: right rows that pass the cut of ${RECALL_MIN_SCORE}`,
          ...Object.entries(weights).map(([name, own]) => `${name}: ${own.join(', ')}`),
        ],
      },
    ],
    json: { groups, weights },
  };
}
