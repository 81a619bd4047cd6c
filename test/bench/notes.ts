import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Bench, BenchContext } from './bench.js';
import { MemoryClient, type Recalled } from './memory-client.js';
import type { BenchResult } from './report.js';
import { rounded } from './statistics.js';

const NAMESPACE = 'notes';
const FIXTURE = new URL('../../../fixtures/notes.json', import.meta.url);

const fixtureSchema = z.object({
  notes: z.array(z.object({ id: z.string(), language: z.string(), title: z.string(), content: z.string() })),
  questions: z.array(z.object({ type: z.string(), text: z.string(), notes: z.array(z.string()).min(1) })),
  unanswerable: z.array(z.string()),
});
type Fixture = z.output<typeof fixtureSchema>;

export const readNotes = (path: string | URL = FIXTURE): Fixture =>
  fixtureSchema.parse(JSON.parse(readFileSync(path, 'utf8')));

/** The notes of a team in five languages, with questions that they answer and questions that none answers. */
export const notesBench: Bench = {
  name: 'notes',
  summary: 'How well recall answers questions about the notes of a team in five languages.',
  usage: '[another file, like fixtures/languages.json] [--keyword]',
  run: runNotes,
};

interface Answered {
  readonly type: string;
  readonly language: string;
  /** The place of the first right note; null when it is not among the rows. */
  readonly place: number | null;
  readonly topScore: number;
}

interface Refused {
  readonly rows: number;
  /** Rows that are marked as weak. */
  readonly weak: number;
  readonly topScore: number;
}

interface Mode {
  readonly name: 'hybrid' | 'keyword';
  readonly answered: readonly Answered[];
  readonly refused: readonly Refused[];
}

async function runNotes({ options, args, progress, workspace }: BenchContext): Promise<BenchResult> {
  const fixture = readNotes(args[0]);
  const client = await MemoryClient.open(workspace.folder(), options.keyword);
  try {
    progress.step('notes: storing and embedding');
    for (const { title, content } of fixture.notes) await client.store(NAMESPACE, title, content);
    await client.embedAll((done, total) => progress.at(done, total));
    const modes: Mode[] = [];
    for (const name of options.keyword ? (['keyword'] as const) : (['hybrid', 'keyword'] as const)) {
      progress.step(`notes: recalling, ${name}`);
      modes.push(await ask(client, fixture, name, progress));
    }
    return report(modes, fixture);
  } finally {
    await client.close();
  }
}

async function ask(
  client: MemoryClient,
  { notes, questions, unanswerable }: Fixture,
  name: Mode['name'],
  progress: BenchContext['progress'],
): Promise<Mode> {
  const byTitle = new Map(notes.map((note) => [note.title, note]));
  const languageOf = new Map(notes.map(({ id, language }) => [id, language]));
  const recall = (text: string) => client.recall(NAMESPACE, text, name === 'keyword');
  const answered: Answered[] = [];
  for (const { type, text, notes: right } of questions) {
    const found = await recall(text);
    const place = found.titles.findIndex((title) => right.includes(byTitle.get(title)!.id));
    answered.push({
      type,
      language: languageOf.get(right[0]!)!,
      place: place < 0 ? null : place + 1,
      topScore: topOf(found),
    });
    progress.at(answered.length, questions.length + unanswerable.length);
  }
  const refused: Refused[] = [];
  for (const text of unanswerable) {
    const found = await recall(text);
    refused.push({ rows: found.sure, weak: found.titles.length - found.sure, topScore: topOf(found) });
    progress.at(answered.length + refused.length, questions.length + unanswerable.length);
  }
  return { name, answered, refused };
}

const topOf = ({ scores }: Recalled): number => scores[0] ?? 0;

/** How often a question that notes answer has a higher score than one that none answers; ties count half. */
export function separation(answerable: readonly number[], unanswerable: readonly number[]): number {
  let won = 0;
  for (const high of answerable) {
    for (const low of unanswerable) won += high > low ? 1 : high === low ? 0.5 : 0;
  }
  return won / Math.max(1, answerable.length * unanswerable.length);
}

const CUTS = [1, 3, 10] as const;

function within(answered: readonly Answered[]): readonly number[] {
  return CUTS.map((cut) => {
    const found = answered.filter(({ place }) => place !== null && place <= cut).length;
    return rounded((100 * found) / Math.max(answered.length, 1), 1);
  });
}

/** The questions of each value of a member, in the order of the fixture, then all together. */
function groups(answered: readonly Answered[], member: 'type' | 'language'): [string, readonly Answered[]][] {
  const names = [...new Set(answered.map((one) => one[member]))];
  return names.map((name) => [name, answered.filter((one) => one[member] === name)]);
}

function report(modes: readonly Mode[], { notes }: Fixture): BenchResult {
  const lines = modes.flatMap(({ name, answered }) =>
    [...groups(answered, 'type'), ...groups(answered, 'language'), ['all', answered] as const].map(
      ([group, some]) => [name, group, ...within(some).map((share) => share.toFixed(1)), some.length],
    ),
  );
  const figures = modes.map(({ name, answered, refused }) => ({
    name,
    rows: rounded(refused.reduce((sum, { rows }) => sum + rows, 0) / Math.max(1, refused.length), 2),
    weak: rounded(refused.reduce((sum, { weak }) => sum + weak, 0) / Math.max(1, refused.length), 2),
    auc: rounded(
      separation(
        answered.map(({ topScore }) => topScore),
        refused.map(({ topScore }) => topScore),
      ),
      3,
    ),
  }));
  const shares = (some: readonly Answered[]) => {
    const [first, three, ten] = within(some);
    return { questions: some.length, first, 'top@3': three, 'any@10': ten };
  };
  return {
    tables: [
      {
        title: 'notes: a right note among the first k, in percent of questions',
        columns: ['mode', 'questions', 'k = 1', 'k = 3', 'k = 10', 'count'],
        rows: lines,
        notes: [
          `${notes.length} notes`,
          ...figures.map(
            ({ name, rows, weak, auc }) =>
              `${name}: ${rows} rows, and ${weak} marked as weak, on average for a question that no note answers; AUC of the top score ${auc}`,
          ),
        ],
      },
    ],
    json: Object.fromEntries(
      modes.map(({ name, answered }, at) => [
        name,
        {
          all: shares(answered),
          by_type: Object.fromEntries(groups(answered, 'type').map(([group, some]) => [group, shares(some)])),
          by_language: Object.fromEntries(
            groups(answered, 'language').map(([group, some]) => [group, shares(some)]),
          ),
          unanswerable: { rows: figures[at]!.rows, auc: figures[at]!.auc },
        },
      ]),
    ),
  };
}
