import type { Command, OutcomeOf } from '../../protocol/commands.js';
import type { Decision, DecisionContext, ReadRequest } from '../../protocol/decide/decision.js';
import type { QuotaLimits } from '../../protocol/quota.js';
import { fail, type Result } from '../../protocol/result.js';
import type { Crypto, Signer } from '../../protocol/seams.js';
import { instantFromMs } from '../../protocol/time.js';
import type { TimedCommand } from '../port.js';
import { AuditChain } from './audit-chain.js';
import { AuditHeadFile, auditHeadPath } from './audit-head.js';
import { type Connection, isBusy, isCorruption, isDiskError, isFull } from './connection.js';
import { Digests } from './digests.js';
import { dataDamaged, diskFull, storageFailure } from './failures.js';
import { FileIdentity } from './file-identity.js';
import { OperationLog } from './log.js';
import { Mutations } from './mutations.js';
import { QuotaLedger } from './quota-ledger.js';
import { DecisionReads } from './reads.js';
import { DamagedRowError } from './rows.js';
import { runDecision } from './run-decision.js';
import { WalRelief } from './wal-relief.js';

/** The database is locked by another process; nothing of the batch was applied, so it may be tried again. */
export class DatabaseBusyError extends Error {}

export interface WriterParts {
  readonly db: Connection;
  readonly crypto: Crypto;
  /** Told of every exception that a command raised and no rule foresaw; the command answers INTERNAL. */
  readonly reportBug: (error: unknown) => void;
  /** Signs the audit chain; null leaves it unsigned. */
  readonly signer: Signer | null;
  readonly quota: QuotaLimits;
}

/**
 * The one writer of a connection: runs batches of commands, each batch in one transaction (group commit). Decisions
 * refuse what they refuse before anything is written, so a command that throws is a bug or a clash that no rule
 * foresaw; only then the batch is rolled back and run again with a savepoint for each command, so that the one costs
 * its neighbours nothing. (A savepoint for every command makes the full text flush at each; measured: 85 instead of
 * 65 µs a row.) Synchronous; the same code runs in the daemon's writer thread and inline.
 */
export class Writer {
  private readonly log;
  private readonly quotas;
  private readonly digests;
  private readonly audit;
  private readonly mutations;
  private readonly reads;
  private readonly sql;
  /** Null for a database in memory. */
  private readonly file: FileIdentity | null;
  private readonly relief: WalRelief;

  private readonly db: Connection;
  private readonly quota: QuotaLimits;
  private readonly reportBug: (error: unknown) => void;

