import { KINDS } from '../../protocol/release.js';

/** A statement as PostgreSQL takes it. */
export interface Translated {
  readonly text: string;
  /** For each parameter its name, or null for one that is given by its position. */
  readonly parameters: readonly (string | null)[];
  /** Numbers of the parameters, from 0, that hold an expression for the full text. */
  readonly expressions: ReadonlySet<number>;
  /** Numbers of the parameters that are only compared with NULL. */
  readonly tests: ReadonlySet<number>;
}

interface Token {
  readonly kind: 'space' | 'word' | 'text' | 'parameter' | 'other';
  readonly text: string;
}

const TOKENS =
  /(?<space>\s+|--[^\n]*|\/\*[\s\S]*?\*\/)|(?<text>'(?:[^']|'')*'|"(?:[^"]|"")*")|(?<parameter>\?|@\w+)|(?<word>[A-Za-z_]\w*)|(?<other>\d+(?:\.\d+)?|->>|->|\|\||<=|>=|<>|!=|[\s\S])/g;

function tokensOf(sql: string): Token[] {
  return [...sql.matchAll(TOKENS)].map(({ groups, 0: text }) => {
    const kind = Object.keys(groups!).find((name) => groups![name] !== undefined) as Token['kind'];
    return { kind, text };
  });
}

/** Words that end a source of rows, so no alias follows them. */
const AFTER_SOURCE = new Set(
  'ON WHERE ORDER GROUP LIMIT CROSS JOIN LEFT INNER UNION EXCEPT INTERSECT HAVING OFFSET SET RETURNING USING INDEXED NOT'.split(
    ' ',
  ),
);

/** Words that are another type, or another function, in PostgreSQL. */
const WORDS: Readonly<Record<string, string>> = {
  INTEGER: 'BIGINT',
  REAL: 'DOUBLE PRECISION',
  BLOB: 'BYTEA',
  TEXT: 'TEXT COLLATE "C"',
  CHAR: 'chr',
};

/** What only PostgreSQL gets: SQLite takes the rows of an ordered join in the order of its first source. */
const ONLY_HERE = /^\/\* postgres: (.*) \*\/$/;

/** Members of records that hold numbers, as paths: PostgreSQL must be told, where SQLite looks at the value. */
const NUMBERS: ReadonlySet<string> = new Set(
  KINDS.all.flatMap(({ payload }) => payload.numbers.map((member) => `'$.${member}'`)),
);

/**
 * Translates a statement of the common SQL: parameters, null-safe comparison (`IS ?`), ordered joins (`CROSS JOIN … ON`), hints of
 * indexes, sources without an alias, and searches of the full text. The functions that it calls are made by the schema.
 */
export function translate(sql: string): Translated {
  const tokens = tokensOf(sql);
  const parameters: (string | null)[] = [];
  const expressions = new Set<number>();
  const tests = new Set<number>();
  const out: string[] = [];
  const next = (from: number): number => {
    let at = from;
    while (tokens[at]?.kind === 'space') at += 1;
    return at;
  };
  const word = (at: number): string => (tokens[at]?.kind === 'word' ? tokens[at].text.toUpperCase() : '');
  const numberOf = (token: string): number => {
    const name = token === '?' ? null : token.slice(1);
    const known =
      name === null ? -1 : parameters.findIndex((each, index) => each === name && !tests.has(index));
    if (known !== -1) return known;
    parameters.push(name);
    return parameters.length - 1;
  };
  /** For each open parenthesis whether it is a source of rows. */
  const open: boolean[] = [];
  let aliases = 0;
  let before = '';
  for (let at = 0; at < tokens.length; at += 1) {
    const { kind, text } = tokens[at]!;
    if (kind === 'space') {
      out.push(ONLY_HERE.exec(text)?.[1] ?? text);
      continue;
    }
    const upper = kind === 'word' ? text.toUpperCase() : text;
    if (kind === 'parameter' && word(next(at + 1)) === 'IS') {
      // The server cannot tell the type of a parameter from this, so the test for NULL has one of its own.
      parameters.push(text === '?' ? null : text.slice(1));
      tests.add(parameters.length - 1);
      out.push(`$${parameters.length}::text`);
    } else if (kind === 'parameter') out.push(`$${numberOf(text) + 1}`);
    else if (upper === '(') {
      open.push(before === 'FROM' || before === 'JOIN');
      out.push(text);
    } else if (upper === ')') {
      out.push(text);
      const follows = next(at + 1);
      const isNamed = tokens[follows]?.kind === 'word' && !AFTER_SOURCE.has(word(follows));
      if (open.pop() === true && !isNamed) {
        aliases += 1;
        out.push(` AS source_${aliases}`);
      }
    } else if (upper === 'IS') {
      const first = next(at + 1);
      const isNot = word(first) === 'NOT';
      const compared = isNot ? next(first + 1) : first;
      if (/^(NULL|TRUE|FALSE|DISTINCT)$/.test(word(compared))) out.push(text);
      else {
        out.push(isNot ? 'IS DISTINCT FROM' : 'IS NOT DISTINCT FROM');
        if (isNot) at = first;
      }
    } else if (text === '->>' && before === 'PAYLOAD' && NUMBERS.has(tokens[next(at + 1)]?.text ?? ''))
      out.push('->#');
    else if (upper === 'CROSS' && isConditional(tokens, at, next, word)) {
      // The planner of PostgreSQL chooses the order itself.
    } else if (upper === 'INDEXED' && word(next(at + 1)) === 'BY') {
      at = next(next(at + 1) + 1);
    } else if (upper === 'MATCH') {
      const given = next(at + 1);
      const number = numberOf(tokens[given]!.text);
      expressions.add(number);
      // What stands before is the name of the table.
      while (out.pop()!.trim() === '');
      out.push(`terms @@ $${number + 1}::tsquery`);
      at = given;
    } else if (upper === 'WITHOUT' && word(next(at + 1)) === 'ROWID') at = next(at + 1);
    else if (upper === 'AUTOINCREMENT') out.push('');
    else if (upper === 'VIRTUAL') out.push('STORED');
    else if (
      kind === 'word' &&
      Object.hasOwn(WORDS, upper) &&
      // Types are written in capitals; a column may have such a name.
      (upper === 'CHAR' ? tokens[next(at + 1)]?.text === '(' : text === upper)
    ) {
      out.push(WORDS[upper]!);
    } else if (kind === 'word' && /[a-z]/.test(text) && /[A-Z]/.test(text)) out.push(`"${text}"`);
    else out.push(text);
    before = upper;
  }
  return { text: out.join(''), parameters, expressions, tests };
}

/** True for an ordered join that has a condition. */
function isConditional(
  tokens: readonly Token[],
  from: number,
  next: (from: number) => number,
  word: (at: number) => string,
): boolean {
  let depth = 0;
  for (let at = next(next(from + 1) + 1); at < tokens.length; at += 1) {
    const { text } = tokens[at]!;
    if (text === '(') depth += 1;
    if (text === ')') depth -= 1;
    if (depth < 0) return false;
    if (depth > 0) continue;
    if (word(at) === 'ON') return true;
    if (/^(CROSS|JOIN|LEFT|WHERE|ORDER|GROUP|LIMIT|UNION)$/.test(word(at)) || text === ',') return false;
  }
  return false;
}
