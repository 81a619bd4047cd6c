import type { Find, FindValue, Where } from '../../../protocol/kinds/find.js';
import type { LocalKind, LocalMember } from '../../../protocol/kinds/local-kind.js';
import { LOCAL_KINDS } from '../../../protocol/release.js';
import type { Connection } from '../connection.js';
import { Statements } from '../statements.js';
import { FindRows, localSource, type RowSource, whereOf } from './find-rows.js';
import { literal } from './record-table.js';

const TYPES: Readonly<Record<LocalMember, string>> = {
  text: 'TEXT NOT NULL',
  'text?': 'TEXT',
  integer: 'INTEGER NOT NULL',
  'integer?': 'INTEGER',
  number: 'REAL NOT NULL',
  boolean: 'INTEGER NOT NULL',
};

function tableSql({ table, key, numbered, members }: LocalKind): string {
  const isKey = (member: string) => key.length === 1 && member === key[0];
  const columns = Object.entries(members).map(([member, type]) => {
    if (!isKey(member)) return `  ${literal(member)} ${TYPES[type]}`;
    return `  ${literal(member)} ${numbered ? 'INTEGER PRIMARY KEY AUTOINCREMENT' : `${TYPES[type]} PRIMARY KEY`}`;
  });
  return `CREATE TABLE ${literal(table)} (\n${columns.join(',\n')}\n);`;
}

/** The indexes of a kind by their names. A key of several members is one of them. */
function indexesOf({ table, key, indexes }: LocalKind): ReadonlyMap<string, string> {
  const sqlOf = (name: string, members: readonly string[], word: string) =>
    [
      name,
      `CREATE ${word} ${literal(name)} ON ${literal(table)} (${members.map(literal).join(', ')});`,
    ] as const;
  const ofKey = key.length > 1 ? [sqlOf(`${table}_by_key`, key, 'UNIQUE INDEX')] : [];
  return new Map([...ofKey, ...indexes.map(({ name, members }) => sqlOf(name, members, 'INDEX'))]);
}

/** The tables of all local kinds, for a new database. */
export const LOCAL_TABLES = LOCAL_KINDS.flatMap((kind) => [tableSql(kind), ...indexesOf(kind).values()]).join(
  '\n\n',
);

/** What is missing until the tables of a database are what the local kinds of this release declare: rows stay as they are. */
export function localKindChanges(db: Connection): readonly string[] {
  const there = db
    .prepare("SELECT name, tbl_name AS of FROM sqlite_schema WHERE type IN ('table', 'index')")
    .all() as {
    readonly name: string;
    readonly of: string;
  }[];
  const names = new Set(there.map(({ name }) => name));
  return LOCAL_KINDS.flatMap((kind) => {
    const declared = indexesOf(kind);
    const ofTable = names.has(kind.table) ? missingMembers(db, kind) : [tableSql(kind)];
    const missing = [...declared].filter(([name]) => !names.has(name)).map(([, sql]) => sql);
    const surplus = there.filter(
      ({ of, name }) =>
        of === kind.table && name !== kind.table && !declared.has(name) && !name.startsWith('sqlite_'),
    );
    return [...ofTable, ...missing, ...surplus.map(({ name }) => `DROP INDEX "${name}"`)];
  });
}

function missingMembers(db: Connection, { table, members }: LocalKind): readonly string[] {
  const columns = new Set(
    db
      .prepare(`SELECT name FROM pragma_table_info('${literal(table)}')`)
      .pluck()
      .all(),
  );
  return Object.keys(members)
    .filter((member) => !columns.has(member))
    .map((member) => addedMember({ table, members }, member));
}

const addedMember = ({ table, members }: Pick<LocalKind, 'table' | 'members'>, member: string): string =>
  `ALTER TABLE ${literal(table)} ADD COLUMN ${literal(member)} ${TYPES[members[member]!]}`;

