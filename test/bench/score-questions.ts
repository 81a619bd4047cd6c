import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { readNotes } from './notes.js';
import { collectionFor, readConversations } from './retrieval-data.js';

/** A question to the memories of one namespace. */
export interface Question {
  readonly text: string;
  /** Titles of the memories that answer it; empty when none does. */
  readonly right: readonly string[];
  /** Questions of one fold are judged by weights that were fitted to the other folds. */
  readonly fold: number;
}

/** Memories of one namespace with questions about them. */
export interface QuestionSet {
  readonly source: string;
  readonly namespace: string;
  readonly memories: readonly { readonly title: string; readonly content: string }[];
  readonly questions: readonly Question[];
}

export const FOLDS = 5;
const PARAPHRASES = new URL('../../../fixtures/paraphrases.json', import.meta.url);

/** Every set; those of conversations only with a file in LoCoMo's or LongMemEval's format. */
export function questionSets(path: string | undefined): QuestionSet[] {
  return [notes(), paraphrases(), ...(path === undefined ? [] : conversations(path))];
}

function notes(): QuestionSet {
  const { notes: memories, questions, unanswerable } = readNotes();
  const titles = new Map(memories.map(({ id, title }) => [id, title]));
  const answerable = questions.map(({ text, notes: right }, at) => ({
    text,
    right: right.map((id) => titles.get(id)!),
    fold: at % FOLDS,
  }));
  const others = unanswerable.map((text, at) => ({ text, right: [], fold: at % FOLDS }));
  return { source: 'notes', namespace: 'notes', memories, questions: [...answerable, ...others] };
}

function paraphrases(): QuestionSet {
  const schema = z.array(z.object({ query: z.string().optional(), title: z.string(), content: z.string() }));
  const memories = schema.parse(JSON.parse(readFileSync(PARAPHRASES, 'utf8')));
  const questions = memories.flatMap(({ query, title }, at) =>
    query === undefined ? [] : [{ text: query, right: [title], fold: at % FOLDS }],
  );
  return { source: 'paraphrase', namespace: 'paraphrases', memories, questions };
}

/** Every fourth question of the next conversation is one that this conversation does not answer. */
function conversations(path: string): QuestionSet[] {
  const all = readConversations(path);
  return (['session', 'turn'] as const).flatMap((task) => {
    const collections = all.map((conversation, at) => collectionFor(conversation, at + 1, task));
    return collections.map(({ namespace, memories, questions }, at): QuestionSet => {
      const fold = at % FOLDS;
      const titlesOf = (keys: readonly string[]) =>
        memories.filter(({ key }) => keys.includes(key)).map(({ title }) => title);
      const own = questions.map(({ text, evidence }) => ({ text, right: titlesOf(evidence), fold }));
      const next = collections[(at + 1) % collections.length]!;
      const foreign = next.questions.filter((_, index) => collections.length > 1 && index % 4 === 0);
      const others = foreign.map(({ text }) => ({ text, right: [], fold }));
      return { source: task, namespace, memories, questions: [...own, ...others] };
    });
  });
}

/** Every `size` questions of a set as one long text, which any of their memories answers. */
export function joined({ questions, ...set }: QuestionSet, size: number): QuestionSet {
  const groups: Question[] = [];
  for (const answerable of [true, false]) {
    const own = questions.filter(({ right }) => right.length > 0 === answerable);
    for (let at = 0; at + size <= own.length; at += size) {
      const some = own.slice(at, at + size);
      groups.push({
        text: some.map(({ text }) => text).join(' '),
        right: some.flatMap(({ right }) => right),
        fold: (at / size) % FOLDS,
      });
    }
  }
  return { ...set, source: `${set.source}, long`, questions: groups };
}
