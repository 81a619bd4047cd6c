import type { EncoderRef, Encoders } from '../../protocol/maintenance/encoder-ref.js';
import type { Connection } from './connection.js';
import { SWITCH_TABLES } from './encoder-tables.js';
import { Statements } from './statements.js';
import { upsert } from './upsert.js';

type Role = 'searched' | 'coming';

/** Which encoders the database has vectors of, and the change from one to the next. */
export class EncoderLedger {
  private readonly statements: Statements;

  constructor(private readonly db: Connection) {
    // Prepared when they are used: an upgrade creates the tables later.
    this.statements = new Statements(db);
  }

  read(): Encoders {
    return readEncoders(this.statements);
  }

  /** True while a memory waits for the coming encoder. */
  isComingIncomplete(): boolean {
    return this.statements.get(`${WAITING} LIMIT 1`).get() !== undefined;
  }

  /** Null takes a role away. The vectors of a coming encoder that changes are dropped. */
  put(role: Role, encoder: EncoderRef | null, now: string): void {
    if (role === 'coming') this.db.exec('DELETE FROM coming_embeddings; DELETE FROM coming_states');
    if (encoder === null) this.statements.get('DELETE FROM encoders WHERE role = ?').run(role);
    else {
      this.statements
        .get(upsert('encoders', ['role'], ['role', 'model', 'dim', 'since']))
        .run(role, encoder.model, encoder.dim, now);
    }
  }

  /** Drops the searched vectors, so that every memory waits for the encoder. */
  clearSearched(): void {
    this.db.exec('DELETE FROM memory_embeddings; UPDATE memories SET embed_state = 0 WHERE embed_state <> 0');
  }

  /** The coming encoder becomes the searched one. */
  switch(encoder: EncoderRef, now: string): void {
    this.db.exec(
      `UPDATE memories SET embed_state = coming.state FROM coming_states coming
       WHERE coming.rid = memories.rid AND memories.embed_state <> coming.state`,
    );
    this.db.exec(SWITCH_TABLES[this.db.engine]);
    this.put('coming', null, now);
    this.put('searched', encoder, now);
  }

  putComing(rid: number, state: number, encoder: EncoderRef, vectors: Uint8Array | null): void {
    this.statements.get(upsert('coming_states', ['rid'], ['rid', 'state'])).run(rid, state);
    // A new row draws a new feed number, which is never used twice, so followers see every change.
    this.statements.get('DELETE FROM coming_embeddings WHERE rid = ?').run(rid);
    if (vectors === null) return;
    this.statements
      .get('INSERT INTO coming_embeddings (rid, model, dim, vectors) VALUES (?, ?, ?, ?)')
      .run(rid, encoder.model, encoder.dim, vectors);
  }

  /** The text of a memory changed, or it is gone. */
  forget(rid: number): void {
    this.statements.get('DELETE FROM coming_embeddings WHERE rid = ?').run(rid);
    this.statements.get('DELETE FROM coming_states WHERE rid = ?').run(rid);
  }

  ridsAfter(afterRid: number, namespace: string | null, limit: number): { readonly rids: readonly number[] } {
    const rids = this.statements
      .get(
        `SELECT rid FROM memories WHERE rid > @after AND (@namespace IS NULL OR namespace = @namespace)
         ORDER BY rid LIMIT @limit`,
      )
      .all({ after: afterRid, namespace, limit }) as { rid: number }[];
    return { rids: rids.map(({ rid }) => rid) };
  }

  /** The memories wait again, and keep their vectors until they have new ones. */
  requeue(rids: readonly number[]): void {
    const mark = this.statements.get('UPDATE memories SET embed_state = 0 WHERE rid = ?');
    for (const rid of rids) mark.run(rid);
  }
}

/** Memories that the coming encoder has not seen. */
export const WAITING = `SELECT m.rid, m.id, m.version, m.title, m.content FROM memories m
  WHERE NOT EXISTS (SELECT 1 FROM coming_states c WHERE c.rid = m.rid)`;

/** The encoders of a database; for one that does not say, that of most of its vectors is searched. */
export function readEncoders(statements: Statements): Encoders {
  const rows = statements.get('SELECT role, model, dim FROM encoders').all() as (EncoderRef & {
    role: Role;
  })[];
  const of = (role: Role): EncoderRef | null => {
    const row = rows.find((candidate) => candidate.role === role);
    return row === undefined ? null : { model: row.model, dim: row.dim };
  };
  const hasVectors = statements.get('SELECT 1 FROM memory_embeddings LIMIT 1').get() !== undefined;
  const recorded = of('searched');
  const searched = recorded ?? (hasVectors ? mostUsed(statements) : null);
  return { searched, coming: of('coming'), isRecorded: recorded !== null, hasVectors };
}

function mostUsed(statements: Statements): EncoderRef {
  return statements
    .get('SELECT model, dim FROM memory_embeddings GROUP BY model, dim ORDER BY count(*) DESC LIMIT 1')
    .get() as EncoderRef;
}
