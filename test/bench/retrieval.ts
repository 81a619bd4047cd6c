import type { Bench, BenchContext } from './bench.js';
import { MemoryClient } from './memory-client.js';
import { UsageError } from './options.js';
import type { BenchResult } from './report.js';
import { collectionFor, readConversations, type Task } from './retrieval-data.js';
import { ALL_MEASURES, Score } from './retrieval-score.js';
import { rounded } from './statistics.js';

/** Retrieval quality through the operations themselves, on data that people bring along. */
export const retrievalBench: Bench = {
  name: 'retrieval',
  summary: 'How often recall finds the evidence of a question (LoCoMo, LongMemEval).',
  usage: '<file> [--keyword] [--tasks session,turn] [--questions <n of each conversation>]',
  alone: true,
  run: runRetrieval,
};

interface TaskResult {
  readonly task: Task;
  readonly hybrid: Score | null;
  /** The same recalls with `min_score` 0: the ranking, without the cut that leaves out weak rows. */
  readonly uncut: Score;
  readonly keyword: Score;
  readonly memories: number;
  /** Answers by keyword where hybrid was asked for. */
  readonly fellBack: number;
  readonly seconds: { store: number; embed: number; recall: number };
}

async function runRetrieval({ options, args, progress, workspace }: BenchContext): Promise<BenchResult> {
  const [path] = args;
  if (path === undefined) throw new UsageError('retrieval takes a file: npm run bench -- retrieval <file>');
  const conversations = readConversations(path).slice(0, options.quick ? 1 : undefined);
  const questionsMax = options.questionsMax ?? (options.quick ? 20 : Number.POSITIVE_INFINITY);
  const results: TaskResult[] = [];
  for (const task of options.tasks) {
    const client = await MemoryClient.open(workspace.folder(), options.keyword);
    try {
      const collections = conversations.map((conversation, at) => collectionFor(conversation, at + 1, task));
      results.push(await runTask(client, task, collections, questionsMax, options.keyword, progress));
    } finally {
      await client.close();
    }
  }
  return report(results, options.keyword);
}

async function runTask(
  client: MemoryClient,
  task: Task,
  collections: readonly ReturnType<typeof collectionFor>[],
  questionsMax: number,
  keyword: boolean,
  progress: BenchContext['progress'],
): Promise<TaskResult> {
  const seconds = { store: 0, embed: 0, recall: 0 };
  const timed = async (part: keyof typeof seconds, act: () => Promise<void>) => {
    const start = performance.now();
    await act();
    seconds[part] += (performance.now() - start) / 1000;
  };
  const total = collections.reduce((sum, { memories }) => sum + memories.length, 0);
  progress.step(`${task}: storing`);
  await timed('store', async () => {
    let done = 0;
    for (const { namespace, memories } of collections) {
      for (const { title, content, conversation, turn } of memories) {
        await client.store(namespace, title, content, { conversation, turn });
        done += 1;
        progress.at(done, total);
      }
    }
  });
  if (!keyword) {
    progress.step(`${task}: embedding`);
    await timed('embed', () => client.embedAll((done, all) => progress.at(done, all)));
  }
  const hybrid = keyword ? null : new Score();
  const uncut = new Score();
  const lexical = new Score();
  let fellBack = 0;
  progress.step(`${task}: recalling`);
  const asked = collections.map(({ questions }) => questions.slice(0, questionsMax));
  const askedTotal = asked.reduce((sum, questions) => sum + questions.length, 0);
  for (const [at, { namespace, memories }] of collections.entries()) {
    const keys = new Map(memories.map(({ title, key }) => [title, key]));
    const keysOf = (titles: readonly string[]) => titles.map((title) => keys.get(title)!);
    for (const { text, evidence } of asked[at]!) {
      if (hybrid !== null) {
        await timed('recall', async () => {
          const { titles, mode } = await client.recall(namespace, text, false);
          hybrid.add(keysOf(titles), evidence);
          if (mode === 'keyword') fellBack += 1;
        });
      }
      uncut.add(keysOf((await client.recall(namespace, text, keyword, 0)).titles), evidence);
      const { titles } = await client.recall(namespace, text, true);
      lexical.add(keysOf(titles), evidence);
      progress.at(lexical.questions, askedTotal);
    }
  }
  return { task, hybrid, uncut, keyword: lexical, memories: total, fellBack, seconds };
}

function report(results: readonly TaskResult[], keyword: boolean): BenchResult {
  const line = (task: Task, mode: string, score: Score) => {
    const percent = score.percent();
    return [task, mode, ...ALL_MEASURES.map((measure) => percent[measure].toFixed(1)), score.questions];
  };
  return {
    tables: [
      {
        title: 'retrieval: evidence among the first k, in percent of questions',
        columns: ['task', 'mode', ...ALL_MEASURES, 'questions'],
        rows: results.flatMap(({ task, hybrid, uncut, keyword: lexical }) => [
          ...(hybrid === null ? [] : [line(task, 'hybrid', hybrid)]),
          line(task, keyword ? 'keyword, min_score 0' : 'hybrid, min_score 0', uncut),
          line(task, 'keyword', lexical),
        ]),
        notes: [
          'min_score 0 shows the ranking; without it a recall leaves out rows that are unlikely to answer',
          ...results.map(
            ({ task, memories, fellBack, seconds }) =>
              `${task}: ${memories} memories; stored in ${seconds.store.toFixed(1)} s, embedded in ${seconds.embed.toFixed(1)} s, hybrid recalls in ${seconds.recall.toFixed(1)} s, ${fellBack} of them answered by keyword`,
          ),
        ],
      },
    ],
    json: {
      ...Object.fromEntries(
        results.map((result) => [result.task, (result.hybrid ?? result.keyword).percent()]),
      ),
      run: {
        mode: keyword ? 'keyword' : 'hybrid',
        tasks: results.map(({ task, memories, fellBack, seconds, uncut, keyword: lexical }) => ({
          task,
          memories,
          questions: lexical.questions,
          answered_by_keyword: keyword ? lexical.questions : fellBack,
          uncut: uncut.percent(),
          keyword: lexical.percent(),
          seconds: {
            store: rounded(seconds.store, 1),
            embed: rounded(seconds.embed, 1),
            recall: rounded(seconds.recall, 1),
          },
        })),
      },
    },
  };
}
