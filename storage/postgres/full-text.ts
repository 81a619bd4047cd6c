import type { Connection, Statement, TextRow, TextRows } from '../sql/connection.js';
import { openSqlite } from '../sqlite/open-sqlite.js';

/**
 * The full text of PostgreSQL holds the terms that SQLite's tokenizer finds, so both engines find the same rows. A small index in
 * memory says which those are.
 */
class Terms {
  readonly #insert;
  readonly #read;
  readonly #drop;

  constructor() {
    const db = openSqlite(':memory:');
    db.exec(`CREATE VIRTUAL TABLE texts USING fts5 (text, content = '', contentless_delete = 1,
        tokenize = 'porter unicode61 remove_diacritics 2');
      CREATE VIRTUAL TABLE terms USING fts5vocab (texts, instance);`);
    this.#insert = db.prepare('INSERT INTO texts (rowid, text) VALUES (1, ?)');
    this.#read = db.prepare<[], string>('SELECT term FROM terms ORDER BY offset').pluck();
    this.#drop = db.prepare('DELETE FROM texts WHERE rowid = 1');
  }

  /** The terms of a text in its order. */
  of(text: string): readonly string[] {
    if (text === '') return [];
    this.#insert.run(text);
    const terms = this.#read.all() as string[];
    this.#drop.run();
    return terms.map(kept);
  }
}

/** PostgreSQL keeps terms below 2 KiB; of a longer one, which no word is, it gets the beginning. */
const TERM_CHARACTERS_MAX = 500;
const kept = (term: string): string => term.slice(0, TERM_CHARACTERS_MAX);

let terms: Terms | null = null;
const termsOf = (text: string): readonly string[] => {
  terms ??= new Terms();
  return terms.of(text);
};

const lexeme = (term: string): string => `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;

/** Places of one term that PostgreSQL keeps; further ones it would drop with a later weight. */
const PLACES_MAX = 250;

/** The weights of the terms of a column; those of the content have none. */
const WEIGHTS = { tags: 'A', nst: 'B', title: 'C' } as const;

/** The weights of what an expression names; `D` is that of a term without one. */
const COLUMN_WEIGHTS: Readonly<Record<string, string>> = {
  tags: 'A',
  '{title}': 'C',
  '{title content tags}': 'ACD',
};

/** PostgreSQL refuses terms and their places beyond a megabyte; what no search of a memory needs is left out before. */
const VECTOR_BYTES_MAX = 1_000_000;
const TERM_BYTES = 6;
const PLACE_BYTES = 2;

/** A row as PostgreSQL's `tsvector`. Between two columns is a gap, so no phrase spans both. */
export function vectorOf({ title, content, tags, nst }: Omit<TextRow, 'rid'>): string {
  const places = new Map<string, string[]>();
  let place = 1;
  let bytes = 0;
  const columns = [
    [tags, WEIGHTS.tags],
    [nst, WEIGHTS.nst],
    [title, WEIGHTS.title],
    [content, ''],
  ] as const;
  for (const [text, weight] of columns) {
    for (const term of termsOf(text)) {
      const known = places.get(term) ?? [];
      place += 1;
      if (known.length >= PLACES_MAX) continue;
      bytes += PLACE_BYTES + (known.length === 0 ? TERM_BYTES + Buffer.byteLength(term) : 0);
      if (bytes > VECTOR_BYTES_MAX) break;
      known.push(`${place - 1}${weight}`);
      places.set(term, known);
    }
    place += 1;
  }
  return [...places].map(([term, all]) => `${lexeme(term)}:${all.join(',')}`).join(' ');
}

/** What no row has, for a phrase without any term. */
const NOTHING = lexeme('\u0001');

const PARTS = /"((?:[^"]|"")*)"|\(|\)|\*|:|\{[^}]*\}|\w+/g;

/** An expression for SQLite's full text as PostgreSQL's `tsquery`. It knows phrases, beginnings, columns, AND, OR and parentheses. */
export function queryOf(expression: string): string {
  const parts = [...expression.matchAll(PARTS)].map(([text]) => text);
  let at = 0;
  const phrase = (weight: string): string => {
    const found = termsOf(parts[at]!.slice(1, -1).replaceAll('""', '"'));
    at += 1;
    const isBeginning = parts[at] === '*';
    if (isBeginning) at += 1;
    if (found.length === 0) return NOTHING;
    const all = found.map((term, index) => {
      const suffix = `${isBeginning && index === found.length - 1 ? '*' : ''}${weight}`;
      return `${lexeme(term)}${suffix === '' ? '' : `:${suffix}`}`;
    });
    return all.length === 1 ? all[0]! : `(${all.join(' <-> ')})`;
  };
  const item = (weight: string): string => {
    const part = parts[at];
    if (part === '(') {
      at += 1;
      const inner = any(weight);
      if (parts[at] !== ')') throw new Error(`the expression ${expression} has an open parenthesis`);
      at += 1;
      return `(${inner})`;
    }
    if (part?.startsWith('"')) return phrase(weight);
    const weights = parts[at + 1] === ':' ? COLUMN_WEIGHTS[part ?? ''] : undefined;
    if (weights !== undefined) {
      at += 2;
      return item(weights);
    }
    throw new Error(`the expression ${expression} has an unknown part "${part}"`);
  };
  const all = (weight: string): string => {
    const items = [item(weight)];
    while (at < parts.length && parts[at] !== ')' && parts[at] !== 'OR') {
      if (parts[at] === 'AND') at += 1;
      items.push(item(weight));
    }
    return items.join(' & ');
  };
  const any = (weight: string): string => {
    const sides = [all(weight)];
    while (parts[at] === 'OR') {
      at += 1;
      sides.push(all(weight));
    }
    return sides.length === 1 ? sides[0]! : `(${sides.join(' | ')})`;
  };
  if (parts.length === 0) return NOTHING;
  const query = any('');
  if (at < parts.length)
    throw new Error(`the expression ${expression} ends with "${parts.slice(at).join(' ')}"`);
  return query;
}

/** The rows of the full text in PostgreSQL. Deleted memories take them along. */
export class PostgresTexts implements TextRows {
  readonly #put: Statement<[number, string]>;

  constructor(db: Pick<Connection, 'prepare'>) {
    this.#put = db.prepare<[number, string]>(
      'INSERT INTO memories_fts (rowid, terms) VALUES (?, ?) ON CONFLICT (rowid) DO UPDATE SET terms = excluded.terms',
    );
  }

  insert({ rid, ...row }: TextRow): void {
    this.#put.run(rid, vectorOf(row));
  }

  replace(row: TextRow): void {
    this.insert(row);
  }
}
