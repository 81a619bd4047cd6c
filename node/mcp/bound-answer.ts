import type { z } from 'zod';
import { MCP_ANSWER_BYTES_MAX } from '../../protocol/base/mcp-limits.js';
import { type Answer, type Answered, shapedAnswer } from '../pipeline/answer.js';
import { formattedText } from '../pipeline/formatted-text.js';
import type { Operation } from '../pipeline/operation.js';

type Fields = Readonly<Record<string, unknown>>;

/** An answer as a session gets it: its value in the shape of this surface, its text, and what to say about its end. */
export interface BoundAnswer {
  readonly value: Fields;
  readonly text: string;
  readonly hint: string | null;
}

/** The call of which an answer comes. */
interface Asked {
  readonly operation: Operation;
  readonly input: Fields;
  /** Makes the call again with another limit. */
  readonly again: (input: Fields) => Promise<Answer>;
}

/** Members with which a page says how to go on. */
const CURSORS = ['next', 'next_cursor'] as const;

/** Standards begin with the most general one, which is the first to go; other lists end with what matters least. */
const CUT_AT_START = 'standards';

/**
 * The answer in the bytes that a model can take. A list that is longer ends early and says `truncated`, with the way to the
 * rest; it keeps one row. Operations whose answer has no `truncated` answer no lists, and stay whole.
 */
export async function boundAnswer(asked: Asked, answered: Answered): Promise<BoundAnswer> {
  const whole = shapedAnswer(asked.operation.mcp?.shape, answered);
  const text = textOf(asked, whole);
  if (answered.waits === true || fits(text) || !isList(asked.operation)) {
    return { value: whole, text, hint: null };
  }
  const cut = cutLists(asked, whole);
  if (!CURSORS.some((name) => name in outputOf(asked.operation)) || cut.rows === 0) {
    return bound(asked, cut);
  }
  // The mark of a page leads behind its last row, so a page with fewer rows is asked for.
  const page = await asked.again({ ...asked.input, limit: cut.rows });
  if (!page.ok) return bound(asked, cut);
  const shorter = shapedAnswer(asked.operation.mcp?.shape, page);
  const value = { ...shorter, ...offsetAfter(asked, cut.list, cut.rows), truncated: true };
  if (fits(textOf(asked, value))) return bound(asked, { ...cut, value });
  return bound(asked, cutLists(asked, shorter));
}

const outputOf = ({ output }: Operation): Fields => (output as Partial<z.ZodObject>).shape ?? {};

const isList = (operation: Operation): boolean => 'truncated' in outputOf(operation);

const fits = (text: string): boolean => Buffer.byteLength(text) <= MCP_ANSWER_BYTES_MAX;

/** Compact JSON unless the format asks for another text (reference-mcp-cli §5.2). */
const textOf = ({ operation, input }: Asked, value: Fields): string =>
  formattedText(operation, value, input) ?? JSON.stringify(value);

interface Cut {
  readonly value: Fields;
  /** The list that was cut most, the rows that are left of it, and how many there were. */
  readonly list: string;
  readonly rows: number;
  readonly of: number;
}

/** Shortens the lists of an answer, the largest first, until its text fits or each has one row. */
function cutLists(asked: Asked, whole: Fields): Cut {
  const { [CURSORS[0]]: _next, [CURSORS[1]]: _cursor, ...rest } = whole;
  let value: Fields = { ...rest, truncated: true };
  let main: Omit<Cut, 'value'> | null = null;
  for (const list of listsOf(whole)) {
    const rows = whole[list] as readonly unknown[];
    const kept = rowsThatFit(rows.length, (count) => fits(textOf(asked, withRows(value, list, count))));
    value = withRows(value, list, kept);
    main ??= { list, rows: kept, of: rows.length };
    if (kept > 1 || fits(textOf(asked, value))) break;
  }
  if (main === null) return { value: whole, list: '', rows: 0, of: 0 };
  return { value: { ...value, ...countsAfter(asked, whole, main) }, ...main };
}

/** The most rows for which the text fits, at least one. */
function rowsThatFit(all: number, fit: (count: number) => boolean): number {
  let [low, high] = [1, all];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fit(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function withRows(value: Fields, list: string, count: number): Fields {
  const rows = value[list] as readonly unknown[];
  return { ...value, [list]: list === CUT_AT_START ? rows.slice(-count) : rows.slice(0, count) };
}

/** The names of the lists of rows, those with most bytes first. */
function listsOf(value: Fields): readonly string[] {
  const bytes = (list: unknown) => JSON.stringify(list).length;
  return Object.entries(value)
    .filter(([, list]) => Array.isArray(list) && list.length > 1 && typeof list[0] === 'object')
    .map(([name, list]) => [name, name === CUT_AT_START ? 0 : bytes(list)] as const)
    .sort(([, one], [, other]) => other - one)
    .map(([name]) => name);
}

/** What an answer says of its number of rows, and of the place where the next one begins. */
function countsAfter(asked: Asked, whole: Fields, { rows, of, list }: Omit<Cut, 'value'>): Fields {
  return { ...(whole['count'] === of ? { count: rows } : {}), ...offsetAfter(asked, list, rows) };
}

/** The offset behind the rows of a list; none where the page began at a cursor. */
function offsetAfter({ operation, input }: Asked, list: string, rows: number): Fields {
  const counts = 'next_offset' in outputOf(operation) && list !== CUT_AT_START;
  if (!counts || input['cursor'] !== undefined) return {};
  return { next_offset: Number(input['offset'] ?? 0) + rows };
}

function bound(asked: Asked, { value, list, rows, of }: Cut): BoundAnswer {
  const text = textOf(asked, value);
  if (rows === 0) return { value, text, hint: null };
  const cursor = CURSORS.find((name) => value[name] !== undefined);
  const way =
    value['next_offset'] !== undefined
      ? `go on with offset ${value['next_offset']}`
      : cursor === undefined
        ? 'ask for fewer rows, or narrow the question'
        : `go on with its "${cursor}"`;
  const size = `${MCP_ANSWER_BYTES_MAX / 1024} KiB`;
  return {
    value,
    text,
    hint: `An answer has at most ${size}: this one has ${rows} of ${of} ${list}; ${way}.`,
  };
}
