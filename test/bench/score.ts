import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RECALL_LIMIT } from '../../protocol/base/limits.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import { ROW_SORTS, type RowSort } from '../../protocol/ranking/evidence.js';
import { likelihood, logOdds } from '../../protocol/ranking/likelihood.js';
import { judgedFeatures } from '../../storage/sql/recall/recall.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import type { Bench, BenchContext } from './bench.js';
import { chanceOf, fitLogistic, type Observation } from './logistic.js';
import { MemoryClient } from './memory-client.js';
import { type Question, type QuestionSet, questionSets } from './question-sets.js';
import type { BenchResult } from './report.js';
import { type Judged, reportOf } from './score-report.js';

/** What the score of a recall is worth, and the weights that a fit to the questions gives it. */
export const scoreBench: Bench = {
  name: 'score',
  summary: 'Whether the score of recall is the likelihood that a row answers; fits its weights.',
  usage: '[file in the format of LoCoMo or LongMemEval] [--questions <n of each set>] [--write]',
  run: runScore,
};

export type Mode = 'hybrid' | 'words';
const MODES: readonly Mode[] = ['hybrid', 'words'];

const FITTED_FILE = new URL('../../../protocol/ranking/fitted-weights.ts', import.meta.url);

/** Rows of an answer that are judged; those behind them never come to the front. */
const ROWS_MAX = 60;

/** A question with the rows that may answer it. */
export interface Asked {
  readonly set: QuestionSet;
  readonly mode: Mode;
  readonly question: Question;
  readonly rows: readonly {
    readonly key: string;
    readonly sort: RowSort;
    readonly features: readonly number[];
    readonly right: boolean;
  }[];
}

async function runScore({ options, args, progress, workspace }: BenchContext): Promise<BenchResult> {
  const sets = questionSets(args[0]);
  const home = workspace.folder();
  const client = await MemoryClient.open(home, options.keyword);
  const database = openSqlite(join(home, 'mnemesh.db'), { readonly: true });
  try {
    progress.step('score: storing and embedding');
    // Two sets may ask about the same memories.
    const places = new Map(sets.map(({ namespace, memories }) => [namespace, memories]));
    for (const [namespace, memories] of places) {
      for (const { key: _key, title, content, ...also } of memories)
        await client.store(namespace, title, content, also);
    }
    await client.embedAll((done, total) => progress.at(done, total));
    const most = options.questionsMax ?? (options.quick ? 20 : Number.POSITIVE_INFINITY);
    const asked: Asked[] = [];
    for (const set of sets) {
      progress.step(`score: ${set.source}`);
      asked.push(...(await ask(client, database, set, most)));
    }
    progress.step('score: fitting');
    return scoreOf(asked, options.write);
  } finally {
    database.close();
    await client.close();
  }
}

/** The figures of the score as it is, and of a fit that was held back from each set; with `write` the fit goes to the source. */
export function scoreOf(asked: readonly Asked[], write: boolean): BenchResult {
  const now = asked.map((one) =>
    judgedBy(one, (features, sort) => likelihood(logOdds(features, sort, one.mode === 'hybrid'))),
  );
  const fits = new Map<string, (name: string) => readonly number[]>();
  const weights = Object.fromEntries(
    ROW_SORTS.map((sort) => [
      sort,
      Object.fromEntries(
        MODES.map((mode) => {
          const fit = heldBack(asked, sort, mode);
          fits.set(`${sort} ${mode}`, fit.without);
          return [mode, fit.all];
        }),
      ),
    ]),
  );
  const cross = asked.map((one) =>
    judgedBy(one, (features, sort) => chanceOf(fits.get(`${sort} ${one.mode}`)!(one.set.source), features)),
  );
  if (write) writeFileSync(FITTED_FILE, sourceOf(weights));
  const result = reportOf(now, cross);
  return { ...result, json: { ...(result.json as object), weights } };
}

export async function ask(
  client: MemoryClient,
  database: SqliteConnection,
  set: QuestionSet,
  most: number,
): Promise<Asked[]> {
  const asked: Asked[] = [];
  const now = new Date().toISOString();
  const keys = keysOf(database, set);
  for (const question of sample(set.questions, most)) {
    const nearest = await client.nearest(set.namespace, question.text);
    const rowsOf = (vectors: VectorEvidence | null) =>
      judgedFeatures(database, {
        ...{ query: question.text, namespace: set.namespace, limit: RECALL_LIMIT, now, vectors },
        viewer: { all: true, agentId: null, asNamespace: null },
        ...{ tags: [], since: null, until: null, kinds: null },
      })
        .slice(0, ROWS_MAX)
        .map(({ rid, sort, features }) => {
          const key = keys.get(rid) ?? '';
          return { key, sort, features, right: question.right.includes(key) };
        });
    if (nearest !== null) asked.push({ set, mode: 'hybrid', question, rows: rowsOf(nearest) });
    asked.push({ set, mode: 'words', question, rows: rowsOf(null) });
  }
  return asked;
}

