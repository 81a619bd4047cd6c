import type { DatabaseOwner, ReadRequest } from '../../protocol/decide/decision.js';
import type { Connection } from './connection.js';
import type { QuotaLedger } from './quota-ledger.js';
import { memoryFromSql, SELECT_ROW, type SqlRow } from './rows.js';

interface OwnerRow {
  holder: string;
  role: 'daemon' | 'mcp';
  fencing: number;
  expires_at_ms: number;
}

/** Loads the rows that decisions ask for, inside the write transaction. */
export class DecisionReads {
  private readonly byId;
  private readonly byTitle;
  private readonly titleExpiry;
  private readonly expired;
  private readonly owner;
  private readonly envelope;
  private readonly tombstone;
  private readonly link;

  constructor(
    db: Connection,
    private readonly quotas: QuotaLedger,
  ) {
    this.byId = db.prepare<[string], SqlRow>(`SELECT ${SELECT_ROW} FROM memories m WHERE m.id = ?`);
    this.byTitle = db.prepare<[string, string], SqlRow>(
      `SELECT ${SELECT_ROW} FROM memories m WHERE m.title = ? AND m.namespace = ? AND m.conflict_of IS NULL`,
    );
    this.titleExpiry = db.prepare<[string, string], { expires_at: string | null }>(
      'SELECT expires_at FROM memories WHERE title = ? AND namespace = ? AND conflict_of IS NULL',
    );
    this.expired = db.prepare<[string, number], SqlRow>(
      `SELECT ${SELECT_ROW} FROM memories m WHERE m.expires_at IS NOT NULL AND m.expires_at <= ?
       ORDER BY m.expires_at LIMIT ?`,
    );
    this.envelope = db.prepare<[string], { memory_id: string }>(
      'SELECT memory_id FROM write_envelopes WHERE fingerprint = ?',
    );
    this.owner = db.prepare<[], OwnerRow>(
      'SELECT holder, role, fencing, expires_at_ms FROM database_owner WHERE singleton = 1',
    );
    this.tombstone = db.prepare<[string], { seen: string }>('SELECT seen FROM tombstones WHERE id = ?');
    this.link = db.prepare<[string, string, string], { found: number }>(
      'SELECT 1 AS found FROM memory_links WHERE source_id = ? AND target_id = ? AND relation = ?',
    );
  }

  answer(request: ReadRequest): unknown {
    switch (request.read) {
      case 'memory-by-id':
        return oneRow(this.byId.get(request.id));
      case 'memory-by-title':
        return oneRow(this.byTitle.get(request.title, request.namespace));
      case 'title-expiry':
        return this.titleExpiry.get(request.title, request.namespace) ?? null;
      case 'expired-memories':
        return this.expired.all(request.before, request.limit).map(memoryFromSql);
      case 'quota-use':
        return this.quotas.use(request.holder, request.namespace);
      case 'used-envelope':
        return this.envelope.get(request.fingerprint)?.memory_id ?? null;
      case 'database-owner':
        return ownerFromSql(this.owner.get());
      case 'tombstone': {
        const row = this.tombstone.get(request.id);
        return row === undefined ? null : { seen: JSON.parse(row.seen) };
      }
      case 'link-exists': {
        const { source_id, target_id, relation } = request.link;
        return this.link.get(source_id, target_id, relation) !== undefined;
      }
    }
  }
}

function oneRow(row: SqlRow | undefined) {
  return row === undefined ? null : memoryFromSql(row);
}

function ownerFromSql(row: OwnerRow | undefined): DatabaseOwner | null {
  if (row === undefined) return null;
  return { holder: row.holder, role: row.role, fencing: row.fencing, expiresAtMs: row.expires_at_ms };
}
