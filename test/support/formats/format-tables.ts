import type Database from 'better-sqlite3';

/** What no query of the store tells. */
export interface TableFacts {
  /** Ids of removed memories, with what was removed. */
  readonly tombstones: Readonly<Record<string, object>>;
  /** The payloads of all records, by kind and id. */
  readonly records: Readonly<Record<string, unknown>>;
  /** Ids of operations that were set aside, because their numbers were given twice. */
  readonly setAside: readonly string[];
  /** Subjects of which several versions stand beside each other. */
  readonly siblings: readonly string[];
  readonly nonces: number;
}

interface TombstoneColumns {
  readonly id: string;
  readonly word: string;
  readonly facts: string;
}

type Row = Readonly<Record<'kind' | 'id' | 'payload', string>>;

/** Reads it from an open database. */
export function tableFacts(db: Database.Database): TableFacts {
  const tombstones = db
    .prepare("SELECT id, namespace, word, reason, facts FROM tombstones WHERE kind = 'memory' ORDER BY id")
    .all() as TombstoneColumns[];
  const records = db.prepare('SELECT kind, id, payload FROM records ORDER BY kind, id').all() as Row[];
  return {
    tombstones: Object.fromEntries(
      tombstones.map(({ id, facts, ...rest }) => [id, { ...rest, ...JSON.parse(facts) }]),
    ),
    records: Object.fromEntries(
      records.map(({ kind, id, payload }) => [`${kind} ${id}`, JSON.parse(payload)]),
    ),
    setAside: db
      .prepare("SELECT origin || '/' || origin_seq FROM operations WHERE parked = 'forked' ORDER BY 1")
      .pluck()
      .all() as string[],
    siblings: db.prepare('SELECT DISTINCT subject FROM siblings ORDER BY subject').pluck().all() as string[],
    nonces: db.prepare('SELECT count(*) FROM federation_nonce_cache').pluck().get() as number,
  };
}

/** The number of rows of each table, without those that SQLite makes. */
export function tableCounts(db: Database.Database): Readonly<Record<string, number>> {
  const names = db
    .prepare(
      "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%'",
    )
    .pluck()
    .all() as string[];
  const count = (name: string) => db.prepare(`SELECT count(*) FROM ${name}`).pluck().get() as number;
  return Object.fromEntries(names.sort().map((name) => [name, count(name)]));
}
