import type { TableShape } from '../sql/copy-database.js';
import { SCHEMA } from '../sql/schema.js';
import { openSqlite } from './open-sqlite.js';
import type { SqliteConnection } from './sqlite-connection.js';

/** What a database says about itself, and about the process that has it; a copy has its own. */
const OWN = ['schema_version', 'text_index', 'database_owner'];

/** The tables of the schema that hold what a node has, each after those that it refers to. */
export function tableShapes(): readonly TableShape[] {
  const db = openSqlite(':memory:');
  try {
    db.exec(SCHEMA);
    const names = db
      .prepare<[], string>(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name",
      )
      .pluck()
      .all();
    const shapes = names.filter((name) => !OWN.includes(name)).map((name) => shapeOf(db, name));
    return inOrder(db, shapes);
  } finally {
    db.close();
  }
}

interface Column {
  readonly name: string;
  readonly type: string;
  readonly pk: number;
  readonly hidden: number;
}

function shapeOf(db: SqliteConnection, table: string): TableShape {
  const all = db
    .prepare<[string], Column>('SELECT name, type, pk, hidden FROM pragma_table_xinfo(?)')
    .all(table);
  const primary = all.filter(({ pk }) => pk > 0).sort((one, other) => one.pk - other.pk);
  const key = primary.length > 0 ? primary.map(({ name }) => name) : uniqueKey(db, table);
  const isNumbered =
    primary.length === 1 && primary[0]!.type === 'INTEGER' && primary[0]!.name !== 'singleton';
  return {
    ...{ table, key },
    columns: all.filter(({ hidden }) => hidden === 0).map(({ name }) => name),
    numbered: isNumbered ? primary[0]!.name : null,
  };
}

/** The key of a table that has it as an index. */
function uniqueKey(db: SqliteConnection, table: string): readonly string[] {
  const asked = 'SELECT name FROM pragma_index_list(?) WHERE "unique" = 1 AND partial = 0 ORDER BY seq';
  const index = db.prepare<[string], string>(asked).pluck().get(table);
  if (index === undefined) throw new Error(`the table ${table} has no key`);
  return db
    .prepare<[string], string>('SELECT name FROM pragma_index_info(?) ORDER BY seqno')
    .pluck()
    .all(index);
}

function inOrder(db: SqliteConnection, shapes: readonly TableShape[]): readonly TableShape[] {
  const ordered: TableShape[] = [];
  const place = (shape: TableShape): void => {
    if (ordered.includes(shape)) return;
    const parents = db
      .prepare<[string], string>('SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)')
      .pluck()
      .all(shape.table);
    for (const parent of shapes) if (parents.includes(parent.table)) place(parent);
    ordered.push(shape);
  };
  for (const shape of shapes) place(shape);
  return ordered;
}
