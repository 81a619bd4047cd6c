import type { LookAlikePair } from '../../protocol/memory/look-alikes.js';
import type { Connection } from './connection.js';
import { Statements } from './statements.js';
import { replacing } from './upsert.js';

/** Writes which rows say nearly the same. Local to this node: every node compares its own rows. */
export class NearDuplicates {
  private readonly texts: Statements;

  constructor(db: Connection) {
    this.texts = new Statements(db);
  }

  flag(pairs: readonly LookAlikePair[], through: number | null): void {
    const put = this.texts.get(
      // Either row may be gone, or have moved, since they were compared.
      `INSERT INTO near_duplicates (rid, other_rid, similarity)
       SELECT a.rid, b.rid, ? FROM memories a JOIN memories b ON b.ns_id = a.ns_id
       WHERE a.rid = ? AND b.rid = ? ${replacing(['rid', 'other_rid'], ['similarity'])}`,
    );
    for (const { rid, otherRid, similarity } of pairs)
      put.run(similarity, Math.max(rid, otherRid), Math.min(rid, otherRid));
    if (through === null) return;
    this.texts
      .get(
        `INSERT INTO near_duplicates_through (singleton, commit_sequence) VALUES (1, ?) ${replacing(['singleton'], ['commit_sequence'])}`,
      )
      .run(through);
  }
}
