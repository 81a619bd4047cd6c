import type { Changes, Statement } from '../sql/connection.js';
import type { Rows } from './messages.js';
import type { Effect } from './read-cache.js';
import type { Translated } from './translate.js';

/** A statement of a connection, with what it does. */
export interface Prepared extends Translated {
  readonly number: number;
  readonly effect: Effect;
}

/** The connection behind a statement. */
export interface StatementHost {
  queue(prepared: Prepared, values: readonly unknown[], onCount: (count: number) => void): void;
  ask(prepared: Prepared, values: readonly unknown[]): { columns: readonly string[]; rows: Rows };
  askAhead(prepared: Prepared, values: readonly unknown[]): void;
  parts(prepared: Prepared, values: readonly unknown[]): IterableIterator<readonly unknown[]>;
  columnsOf(prepared: Prepared): readonly string[];
  flush(): void;
}

/** A statement with the shape in which it answers its rows. */
export class PostgresStatement implements Statement {
  #shape: 'object' | 'first' | 'list' = 'object';

  constructor(
    private readonly db: StatementHost,
    private readonly prepared: Prepared,
  ) {}

  pluck(): this {
    this.#shape = 'first';
    return this;
  }

  raw(): this {
    this.#shape = 'list';
    return this;
  }

  get(...parameters: unknown[]): unknown {
    return this.all(...parameters)[0];
  }

  all(...parameters: unknown[]): unknown[] {
    const { rows, columns } = this.db.ask(this.prepared, this.#values(parameters));
    return rows.map((row) => this.#shaped(row, columns));
  }

  #shaped(row: readonly unknown[], columns: readonly string[]): unknown {
    if (this.#shape === 'first') return shown(row[0]);
    if (this.#shape === 'list') return row.map(shown);
    return Object.fromEntries(columns.map((column, index) => [column, shown(row[index])]));
  }

  ahead(parameters: readonly unknown[]): void {
    this.db.askAhead(this.prepared, this.#values([...parameters]));
  }

  *iterate(...parameters: unknown[]): IterableIterator<unknown> {
    for (const row of this.db.parts(this.prepared, this.#values(parameters)))
      yield this.#shaped(row, this.db.columnsOf(this.prepared));
  }

  run(...parameters: unknown[]): Changes {
    let changes: number | null = null;
    this.db.queue(this.prepared, this.#values(parameters), (count) => {
      changes = count;
    });
    const { db } = this;
    return {
      get changes() {
        if (changes === null) db.flush();
        return changes ?? 0;
      },
    };
  }

  /** The values in the order of the parameters. */
  #values(given: unknown[]): unknown[] {
    const named = given.find(
      (each) => typeof each === 'object' && each !== null && !(each instanceof Uint8Array),
    ) as Readonly<Record<string, unknown>> | undefined;
    const positions = given.filter((each) => each !== named);
    let position = 0;
    return this.prepared.parameters.map((name, index) => {
      if (this.prepared.tests.has(index)) return named?.[name!] === null ? null : '';
      if (name === null) {
        position += 1;
        return boundOf(positions[position - 1]);
      }
      return boundOf(named?.[name]);
    });
  }
}

/** PostgreSQL has no U+0000 in texts. No row holds one (`textOf`), so only something that is looked for can. */
const boundOf = (value: unknown): unknown => {
  if (value === undefined) throw new RangeError('a parameter of a statement has no value');
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\ufffd') : value;
};

/** Bytes lose their class on their way between threads. */
const shown = (value: unknown): unknown =>
  value instanceof Uint8Array && !Buffer.isBuffer(value)
    ? Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    : value;