/** Each member of the local kinds, with the statement that adds its column to a table without it. */
export const addedMembers = (): readonly {
  readonly table: string;
  readonly member: string;
  readonly sql: string;
}[] =>
  LOCAL_KINDS.flatMap((kind) =>
    Object.keys(kind.members).map((member) => ({
      table: kind.table,
      member,
      sql: addedMember(kind, member),
    })),
  );

const SOURCES: ReadonlyMap<string, RowSource> = new Map(
  LOCAL_KINDS.map((kind) => [kind.name, localSource(kind)] as const),
);

/** Where the rows of a local kind are; null for another name. */
export const localSourceOf = (name: string): RowSource | null => SOURCES.get(name) ?? null;

/** Changes rows of local kinds. */
export class LocalTables {
  private readonly statements: Statements;

  constructor(db: Connection) {
    this.statements = new Statements(db);
  }

  /** Writes a row whole. A numbered row without its number gets the next one. */
  put(name: string, row: object): void {
    const { table, key, members, numbered } = kindOf(name);
    const given = row as Readonly<Record<string, unknown>>;
    const named = Object.keys(members).filter((member) => !numbered || given[member] !== undefined);
    const rest = named.filter((member) => !key.includes(member));
    const change =
      rest.length === 0
        ? 'NOTHING'
        : `UPDATE SET ${rest.map((member) => `${member} = excluded.${member}`).join(', ')}`;
    this.statements
      .get(
        `INSERT INTO ${table} (${named.join(', ')}) VALUES (${named.map((member) => `@${member}`).join(', ')})
         ON CONFLICT (${key.join(', ')}) DO ${change}`,
      )
      .run(Object.fromEntries(named.map((member) => [member, boundOf(given[member])])));
  }

  /** Gives members of all rows that meet the conditions one value. */
  change(name: string, where: Where, set: Readonly<Record<string, FindValue>>): void {
    const { table } = kindOf(name);
    const { sql, parameters } = whereOf(sourceOf(name), where);
    const given = Object.entries(set).map(([member, value]) => [`set_${literal(member)}`, value] as const);
    const changes = Object.keys(set).map((member) => `${member} = @set_${member}`);
    this.statements
      .get(`UPDATE ${table} SET ${changes.join(', ')} WHERE TRUE${sql}`)
      .run({ ...parameters, ...Object.fromEntries(given) });
  }

  drop(name: string, where: Where): void {
    const { sql, parameters } = whereOf(sourceOf(name), where);
    this.statements.get(`DELETE FROM ${kindOf(name).table} WHERE TRUE${sql}`).run(parameters);
  }
}

/** Reads rows of local kinds inside the write transaction. */
export class LocalReads {
  private readonly statements: Statements;
  private readonly find: FindRows;

  constructor(private readonly db: Connection) {
    this.statements = new Statements(db);
    this.find = new FindRows(this.statements);
  }

  rows({ of, only, ...find }: Find): readonly object[] {
    const source = sourceOf(of);
    return only === undefined ? this.find.all(source, find) : [...this.find.members(source, only, find)];
  }

  count(of: string, where: Where, max: number | null): number {
    return this.find.count(sourceOf(of), where, max);
  }

  lastNumber(of: string): number {
    return lastNumber(this.db, kindOf(of));
  }
}

/** The last number that a numbered kind ever gave, also when its row is gone. */
export const lastNumber = (db: Connection, { table, key }: Pick<LocalKind, 'table' | 'key'>): number =>
  db.lastNumberOf(table, key[0]!);

function sourceOf(name: string): RowSource {
  const source = localSourceOf(name);
  if (source === null) throw new Error(`there is no local kind "${name}"`);
  return source;
}

function kindOf(name: string): LocalKind {
  const kind = LOCAL_KINDS.find((one) => one.name === name);
  if (kind === undefined) throw new Error(`there is no local kind "${name}"`);
  return kind;
}

const boundOf = (value: unknown): unknown => (typeof value === 'boolean' ? Number(value) : (value ?? null));
