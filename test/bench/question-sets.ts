import { readdirSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { titleOfText } from '../../node/operations/core/title-of-text.js';
import { readNotes } from './notes.js';
import { collectionFor, readConversations } from './retrieval-data.js';

/** A question to the memories of one namespace. */
export interface Question {
  readonly text: string;
  /** Keys of the memories that answer it; empty when none does. */
  readonly right: readonly string[];
}

export interface SetMemory {
  readonly key: string;
  readonly title: string;
  readonly content: string;
  readonly tags?: readonly string[];
  readonly conversation?: string;
  readonly turn?: number;
}

/** Memories of one namespace with questions about them. */
export interface QuestionSet {
  readonly source: string;
  /** What its memories are: notes, languages, code, lists, turns of a conversation, or whole conversations. */
  readonly sort: string;
  /** False for a set that no weight is fitted to. */
  readonly fitted: boolean;
  /**
   * How its questions are asked: plainly, as people ask who know what they stored, or hard on purpose: many paraphrases without
   * a common word, and questions without an answer in the words of notes.
   */
  readonly asks: 'plain' | 'hard';
  readonly namespace: string;
  readonly memories: readonly SetMemory[];
  readonly questions: readonly Question[];
}

const FIXTURES = new URL('../../../fixtures/', import.meta.url);
const STORES = new URL('stores/', FIXTURES);

const storeSchema = z.strictObject({
  name: z.string(),
  sort: z.enum(['notes', 'languages', 'code', 'lists']),
  fitted: z.boolean(),
  asks: z.enum(['plain', 'hard']),
  notes: z
    .array(
      z.strictObject({
        id: z.string(),
        language: z.string().optional(),
        title: z.string().optional(),
        content: z.string(),
        tags: z.array(z.string()).optional(),
      }),
    )
    .optional(),
  /** The store whose notes these questions are about, in place of notes of their own. */
  notesOf: z.string().optional(),
  questions: z.array(z.strictObject({ text: z.string(), notes: z.array(z.string()).min(1) })),
  unanswerable: z.array(z.string()),
});

type Store = z.output<typeof storeSchema>;

const storeFrom = (file: URL): Store => storeSchema.parse(JSON.parse(readFileSync(file, 'utf8')));

/** The stores of people, teams and agents, as `mnemesh store` keeps their notes: those of `fixtures/stores`. */
function ordinaryStores(): QuestionSet[] {
  const files = readdirSync(STORES)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => new URL(name, STORES));
  return files.map(storeFrom).map((store) => {
    const { name, notes } = notesOf(store);
    return {
      ...{
        source: store.name,
        sort: store.sort,
        fitted: store.fitted,
        asks: store.asks,
        namespace: `${name}-1`,
      },
      memories: notes.map(({ id, title, content, tags }) => ({
        ...{ key: id, title: title ?? titleOfText(content), content },
        ...(tags === undefined ? {} : { tags }),
      })),
      questions: questionsOf(
        store.questions.map(({ text, notes: right }) => ({ text, right })),
        store.unanswerable,
      ),
    };
  });
}

/** The notes that a store asks about, with the name of the store that has them. */
function notesOf(store: Store): { readonly name: string; readonly notes: NonNullable<Store['notes']> } {
  const own = store.notesOf === undefined ? store : storeFrom(new URL(`${store.notesOf}.json`, STORES));
  if (own.notes === undefined) throw new Error(`${own.name} has no notes`);
  return { name: own.name, notes: own.notes };
}

const questionsOf = (answerable: readonly Question[], others: readonly string[]): Question[] => [
  ...answerable,
  ...others.map((text) => ({ text, right: [] })),
];

/** Every set; those of conversations only with a file in LoCoMo's or LongMemEval's format. */
export function questionSets(path: string | undefined): QuestionSet[] {
  const team = (name: string, file?: URL): QuestionSet => {
    const { notes, questions, unanswerable } = readNotes(file);
    const right = questions.map(({ text, notes: ids }) => ({ text, right: ids }));
    return {
      ...{ source: name, sort: name === 'notes' ? 'notes' : 'languages', fitted: true },
      ...{ asks: 'plain', namespace: name },
      memories: notes.map(({ id, title, content }) => ({ key: id, title, content })),
      questions: questionsOf(right, unanswerable),
    };
  };
  const stores = ordinaryStores();
  return [
    ...stores,
    ...stores.filter(({ asks }) => asks === 'plain').flatMap(parts),
    team('notes'),
    team('languages', new URL('languages.json', FIXTURES)),
    paraphrases(),
    ...(path === undefined ? [] : conversations(path)),
  ];
}

const PART_NOTES = 10;
const PARTS_MAX = 4;

/** Stores of a few notes from one, with all its questions: most of them have no answer there, as in a store that has just begun. */
function parts({ source, memories, questions, ...store }: QuestionSet): QuestionSet[] {
  const count = Math.min(PARTS_MAX, Math.floor(memories.length / PART_NOTES));
  return Array.from({ length: count }, (_, at): QuestionSet => {
    const some = memories.filter((_, place) => place % count === at).slice(0, PART_NOTES);
    const keys = new Set(some.map(({ key }) => key));
    const rightOf = ({ right }: Question) => right.filter((key) => keys.has(key));
    return {
      ...{
        ...store,
        fitted: false,
        source: `${source}, part ${at + 1}`,
        namespace: `${store.namespace}-part-${at + 1}`,
      },
      memories: some,
      questions: questions.map((question) => ({ text: question.text, right: rightOf(question) })),
    };
  });
}

function paraphrases(): QuestionSet {
  const schema = z.array(z.object({ query: z.string().optional(), title: z.string(), content: z.string() }));
  const file = new URL('paraphrases.json', FIXTURES);
  const memories = schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  return {
    ...{ source: 'paraphrases', sort: 'notes', fitted: true, asks: 'hard' },
    namespace: 'paraphrases',
    memories: memories.map(({ title, content }) => ({ key: title, title, content })),
    questions: memories.flatMap(({ query, title }) =>
      query === undefined ? [] : [{ text: query, right: [title] }],
    ),
  };
}

/** Every fourth question of the next conversation is one that this conversation does not answer. */
function conversations(path: string): QuestionSet[] {
  const all = readConversations(path);
  return (['session', 'turn'] as const).flatMap((task) => {
    const collections = all.map((conversation, at) => collectionFor(conversation, at + 1, task));
    return collections.map(({ namespace, memories, questions }, at): QuestionSet => {
      const next = collections[(at + 1) % collections.length]!;
      const foreign = next.questions.filter((_, index) => collections.length > 1 && index % 4 === 0);
      return {
        ...{ source: `${task} ${at + 1}`, sort: task, fitted: true, asks: 'plain' },
        ...{ namespace, memories },
        questions: questionsOf(
          questions.map(({ text, evidence }) => ({ text, right: evidence })),
          foreign.map(({ text }) => text),
        ),
      };
    });
  });
}
