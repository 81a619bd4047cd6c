import type pg from 'pg';
import type { Reply, Rows, Run, ServerError } from './messages.js';

const TRUE = 't';
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => (text === TRUE ? 1 : 0),
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  21: Number,
  23: Number,
  700: Number,
  701: Number,
  1700: Number,
};

interface Column {
  readonly name: string;
  readonly parse: ((text: string) => unknown) | null;
}

/** The statements that the server knows on one connection, with the columns of their rows. */
export type KnownStatements = Map<number, readonly Column[]>;

/** What the driver's types leave out. */
type Wire = pg.Connection & {
  bind(config: object): void;
  execute(config: object): void;
  parse(query: object): void;
  describe(message: object): void;
  close(message: object): void;
};

/**
 * Statements that go to the server together, with one end of the batch behind them: behind a failure the server runs none. It
 * prepares a statement at its first use. (With the driver's own queries each statement has an end of its own, which costs the
 * server a write to the network, and a description of its rows each time.)
 */
export class Batch {
  private readonly rows: (unknown[][] | undefined)[] = [];
  private readonly counts: number[] = [];
  private readonly columns: [number, readonly string[]][] = [];
  private answer: ((reply: Reply) => void) | null;

  constructor(
    private readonly runs: readonly Run[],
    private readonly texts: ReadonlyMap<number, string>,
    private readonly known: KnownStatements,
    answer: (reply: Reply) => void,
  ) {
    this.answer = answer;
  }

  submit(connection: pg.Connection): null {
    const wire = connection as Wire;
    wire.stream.cork();
    const fresh = new Set<number>();
    for (const { statement, values, part } of this.runs) {
      const name = `s${statement}`;
      const portal = part?.name ?? '';
      if (part?.isFirst === false) {
        wire.execute({ portal, rows: part.rows });
        continue;
      }
      const isFresh = !this.known.has(statement) && !fresh.has(statement);
      if (isFresh) {
        fresh.add(statement);
        // A failed batch may have left it there.
        wire.close({ type: 'S', name });
        wire.parse({ name, text: this.texts.get(statement)!, types: [] });
      }
      // One of an iteration before may be there.
      if (portal !== '') wire.close({ type: 'P', name: portal });
      wire.bind({ portal, statement: name, values, binary: false, valueMapper: bound });
      if (isFresh) wire.describe({ type: 'P', name: portal });
      wire.execute({ portal, rows: part?.rows ?? 0 });
    }
    wire.sync();
    wire.stream.uncork();
    return null;
  }

  handleRowDescription({
    fields,
  }: {
    fields: readonly { readonly name: string; readonly dataTypeID: number }[];
  }): void {
    const described = fields.map(({ name, dataTypeID }) => ({ name, parse: PARSERS[dataTypeID] ?? null }));
    const { statement } = this.runs[this.counts.length]!;
    this.known.set(statement, described);
    this.columns.push([statement, fields.map(({ name }) => name)]);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const at = this.counts.length;
    const { statement, wanted } = this.runs[at]!;
    if (wanted !== true) return;
    const columns = this.known.get(statement)!;
    const row: unknown[] = fields;
    for (let index = 0; index < fields.length; index += 1) {
      const parse = columns[index]!.parse;
      const text = fields[index]!;
      if (parse !== null && text !== null) row[index] = parse(text);
    }
    const rows = this.rows[at];
    if (rows === undefined) this.rows[at] = [row];
    else rows.push(row);
  }

  handleCommandComplete({ text }: { text: string }): void {
    const { statement } = this.runs[this.counts.length]!;
    if (!this.known.has(statement)) this.known.set(statement, []);
    this.counts.push(Number(/\d+$/.exec(text)?.[0] ?? 0));
  }

  handleEmptyQuery(): void {
    this.counts.push(0);
  }

  /** A part of the rows was read. */
  handlePortalSuspended(): void {
    this.counts.push(this.rows[this.counts.length]?.length ?? 0);
  }

  handleError(error: unknown): void {
    const { counts, columns } = this;
    this.done({ rows: [], counts, columns, error: errorOf(error), failed: counts.length });
  }

  handleReadyForQuery(): void {
    this.done({ rows: this.rows as (Rows | undefined)[], counts: this.counts, columns: this.columns });
  }

  private done(reply: Reply): void {
    this.answer?.(reply);
    this.answer = null;
  }
}

const bound = (value: unknown): unknown => {
  if (value === null || value === undefined) return null;
  if (value instanceof Uint8Array)
    return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return String(value);
};

/** An error of the server, or of the way to it. */
export function errorOf(error: unknown): ServerError {
  const { code, message, constraint, severity } = error as Partial<pg.DatabaseError>;
  const isOfServer = severity !== undefined && code !== undefined;
  return {
    code: isOfServer ? code : 'CONNECTION',
    message: message ?? String(error),
    constraint: constraint ?? null,
  };
}
