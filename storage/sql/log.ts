import { hlcMs, isAhead, nextHlc } from '../../protocol/base/hlc.js';
import type { Hlc, Origin, SubjectId } from '../../protocol/base/meanings.js';
import type { Crypto } from '../../protocol/base/seams.js';
import { withWrite } from '../../protocol/base/version-vector.js';
import type { RowStamp } from '../../protocol/decide/rows.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import {
  EPOCH_KIND,
  EPOCH_NAMESPACE,
  type EpochNotice,
  epochPayload,
} from '../../protocol/log/epoch-notice.js';
import { headerHash, type OperationHeader } from '../../protocol/log/operation-log.js';
import type { OperationPlace } from '../../protocol/log/ranges.js';
import type { ParkReason, VerifiedOperation } from '../../protocol/log/wire-operation.js';
import type { RenamedTail } from '../../protocol/replication/mutations.js';
import type { LogAhead } from '../../protocol/replication/reads.js';
import type { Connection } from './connection.js';
import { type FreshEpoch, switchEpoch } from './database-setup.js';
import { lastStampTaken, tailsAhead } from './log-ahead.js';
import { type OperationSqlRow, operationFromSql } from './operation-rows.js';
import { type Names, type Renaming, renameKnownCopies, renameOperations } from './rename-origin.js';

interface LogStateRow {
  peer_id: string;
  db_epoch: string;
  commit_sequence: number;
  origin_seq: number;
  chain_head: string;
  hlc: string;
}

interface OriginEnd {
  readonly seq: number;
  readonly head: string;
  readonly hlc: Hlc;
  /** The scope of its peer as JSON; null leaves what was noted before. */
  readonly scope: string | null;
}

/** Finds the row of an operation when the disk changed its origin or number; the hashes identify it. */
const STRAYED = `SELECT min(commit_sequence) FROM operations
  WHERE prev_hash = @prevHash AND payload_hash = @payloadHash AND hlc = @hlc`;

/** The stamps that an appended operation gives to the row that it changes. */
export type Stamp = RowStamp;

/**
 * Appends operations inside the write transaction. The counters (clock, sequences, chain head) are in one row. They are
 * read when a transaction begins and written back before it commits, so every process on the database continues one
 * chain (design: mesh, "The operation log").
 */
export class OperationLog {
  private state: LogStateRow | null = null;
  /** The new ends of other origins' chains, before they are written. */
  private readonly ends = new Map<string, OriginEnd>();
  private readonly load;
  private readonly save;
  private readonly insert;
  private readonly insertForeign;
  private readonly putOrigin;

