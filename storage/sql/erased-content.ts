import type { Instant } from '../../protocol/base/meanings.js';
import { includes } from '../../protocol/base/version-vector.js';
import { type Kind, wordsOf } from '../../protocol/kinds/kind.js';
import { ERASED, type RemovedVersion } from '../../protocol/kinds/version.js';
import { erasureKind } from '../../protocol/memory/erasure-kind.js';
import { FINAL_REASONS } from '../../protocol/replication/derive.js';
import { isFinal } from '../../protocol/replication/versions.js';
import type { Connection } from './connection.js';
import type { MemoryTable } from './kinds/memory-table.js';
import type { ReplicaRows } from './replica-rows.js';
import { Statements } from './statements.js';

type Ending = Pick<RemovedVersion, 'covers' | 'namespace' | 'removal'>;

interface Place {
  readonly origin: string;
  readonly origin_seq: number;
}

/** Takes away what is kept of an erased subject besides its row: payloads in the log, copies, conflicts. */
export class ErasedContent {
  private readonly statements: Statements;

  constructor(
    db: Connection,
    private readonly memories: MemoryTable,
    private readonly replicas: ReplicaRows,
  ) {
    this.statements = new Statements(db);
  }

  /** Does nothing for a removal that leaves a history. */
  follow(kind: Kind, id: string, ending: Ending, now: Instant): void {
    if (isFinal(kind, ending)) this.dropAll(kind, id, ending.namespace, now);
    else if (ending.removal.reason === ERASED) this.dropSeen(kind, id, ending);
  }

  private dropAll(kind: Kind, id: string, namespace: string, now: Instant): void {
    const words = wordsOf(kind, 'image', 'removal').filter((word) => !kind.final.includes(word));
    const [given, final] = [JSON.stringify(words), JSON.stringify([...FINAL_REASONS])];
    // What came without its payload came whole: nobody is asked for the rest.
    this.statements
      .get(
        `UPDATE operations SET payload = NULL,
           parked = CASE WHEN parked IN (SELECT value FROM json_each(?)) THEN parked END
         WHERE subject = ? AND kind IN (SELECT value FROM json_each(?))`,
      )
      .run(final, id, given);
    this.replicas.forgetConflicts({ kind: kind.name, id });
    if (kind.table !== 'memories') return;
    this.memories.dropArchived(id);
    this.statements
      .get(
        `INSERT INTO ${erasureKind.table} (memory_id, namespace, erased_at) VALUES (?, ?, ?)
         ON CONFLICT (memory_id) DO UPDATE SET finished_at = NULL`,
      )
      .run(id, namespace, now);
  }

  /** A version that the removal has not seen may live, with a text that others still need. */
  private dropSeen(kind: Kind, id: string, { covers }: Ending): void {
    const words = JSON.stringify(wordsOf(kind, 'image'));
    const rows = this.statements
      .get(
        `SELECT origin, origin_seq FROM operations
         WHERE subject = ? AND payload IS NOT NULL AND kind IN (SELECT value FROM json_each(?))`,
      )
      .all(id, words) as Place[];
    const drop = this.statements.get(
      'UPDATE operations SET payload = NULL WHERE origin = ? AND origin_seq = ?',
    );
    for (const { origin, origin_seq } of rows)
      if (includes(covers, origin, origin_seq)) drop.run(origin, origin_seq);
  }
}
