import type Database from 'better-sqlite3';

/** What no query of the store tells; when a format names its tables otherwise, this file follows it. */
export interface TableFacts {
  /** Ids of removed memories, with what was removed. */
  readonly tombstones: Readonly<Record<string, object>>;
  readonly namespaceMeta: readonly object[];
  /** Ids of operations that were set aside, because their numbers were given twice. */
  readonly setAside: readonly string[];
  /** Subjects of which several versions stand beside each other. */
  readonly siblings: readonly string[];
  readonly nonces: number;
}

/** Reads it from an open database. */
export function tableFacts(db: Database.Database): TableFacts {
  const tombstones = db
    .prepare('SELECT id, namespace, title, kind, reason, expires_at, version FROM tombstones ORDER BY id')
    .all() as { readonly id: string }[];
  return {
    tombstones: Object.fromEntries(tombstones.map(({ id, ...rest }) => [id, rest])),
    namespaceMeta: db.prepare('SELECT * FROM namespace_meta ORDER BY namespace').all() as object[],
    setAside: db
      .prepare("SELECT origin || '/' || origin_seq FROM operations WHERE parked = 'forked' ORDER BY 1")
      .pluck()
      .all() as string[],
    siblings: db.prepare('SELECT DISTINCT subject FROM siblings ORDER BY subject').pluck().all() as string[],
    nonces: db.prepare('SELECT count(*) FROM federation_nonce_cache').pluck().get() as number,
  };
}

/** Puts rows into a table that no command of the first format writes. */
export function addNamespaceMeta(db: Database.Database, standardId: string, updatedAt: string): void {
  const put = db.prepare(
    'INSERT INTO namespace_meta (namespace, standard_id, parent_namespace, updated_at) VALUES (?, ?, ?, ?)',
  );
  put.run('team', standardId, null, updatedAt);
  put.run('team/docs', null, 'team', updatedAt);
}