  constructor(
    private readonly db: Connection,
    private readonly crypto: Crypto,
    private readonly kinds: Kinds,
  ) {
    this.load = db.prepare<[], LogStateRow>(
      'SELECT peer_id, db_epoch, commit_sequence, origin_seq, chain_head, hlc FROM log_state WHERE singleton = 1',
    );
    this.save = db.prepare(
      'UPDATE log_state SET commit_sequence = ?, origin_seq = ?, chain_head = ?, hlc = ? WHERE singleton = 1',
    );
    this.insert = db.prepare(
      `INSERT INTO operations
         (commit_sequence, origin, origin_seq, hlc, kind, namespace, subject, seen, payload_hash, prev_hash, payload, rid)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.insertForeign = db.prepare(
      `INSERT INTO operations
         (commit_sequence, origin, origin_seq, hlc, kind, namespace, subject, seen, payload_hash, prev_hash, payload, rid,
          parked, head_signature)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT rid FROM memories WHERE id = ?), ?, ?)`,
    );
    this.putOrigin = db.prepare(
      `INSERT INTO origins (origin, seq, head, hlc, scope) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (origin) DO UPDATE SET
         seq = excluded.seq, head = excluded.head, hlc = excluded.hlc, scope = coalesce(excluded.scope, origins.scope)`,
    );
  }

  /** The origin that this database writes under, and its last sequence. */
  own(): { origin: string; seq: number } {
    const { peer_id, db_epoch, origin_seq } = this.current();
    return { origin: `${peer_id}/${db_epoch}`, seq: origin_seq };
  }

  /** The number of the last operation in the log. */
  commitSequence(): number {
    return this.current().commit_sequence;
  }

  /** Appends an operation of another origin to the log; the clock never falls behind the stamps it has seen. */
  appendForeign(operation: VerifiedOperation, parked: ParkReason | null, headSignature: string | null): void {
    const state = this.current();
    state.commit_sequence += 1;
    if (operation.hlc > state.hlc) state.hlc = operation.hlc;
    this.insertForeign.run(
      state.commit_sequence,
      operation.origin,
      operation.seq,
      operation.hlc,
      operation.kind,
      operation.namespace,
      operation.subject,
      JSON.stringify(operation.seen),
      operation.payloadHash,
      operation.prevHash,
      operation.payload,
      this.isMemory(operation.kind) ? operation.subject : null,
      parked,
      headSignature,
    );
    const { origin, seq, hash: head, hlc, scope } = operation;
    this.ends.set(origin, { seq, head, hlc, scope: JSON.stringify(scope) });
  }

  /** The end of another origin's chain, if this transaction changed it and has not written it yet. */
  unwrittenEnd(origin: Origin): OriginEnd | null {
    return this.ends.get(origin) ?? null;
  }

  /** Writes the ends of other origins' chains; call before any read of the table, and before a commit. */
  flush(): void {
    for (const [origin, { seq, head, hlc, scope }] of this.ends)
      this.putOrigin.run(origin, seq, head, hlc, scope);
    this.ends.clear();
  }

  /** Continues under another epoch. */
  beginEpoch(
    fresh: Pick<FreshEpoch, 'epoch' | 'reason' | 'nowMs'>,
    { keep, notice }: { readonly keep: number; readonly notice: EpochNotice | null },
  ): void {
    const { origin: from, seq } = this.own();
    const renaming = { from, keep, to: this.originOf(fresh.epoch) };
    const names = { renamings: [renaming], stamps: new Map<Hlc, Hlc>(), nextStamp: null };
    this.continueUnder(fresh, keep < seq ? renaming : null, names);
    if (notice !== null) this.appendNotice(notice, fresh.nowMs);
  }

  /** What of the own log other nodes do not take now, because it is stamped too far ahead. */
  ahead(nowMs: number): LogAhead {
    const { hlc, peer_id } = this.current();
    const aheadMs = isAhead(hlc, nowMs) ? hlcMs(hlc) - nowMs : 0;
    return { aheadMs, tails: aheadMs === 0 ? [] : tailsAhead(this.db, peer_id, nowMs) };
  }

  /** Sets the clock back to the present, and gives operations stamped ahead new names and new stamps. */
  resetClock(
    { reason, tails }: { readonly reason: string; readonly tails: readonly RenamedTail[] },
    nowMs: number,
  ): void {
    const state = this.current();
    let last = lastStampTaken(this.db, nowMs);
    const nextStamp = () => {
      last = nextHlc(last, nowMs);
      return last;
    };
    const renamings = tails.map(({ from, keep, epoch }) => ({ from, keep, to: this.originOf(epoch) }));
    const names = { renamings, stamps: new Map<Hlc, Hlc>(), nextStamp };
    state.hlc = last;
    for (const [index, { epoch, notice }] of tails.entries()) {
      this.continueUnder({ epoch, reason, nowMs }, renamings[index]!, names);
      this.appendNotice(notice, nowMs);
      last = this.current().hlc;
    }
  }

  private originOf(epoch: string): Origin {
    return `${this.current().peer_id}/${epoch}`;
  }

  /** Continues under another epoch, which begins with the operations that `renaming` gives it. */
  private continueUnder(
    fresh: Pick<FreshEpoch, 'epoch' | 'reason' | 'nowMs'>,
    renaming: Renaming | null,
    names: Names,
  ): void {
    const { peer_id } = this.current();
    this.finish();
    switchEpoch(this.db, { peerId: peer_id, ...fresh });
    if (renaming !== null) {
      this.cutOrigin(renaming.from, renaming.keep);
      const { seq, head, hlc } = renameOperations(this.db, this.crypto, renaming, names);
      this.db
        .prepare('UPDATE log_state SET origin_seq = ?, chain_head = ?, hlc = max(hlc, ?)')
        .run(seq, head, hlc);
    }
    this.begin();
  }

  private appendNotice(notice: EpochNotice, nowMs: number): void {
    this.append(this.stamp({}, nowMs), {
      kind: EPOCH_KIND,
      namespace: EPOCH_NAMESPACE,
      subject: notice.from,
      seen: {},
      payload: epochPayload(notice),
      rid: null,
    });
  }

  /**
   * Operations that used sequence numbers again, and that are also here under their new origin, stay in the log without
   * effect, under a separate name. Then the old origin can continue with the other operations of these numbers.
   */
  setBranchAside(origin: Origin, keep: number, to: string): void {
    this.flush();
    this.cutOrigin(origin, keep);
    renameKnownCopies(this.db, { from: origin, keep, to });
    this.db
      .prepare(
        `UPDATE operations SET origin = ?, parked = 'forked', head_signature = NULL
         WHERE origin = ? AND origin_seq > ?`,
      )
      .run(`${origin}!${keep}!${to.slice(to.indexOf('/') + 1)}`, origin, keep);
  }

  /** Shortens the chain of the old origin: it ends at the last operation that other nodes also have. */
  private cutOrigin(origin: Origin, keep: number): void {
    const last = this.db
      .prepare(
        `SELECT o.hlc, f.prev_hash AS head FROM operations o
         JOIN operations f ON f.origin = o.origin AND f.origin_seq = o.origin_seq + 1
         WHERE o.origin = ? AND o.origin_seq = ?`,
      )
      .get(origin, keep) as { hlc: string; head: string } | undefined;
    if (last === undefined) this.db.prepare('DELETE FROM origins WHERE origin = ?').run(origin);
    else this.putOrigin.run(origin, keep, last.head, last.hlc, null);
  }

  /** The hash of a header in the table; empty when the row does not form a header. */
  hashOf(row: OperationSqlRow): string {
    try {
      return headerHash(operationFromSql(row), this.crypto);
    } catch {
      return '';
    }
  }

  /** Reads the counters at the start of a transaction. */
  begin(): void {
    const state = this.load.get();
    if (state === undefined) throw new Error('log_state has no row: the database was not initialised');
    this.state = state;
    this.ends.clear();
  }

  /** A copy of the counters, to restore when one command of a transaction is rolled back. */
  mark(): LogStateRow {
    this.flush();
    return { ...this.current() };
  }

  rewind(mark: LogStateRow): void {
    this.state = mark;
    this.ends.clear();
  }

  /** Writes the counters back; the last statement before COMMIT. */
  finish(): void {
    const state = this.current();
    this.flush();
    this.save.run(state.commit_sequence, state.origin_seq, state.chain_head, state.hlc);
  }

  /** Reserves the stamp of the next operation on a subject that has seen `seen`. */
  stamp(seen: RowStamp['seen'], nowMs: number): Stamp {
    const state = this.current();
    const origin = `${state.peer_id}/${state.db_epoch}`;
    state.hlc = nextHlc(state.hlc, nowMs);
    state.origin_seq += 1;
    return {
      hlc: state.hlc,
      origin,
      origin_seq: state.origin_seq,
      seen: withWrite(seen, origin, state.origin_seq),
    };
  }

  /** Appends the operation that `stamp` was reserved for. `seen` is the subject's vector before the write. */
  append(
    stamp: Stamp,
    operation: {
      readonly kind: string;
      readonly namespace: string;
      readonly subject: SubjectId;
      readonly seen: RowStamp['seen'];
      readonly payload: string;
      readonly rid: number | null;
    },
  ): void {
    const state = this.current();
    const header: OperationHeader = {
      origin: stamp.origin,
      seq: stamp.origin_seq,
      hlc: stamp.hlc,
      kind: operation.kind,
      namespace: operation.namespace,
      subject: operation.subject,
      seen: operation.seen,
      payloadHash: this.crypto.sha256Hex(operation.payload),
      prevHash: state.chain_head,
    };
    state.chain_head = headerHash(header, this.crypto);
    state.commit_sequence += 1;
    this.insert.run(
      state.commit_sequence,
      header.origin,
      header.seq,
      header.hlc,
      header.kind,
      header.namespace,
      header.subject,
      JSON.stringify(header.seen),
      header.payloadHash,
      header.prevHash,
      operation.payload,
      operation.rid,
    );
  }

  /**
   * Restores an operation as its origin made it; the caller applies its effect. It repairs the operation's row in
   * place, also when that has another origin or number. If the row is gone, it gets a free local position before the
   * next operation of the origin, or the next position when all of those are taken.
   */
  restore(operation: VerifiedOperation): void {
    const { origin, seq, hlc, kind, namespace, subject, payloadHash, prevHash, payload } = operation;
    const values = {
      ...{ origin, seq, hlc, kind, namespace, subject, payloadHash, prevHash, payload },
      seen: JSON.stringify(operation.seen),
    };
    const repaired = (where: string): boolean =>
      this.db
        .prepare(
          `UPDATE operations SET origin = @origin, origin_seq = @seq, hlc = @hlc, kind = @kind, namespace = @namespace,
             subject = @subject, seen = @seen, payload_hash = @payloadHash, prev_hash = @prevHash,
             payload = coalesce(@payload, payload)
           WHERE ${where}`,
        )
        .run(values).changes > 0;
    if (repaired('origin = @origin AND origin_seq = @seq') || repaired(`commit_sequence = (${STRAYED})`))
      return;
    const state = this.current();
    // Later operations are restored first, so the positions have the order of the origin.
    const restored = this.db
      .prepare<[object], { commit_sequence: number }>(
        `INSERT INTO operations (commit_sequence, origin, origin_seq, hlc, kind, namespace, subject, seen, payload_hash,
           prev_hash, payload, rid)
         SELECT coalesce(max(o.commit_sequence) - 1, @end), @origin, CAST(@seq AS INTEGER), @hlc, @kind, @namespace, @subject, @seen,
           @payloadHash, @prevHash, @payload, (SELECT rid FROM memories WHERE id = @memory)
         FROM (SELECT @end AS commit_sequence UNION ALL SELECT commit_sequence FROM operations) o
         WHERE o.commit_sequence > 1
           AND o.commit_sequence <= coalesce(
             (SELECT commit_sequence FROM operations WHERE origin = @origin AND origin_seq = @seq + 1), @end)
           AND NOT EXISTS (SELECT 1 FROM operations n WHERE n.commit_sequence = o.commit_sequence - 1)
         RETURNING commit_sequence`,
      )
      .get({ ...values, memory: this.isMemory(kind) ? subject : null, end: state.commit_sequence + 1 })!;
    state.commit_sequence = Math.max(state.commit_sequence, restored.commit_sequence);
  }

  /** Drops payloads; headers stay. */
  dropPayloads(places: readonly OperationPlace[]): void {
    const drop = this.db.prepare('UPDATE operations SET payload = NULL WHERE origin = ? AND origin_seq = ?');
    for (const { origin, seq } of places) drop.run(origin, seq);
  }

  /** Followers of the log find the row of a memory by its row number. */
  private isMemory(word: string): boolean {
    return this.kinds.ofWord(word)?.kind.table === 'memories';
  }

  private current(): LogStateRow {
    if (this.state === null) throw new Error('the operation log is used outside a transaction');
    return this.state;
  }
}
