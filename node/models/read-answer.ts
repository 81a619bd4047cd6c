import type { z } from 'zod';
import { MODEL_ANSWER_CHARACTERS_MAX } from '../../protocol/base/model-limits.js';
import { excerpt } from '../../protocol/base/utf8.js';
import type { AnswerRead, ReadAnswer } from './models.js';

const PROBLEM_BYTES_MAX = 300;
const ISSUES_MAX = 3;
/** A longer line is no item. */
const LINE_CHARACTERS_MAX = 500;

/** Reads an answer in JSON by a schema; a fence of code around it, and words before and after it, are left out. */
export function jsonAnswer<S extends z.ZodType>(
  schema: S,
  charactersMax: number = MODEL_ANSWER_CHARACTERS_MAX,
): ReadAnswer<z.output<S>> {
  const read = (answer: string): AnswerRead<z.output<S>> => {
    if (answer.length > charactersMax) return tooLong(charactersMax);
    const json = parsed(withoutFence(answer));
    if (json === undefined) return { ok: false, problem: 'it is not valid JSON.' };
    const read = schema.safeParse(json);
    if (read.success) return { ok: true, value: read.data };
    const issues = read.error.issues.slice(0, ISSUES_MAX).map(({ path, message }) => {
      return path.length === 0 ? message : `${path.join('.')}: ${message}`;
    });
    return { ok: false, problem: excerpt(`${issues.join('; ')}.`, PROBLEM_BYTES_MAX) };
  };
  return Object.assign(read, { schema });
}

/** How an answer of one item for each line is read. */
export interface LineRules<T> {
  readonly itemsMax: number;
  /** Separates items within a line. A line with a part that is no item is left out. */
  readonly separator?: string;
  /** The item of a line without its bullet or number; null leaves the line out. */
  readonly item: (line: string) => T | null;
  /** What the model is told when no line is an item. */
  readonly none: string;
}

/** Reads an answer with one item for each line, or a JSON list of texts; more than the first items are left out. */
export function linesAnswer<T>({ itemsMax, separator, item, none }: LineRules<T>): ReadAnswer<readonly T[]> {
  return (answer) => {
    if (answer.length > MODEL_ANSWER_CHARACTERS_MAX) return tooLong(MODEL_ANSWER_CHARACTERS_MAX);
    const items = new Set<T>();
    for (const line of linesOf(answer)) {
      if (line.length > LINE_CHARACTERS_MAX) continue;
      const parts = separator === undefined ? [line] : bare(line).split(separator);
      const found = parts.map((part) => item(bare(part)));
      // A line with anything else between its items is no list.
      if (found.includes(null)) continue;
      for (const one of found) if (items.size < itemsMax) items.add(one!);
    }
    return items.size === 0 ? { ok: false, problem: none } : { ok: true, value: [...items] };
  };
}

/** The lines of an answer without its fence of code; the texts of a JSON list are lines too. */
function linesOf(answer: string): readonly string[] {
  const text = withoutFence(answer);
  const list = text.startsWith('[') ? parsed(text) : undefined;
  const isList = Array.isArray(list) && list.every((entry) => typeof entry === 'string');
  return isList ? list : text.split(/\r?\n/);
}

const tooLong = (charactersMax: number) =>
  ({ ok: false, problem: `it is longer than ${charactersMax} characters.` }) as const;

/** A line without the bullet, the number and the quotes that models put around an item. */
const bare = (line: string): string =>
  line
    .trim()
    .replace(/^(?:[-*\u2022]|\d{1,3}[.)])\s+/, '')
    .replace(/^["'`]+|["'`,;]+$/g, '')
    .trim();

const FENCE = '```';

/** What stands in the first fence of code; the whole text where there is none. Searched without patterns, which long runs make slow. */
function withoutFence(answer: string): string {
  const open = answer.indexOf(FENCE);
  const line = open === -1 ? -1 : answer.indexOf('\n', open);
  if (line === -1) return answer.trim();
  const close = answer.indexOf(FENCE, line);
  return answer.slice(line + 1, close === -1 ? undefined : close).trim();
}

/** The JSON of a text: all of it, or what stands between its first and its last bracket. */
function parsed(text: string): unknown {
  for (const candidate of [text, ...between(text, '{', '}'), ...between(text, '[', ']')]) {
    try {
      return JSON.parse(candidate);
    } catch {
      // The next one.
    }
  }
  return undefined;
}

function between(text: string, open: string, close: string): string[] {
  const [first, last] = [text.indexOf(open), text.lastIndexOf(close)];
  return first === -1 || last <= first ? [] : [text.slice(first, last + 1)];
}