  constructor({ db, crypto, reportBug, signer, quota }: WriterParts) {
    this.db = db;
    this.quota = quota;
    this.reportBug = reportBug;
    this.file = db.memory ? null : new FileIdentity(db.name);
    this.relief = new WalRelief(db);
    this.log = new OperationLog(db, crypto);
    this.quotas = new QuotaLedger(db);
    const headFile = db.memory ? null : new AuditHeadFile(auditHeadPath(db.name));
    this.audit = new AuditChain(db, crypto, signer, headFile);
    this.digests = new Digests(db, crypto);
    this.mutations = new Mutations(db, this.log, this.quotas, this.digests, this.audit);
    this.reads = new DecisionReads(db, this.quotas, this.log, this.digests, crypto);
    this.sql = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      savepoint: db.prepare('SAVEPOINT command'),
      release: db.prepare('RELEASE command'),
      rollbackTo: db.prepare('ROLLBACK TO command'),
    };
  }

  /**
   * Runs a batch; the answers align with it and mean what they say only because the commit has been synced when this
   * returns. Throws DatabaseBusyError when the lock was not free.
   */
  run(batch: readonly TimedCommand[]): Result<OutcomeOf<Command>>[] {
    if (this.file !== null && !this.file.isCurrent()) {
      const lost = 'the database file was removed or replaced while it was open; nothing was changed';
      return batch.map(() => fail('DATABASE_ERROR', lost));
    }
    if (!this.relief.hasRoom(batch[0]?.nowMs ?? 0)) return batch.map(() => diskFull());
    const results = this.transaction(batch, 'bare') ?? this.transaction(batch, 'isolated');
    if (results === null) throw new Error('a batch of isolated commands failed as a whole');
    return results;
  }

  /**
   * Null when a bare command met damage in the file, or one threw for another reason than the disk; nothing has been
   * changed then.
   */
  private transaction(
    batch: readonly TimedCommand[],
    how: 'bare' | 'isolated',
    again = false,
  ): Result<OutcomeOf<Command>>[] | null {
    try {
      this.sql.begin.run();
    } catch (error) {
      if (isBusy(error)) throw new DatabaseBusyError('the database is locked by another process');
      return batch.map(() => storageFailure(error));
    }
    try {
      this.log.begin();
      this.quotas.clear();
      this.digests.clear();
      const results = batch.map((timed) =>
        how === 'bare' ? this.runBare(timed) : this.runInSavepoint(timed),
      );
      this.quotas.flush();
      this.digests.flush();
      this.log.finish();
      this.sql.commit.run();
      this.writeAuditHead();
      return results;
    } catch (error) {
      this.abandon();
      if (isBusy(error)) throw new DatabaseBusyError('the database is locked by another process');
      if (!isDiskError(error) || (how === 'bare' && isCorruption(error))) return null;
      const relieved = isFull(error) && this.relief.full(batch[0]?.nowMs ?? 0);
      if (relieved && !again) return this.transaction(batch, how, true);
      return batch.map(() => storageFailure(error));
    }
  }

  private runBare({ command, nowMs }: TimedCommand): Result<OutcomeOf<Command>> {
    const context: DecisionContext = { nowMs, now: instantFromMs(nowMs), quota: this.quota };
    const before = this.log.own();
    const decision = runDecision(command, context, (request) => this.answer(request, context));
    if (!decision.ok) return decision;
    const result = this.apply(decision.value, context);
    const { origin, seq } = this.log.own();
    return origin === before.origin && seq > before.seq
      ? { ...result, appended: { origin, first: before.seq + 1, last: seq } }
      : result;
  }

  /** Runs a command so that its failure undoes what it did, and nothing else. */
  private runInSavepoint(timed: TimedCommand): Result<OutcomeOf<Command>> {
    const mark = this.log.mark();
    this.quotas.flush();
    this.digests.flush();
    this.sql.savepoint.run();
    try {
      const result = this.runBare(timed);
      this.sql.release.run();
      return result;
    } catch (error) {
      // A full disk or an I/O error may have ended the transaction; then the whole batch has failed.
      if (!this.db.inTransaction || (isDiskError(error) && !isCorruption(error))) throw error;
      this.sql.rollbackTo.run();
      this.sql.release.run();
      this.log.rewind(mark);
      this.quotas.clear();
      this.digests.clear();
      this.mutations.forgetNamespaces();
      this.audit.takeHead();
      return this.failureOf(error, timed.nowMs);
    }
  }

  /** What a command answers that was undone. A damaged row is marked, so that it is repaired in the background. */
  private failureOf(error: unknown, nowMs: number): Result<never> {
    if (error instanceof DamagedRowError) {
      return dataDamaged(error.id, this.mutations.suspect(error.id, instantFromMs(nowMs)));
    }
    if (isCorruption(error)) return storageFailure(error);
    if (/UNIQUE constraint failed: memories\.(id|title)/.test(String(error))) {
      return fail('CONFLICT', 'a memory with this id already exists');
    }
    this.reportBug(error);
    return fail('INTERNAL', 'internal server error');
  }

  private answer(request: ReadRequest, context: DecisionContext): unknown {
    if (request.read !== 'after') return this.reads.answer(request, context);
    for (const mutation of request.mutations) this.mutations.apply(mutation, context);
    return undefined;
  }

  private apply(
    decision: Decision<OutcomeOf<Command>>,
    context: DecisionContext,
  ): Result<OutcomeOf<Command>> & { readonly ok: true } {
    let value = decision.value;
    for (const mutation of decision.mutations) {
      const stored = this.mutations.apply(mutation, context);
      // The caller sees the memory with the stamps that it got.
      if (stored !== null && 'memory' in value && value.memory.id === stored.id) {
        value = { ...value, memory: stored };
      }
    }
    return { ok: true, value };
  }

  /** The commit stands whatever becomes of the file, which may lag behind. */
  private writeAuditHead(): void {
    try {
      this.audit.committed();
    } catch (error) {
      this.reportBug(error);
    }
  }

  private abandon(): void {
    this.audit.forget();
    this.mutations.forgetNamespaces();
    if (this.db.inTransaction) this.sql.rollback.run();
  }
}
