import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Bench, BenchContext } from './bench.js';
import { MemoryClient } from './memory-client.js';
import type { BenchResult } from './report.js';
import { rounded } from './statistics.js';

const NAMESPACE = 'paraphrases';
const FIXTURE = new URL('../../../fixtures/paraphrases.json', import.meta.url);

/** Pairs of a question and a memory without a word in common; entries without a question only distract. */
const fixtureSchema = z.array(
  z.object({ query: z.string().optional(), title: z.string(), content: z.string() }),
);

export const readParaphrases = (): z.output<typeof fixtureSchema> =>
  fixtureSchema.parse(JSON.parse(readFileSync(FIXTURE, 'utf8')));

/** Finds memories by meaning alone. */
export const paraphraseBench: Bench = {
  name: 'paraphrase',
  summary: 'How often recall finds a memory that shares no word with the question.',
  usage: '[--keyword]',
  run: runParaphrase,
};

type Ranks = readonly (number | null)[];

async function runParaphrase({ options, progress, workspace }: BenchContext): Promise<BenchResult> {
  const entries = readParaphrases();
  const client = await MemoryClient.open(workspace.folder(), options.keyword);
  try {
    progress.step('paraphrases: storing and embedding');
    for (const { title, content } of entries) await client.store(NAMESPACE, title, content);
    await client.embedAll((done, total) => progress.at(done, total));
    progress.step('paraphrases: recalling');
    const ranks = {
      recall: [] as (number | null)[],
      vectors: [] as (number | null)[],
      keyword: [] as (number | null)[],
    };
    for (const [at, { query, title }] of entries.entries()) {
      if (query === undefined) continue;
      const rankIn = (titles: readonly string[]) => {
        const place = titles.indexOf(title);
        return place < 0 ? null : place + 1;
      };
      ranks.recall.push(rankIn((await client.recall(NAMESPACE, query, options.keyword)).titles));
      ranks.keyword.push(rankIn((await client.recall(NAMESPACE, query, true)).titles));
      // Rows of a fresh database are numbered in the order of storing.
      const hits = (await client.nearest(NAMESPACE, query))?.hits ?? [];
      const place = hits.findIndex(({ rid }) => rid === at + 1);
      ranks.vectors.push(place < 0 ? null : place + 1);
      progress.at(ranks.recall.length, entries.length);
    }
    return report(ranks, entries.length, options.keyword);
  } finally {
    await client.close();
  }
}

function within(ranks: Ranks, cut: number): number {
  return (100 * ranks.filter((rank) => rank !== null && rank <= cut).length) / Math.max(ranks.length, 1);
}

function report(
  ranks: Readonly<Record<'recall' | 'vectors' | 'keyword', Ranks>>,
  memories: number,
  keyword: boolean,
): BenchResult {
  const line = (name: string, found: Ranks) => [
    name,
    ...[1, 3, 10].map((cut) => `${within(found, cut).toFixed(1)} %`),
  ];
  const rows = [line(keyword ? 'recall, keyword mode' : 'recall', ranks.recall)];
  if (!keyword) rows.push(line('limit: vectors alone', ranks.vectors), line('keyword mode', ranks.keyword));
  return {
    tables: [
      {
        title: 'paraphrase: the right memory among the first k',
        columns: ['mode', 'k = 1', 'k = 3', 'k = 10'],
        rows,
        notes: [`${ranks.recall.length} questions, ${memories} memories`],
      },
    ],
    json: {
      questions: ranks.recall.length,
      memories,
      'top@1': rounded(within(ranks.recall, 1), 1),
      'top@3': rounded(within(ranks.recall, 3), 1),
      'limit_vectors_top@3': keyword ? null : rounded(within(ranks.vectors, 3), 1),
      'keyword_top@3': rounded(within(ranks.keyword, 3), 1),
    },
  };
}
