import type Database from 'better-sqlite3';
import type { Standard } from '../../../protocol/memory/standard-kind.js';

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

interface TombstoneColumns {
  readonly id: string;
  readonly word: string;
  readonly facts: string;
}

/** Reads it from an open database. */
export function tableFacts(db: Database.Database): TableFacts {
  const tombstones = db
    .prepare("SELECT id, namespace, word, reason, facts FROM tombstones WHERE kind = 'memory' ORDER BY id")
    .all() as TombstoneColumns[];
  const standards = db
    .prepare("SELECT payload FROM records WHERE kind = 'standard' ORDER BY id")
    .pluck()
    .all() as string[];
  return {
    tombstones: Object.fromEntries(
      tombstones.map(({ id, word: kind, facts, ...rest }) => [id, { ...rest, kind, ...JSON.parse(facts) }]),
    ),
    namespaceMeta: standards.map((payload) => {
      const { namespace, standard_id, parent_namespace, updated_at } = JSON.parse(payload) as Standard;
      return { namespace, standard_id, parent_namespace, updated_at };
    }),
    setAside: db
      .prepare("SELECT origin || '/' || origin_seq FROM operations WHERE parked = 'forked' ORDER BY 1")
      .pluck()
      .all() as string[],
    siblings: db.prepare('SELECT DISTINCT subject FROM siblings ORDER BY subject').pluck().all() as string[],
    nonces: db.prepare('SELECT count(*) FROM federation_nonce_cache').pluck().get() as number,
  };
}