/** The key of each row of a set, by its text. */
function keysOf(database: SqliteConnection, { namespace, memories }: QuestionSet): Map<number, string> {
  const byText = new Map(memories.map(({ key, title, content }) => [`${title}\n${content}`, key]));
  const byContent = new Map(memories.map(({ key, content }) => [content, key]));
  const rows = database
    .prepare<[string], { rid: number; title: string; content: string }>(
      'SELECT rid, title, content FROM memories WHERE namespace = ?',
    )
    .all(namespace);
  return new Map(
    rows.map(({ rid, title, content }) => [
      rid,
      byText.get(`${title}\n${content}`) ?? byContent.get(content) ?? '',
    ]),
  );
}

/** About `most` questions with an answer and half as many without one, spread over all. */
function sample(questions: readonly Question[], most: number): Question[] {
  return [true, false].flatMap((answerable) => {
    const own = questions.filter(({ right }) => right.length > 0 === answerable);
    const step = Math.max(1, Math.floor(own.length / (answerable ? most : most / 2)));
    return own.filter((_, at) => at % step === 0);
  });
}

/** What a question of a set counts: hard ones are rarer where people ask, those without an answer in the words of notes most. */
function weightOf({ set: { source, sort, asks }, question }: Asked): number {
  if (sort === 'session' || sort === 'turn') return question.right.length > 0 ? 1 : 0.3;
  if (asks === 'plain') return 1;
  return source === 'paraphrases' ? 0.6 : 0.25;
}

/** How small weights are kept. There are a tenth as many sessions as turns, and as many weights. */
const RIDGES: Readonly<Record<RowSort, number>> = { note: 1e-3, turn: 1e-3, conversation: 1e-2 };

/** The weights that are fitted to all sets, and for each set those that were fitted to the others. */
function heldBack(asked: readonly Asked[], sort: RowSort, mode: Mode) {
  const own = asked.filter((one) => one.mode === mode && one.set.fitted);
  const observed = own.flatMap((one) =>
    one.rows
      .filter((row) => row.sort === sort)
      .map(({ right, features }): Observation & { readonly source: string } => ({
        ...{ right, features, weight: weightOf(one), source: groupOf(one.set) },
      })),
  );
  const whole = fit(observed, RIDGES[sort]);
  const all = whole.weights.map((weight) => Math.round(weight * 1e3) / 1e3);
  const sources = new Set(observed.map(({ source }) => source));
  const without = new Map<string, readonly number[]>();
  for (const source of sources) {
    const others = observed.filter((one) => one.source !== source);
    without.set(source, fit(others, RIDGES[sort], whole.scaled).weights);
  }
  return { all, without: (source: string) => without.get(groupName(source)) ?? all };
}

/** Sessions and turns of one conversation are held back together, and so are a store and its parts. */
const groupName = (source: string): string =>
  source.replace(/^(?:session|turn) /, 'conversation ').replace(/, part \d+$/, '');
const groupOf = ({ source }: QuestionSet): string => groupName(source);

/** A fit whose ridge treats all features alike; `scaled` are its weights before they are brought to the scale of the features. */
function fit(observed: readonly Observation[], ridge: number, start?: readonly number[]) {
  const size = observed[0]?.features.length ?? 0;
  if (size === 0 || !observed.some(({ right }) => right)) return { weights: [], scaled: [] };
  const total = observed.reduce((sum, { weight }) => sum + weight, 0);
  const mean = new Array<number>(size).fill(0);
  const square = new Array<number>(size).fill(0);
  for (const { features, weight } of observed) {
    for (const [at, feature] of features.entries()) {
      mean[at]! += (weight * feature) / total;
      square[at]! += (weight * feature * feature) / total;
    }
  }
  const spread = mean.map((value, at) =>
    at === 0 ? 1 : Math.sqrt(Math.max(1e-6, square[at]! - value ** 2)),
  );
  const scaled = fitLogistic(
    observed.map(({ features, ...rest }) => ({
      ...rest,
      features: features.map((feature, at) => (at === 0 ? 1 : (feature - mean[at]!) / spread[at]!)),
    })),
    ridge,
    start,
  );
  const weights = scaled.map((weight, at) => weight / spread[at]!);
  weights[0] =
    scaled[0]! - weights.reduce((sum, weight, at) => (at === 0 ? sum : sum + weight * mean[at]!), 0);
  return { weights, scaled };
}

function judgedBy(
  { set, mode, question, rows }: Asked,
  judge: (features: readonly number[], sort: RowSort) => number,
): Judged {
  return {
    ...{ source: set.source, sort: set.sort, mode, wanted: question.right.length },
    rows: rows
      .map(({ key, sort, features, right }) => ({ key, sort, right, score: judge(features, sort) }))
      .sort((left, right) => right.score - left.score),
  };
}

const sourceOf = (weights: unknown): string =>
  `import type { RowSort } from './evidence.js';

/** A weight for each number of \`featuresOf\`, by words only and with vectors. */
export type FittedWeights = Readonly<Record<RowSort, Readonly<Record<'words' | 'hybrid', readonly number[]>>>>;

/** Fitted by \`npm run bench -- score <file of LoCoMo> --write\`, and changed by nothing else. */
export const FITTED: FittedWeights = ${JSON.stringify(weights)};
`;
