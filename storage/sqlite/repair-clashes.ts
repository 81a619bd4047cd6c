import type { SubjectId } from '../../protocol/base/meanings.js';
import type { Crypto } from '../../protocol/base/seams.js';
import { memoryPayload } from '../../protocol/memory/memory-kind.js';
import { isDigest } from '../sql/digests.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from '../sql/rows.js';
import type { SqliteConnection } from './sqlite-connection.js';

/**
 * Rows of memories that got the id or title of another row through disk damage: a unique index cannot be built over
 * them. Each row gets a unique one; the repair of rows restores the contents from the log. It reads only the table
 * itself, because no index can be trusted.
 */

interface Clash {
  readonly rid: number;
  readonly id: string;
  /** The subject of the operation that made the row; null when the log does not know it. */
  readonly subject: SubjectId | null;
  readonly whole: boolean;
}

/** Gives each row a unique id; answers the affected ids. */
export function separateIds(db: SqliteConnection, crypto: Crypto): readonly string[] {
  const repeated = db
    .prepare('SELECT id FROM memories NOT INDEXED GROUP BY id HAVING count(*) > 1')
    .pluck()
    .all() as string[];
  const rename = db.prepare('UPDATE memories NOT INDEXED SET id = ? WHERE rid = ?');
  const exists = db.prepare('SELECT 1 FROM memories NOT INDEXED WHERE id = ?');
  const concerned: string[] = [];
  for (const id of repeated) {
    const [, ...others] = clashing(db, crypto, 'm.id = ?', [id]);
    concerned.push(id);
    for (const { rid, subject } of others) {
      const own = subject !== null && exists.get(subject) === undefined ? subject : `damaged-${rid}`;
      rename.run(own, rid);
      concerned.push(own);
    }
  }
  return concerned;
}

/** Gives each row with a duplicate title a unique one; answers the affected ids. */
export function separateTitles(db: SqliteConnection, crypto: Crypto): readonly string[] {
  const repeated = db
    .prepare(
      `SELECT title, namespace FROM memories NOT INDEXED WHERE conflict_of IS NULL
       GROUP BY title, namespace HAVING count(*) > 1`,
    )
    .all() as { title: string; namespace: string }[];
  const rename = db.prepare("UPDATE memories NOT INDEXED SET title = title || ' #' || rid WHERE rid = ?");
  const giveWay = db.prepare('UPDATE memories NOT INDEXED SET conflict_of = ? WHERE rid = ?');
  const concerned: string[] = [];
  for (const { title, namespace } of repeated) {
    const sql = 'm.title = ? AND m.namespace = ? AND m.conflict_of IS NULL';
    const [holder, ...others] = clashing(db, crypto, sql, [title, namespace]);
    for (const { rid, id, whole } of others) {
      if (whole) giveWay.run(holder!.id, rid);
      else rename.run(rid);
      concerned.push(id);
    }
  }
  return concerned;
}

/** The rows that clash; the first one may keep its value. */
function clashing(db: SqliteConnection, crypto: Crypto, clause: string, values: readonly string[]): Clash[] {
  const rows = db
    .prepare(
      `SELECT ${SELECT_ROW}, m.digest, o.subject FROM memories m NOT INDEXED
       LEFT JOIN operations o ON o.origin = m.origin AND o.origin_seq = m.origin_seq
       WHERE ${clause} ORDER BY m.created_hlc, m.rid`,
    )
    .all(...values) as (SqlRow & { digest: unknown })[];
  const clashes = rows.map((row): Clash => {
    const subject = row['subject'] as string | null;
    const id = String(row['id']);
    return { rid: Number(row['rid']), id, subject, whole: subject === id && isWhole(row, crypto) };
  });
  return clashes.sort((a, b) => Number(b.whole) - Number(a.whole));
}

function isWhole(row: SqlRow & { digest: unknown }, crypto: Crypto): boolean {
  try {
    const memory = memoryFromSql(row);
    return isDigest(row.digest, crypto.sha256(`${memory.id}\n${memoryPayload(memory)}`));
  } catch {
    return false;
  }
}
