import { BATCH_MS } from '../../protocol/base/limits.js';
import { fail, type Result } from '../../protocol/base/result.js';
import type { Clock, Crypto, Signer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { CHAIN, type Chain } from '../../protocol/chain.js';
import type { Decision, DecisionContext } from '../../protocol/decide/deciding.js';
import type { NodePolicy } from '../../protocol/decide/node-policy.js';
import type { RuleTrust } from '../../protocol/decide/permissions.js';
import type { ReadRequest } from '../../protocol/decide/reads.js';
import { afterThese, asks } from '../../protocol/decide/reads.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import type { Memory } from '../../protocol/memory/memory.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import { KINDS } from '../../protocol/release.js';
import { trustOf } from '../../protocol/rules/rule-signature.js';
import type { TimedCommand } from '../port.js';
import { AuditChain } from './audit-chain.js';
import type { Connection, Fault } from './connection.js';
import { DamagedRowError } from './damage.js';
import { DatabaseRefusedError, requireOwnSchema } from './database-setup.js';
import { Digests } from './digests.js';
import { dataDamaged } from './failures.js';
import { KindPages, SubjectTables } from './kinds/tables.js';
import { OperationLog } from './log.js';
import { Mutations } from './mutations.js';
import { QuotaLedger } from './quota-ledger.js';
import { DecisionReads } from './reads.js';
import { runDecision } from './run-decision.js';
import { Suspects } from './suspects.js';

/** The database is locked by another process; no command of the batch was applied, so the caller may try again. */
export class DatabaseBusyError extends Error {}

export interface WriterParts {
  readonly db: Connection;
  readonly crypto: Crypto;
  /** Called with every exception of a command, except a DamagedRowError; the command answers INTERNAL. */
  readonly reportBug: (error: unknown) => void;
  /** Signs the audit chain; null leaves it unsigned. */
  readonly signer: Signer | null;
  readonly policy: NodePolicy;
  /** When absent: every kind of this release. */
  readonly kinds?: Kinds;
  /** When absent: the rules of this release. */
  readonly chain?: Chain;
  /** With it, a batch ends after a while, and answers what it has done until then. When absent: every batch is done whole. */
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

const LOCKED = 'the database is locked by another process';

/** Faults that concern one command of a batch, as bugs do; the others concern the whole batch. */
const ENDS_COMMAND: ReadonlySet<Fault | null> = new Set([null, 'corrupt', 'taken']);

/** True for a command whose texts have so many terms that the index takes them slowly. */
const isLong = ({ indexed = [] }: TimedCommand): boolean =>
  indexed.some(([text, terms]) => terms.length > text.length * LONG_WORK_RATIO);
const LONG_WORK_RATIO = 1.2;

/**
 * The only writer of a connection: runs batches of commands, each batch in one transaction (group commit). Decisions
 * refuse before any write, so a command that throws is a bug or a clash that no rule foresaw. Only then the batch is
 * rolled back and run again with a savepoint for each command, so the failure costs the other commands nothing. (A
 * savepoint for every command makes the full text flush at each; measured: 85 instead of 65 µs a row.) Synchronous; the
 * same code runs in the daemon's writer thread and inline.
 */
export class Writer {
  private readonly log;
  private readonly quotas;
  private readonly digests;
  private readonly audit;
  private readonly mutations;
  private readonly reads;
  private readonly sql;
  private readonly suspects;
  private readonly texts;
  private readonly titles;
  private readonly kinds: Kinds;
  private readonly chain: Chain;
  private readonly clock: Pick<Clock, 'monotonicMs'> | null;

  private readonly db: Connection;
  private readonly policy: NodePolicy;
  private readonly ruleTrust: RuleTrust;
  private readonly reportBug: (error: unknown) => void;

  constructor(parts: WriterParts) {
    const { db, crypto, reportBug, signer, policy, kinds = KINDS, chain = CHAIN } = parts;
    this.db = db;
    this.chain = chain;
    this.clock = parts.clock ?? null;
    this.kinds = kinds;
    this.policy = policy;
    this.ruleTrust = trustOf(policy.rules, crypto);
    this.reportBug = reportBug;
    this.log = new OperationLog(db, crypto, kinds);
    this.quotas = new QuotaLedger(db);
    this.audit = new AuditChain(db, crypto, signer, db.auditHeads);
    this.digests = new Digests(db, crypto, new KindPages(kinds));
    const tables = new SubjectTables(db, kinds, this.quotas, this.digests, this.log);
    this.texts = tables.memories.texts;
    this.titles = tables.memories.titles;
    this.mutations = new Mutations(db, this.log, this.quotas, this.digests, tables, this.audit);
    this.reads = new DecisionReads(db, this.quotas, this.log, this.digests, crypto, tables);
    this.suspects = new Suspects(db);
    this.sql = {
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK'),
      version: db.prepare<[], number | null>('SELECT max(version) FROM schema_version').pluck(),
      savepoint: db.prepare('SAVEPOINT command'),
      release: db.prepare('RELEASE command'),
      rollbackTo: db.prepare('ROLLBACK TO command'),
    };
  }

  /**
   * Runs a batch and answers its results in order; the commit is synced before it returns. With a clock, fewer results
   * than commands mean that the time of a batch was over: the rest did not begin. Throws DatabaseBusyError when the lock
   * was not free.
   */
  run(batch: readonly TimedCommand[]): Result<OutcomeOf<Command>>[] {
    const refusal = this.db.refusalOfWrites(batch[0]?.nowMs ?? 0);
    if (refusal !== null) return batch.map(() => refusal);
    const results = this.transaction(batch, 'bare') ?? this.transaction(batch, 'isolated');
    if (results === null) throw new Error('a batch of isolated commands failed as a whole');
    return results;
  }

  /**
   * Null when a command without savepoint met damage in the file, or threw for a reason other than the disk; nothing
   * has changed then.
   */
  private transaction(
    batch: readonly TimedCommand[],
    how: 'bare' | 'isolated',
    again = false,
  ): Result<OutcomeOf<Command>>[] | null {
    try {
      this.db.beginWrite();
    } catch (error) {
      if (this.db.faultOf(error) === 'busy') throw new DatabaseBusyError(LOCKED);
      return batch.map(() => this.db.failureOf(error));
    }
    try {
      this.askAhead(batch);
      // A later release may have upgraded the file while it was open here.
      requireOwnSchema(this.sql.version.get() ?? 0);
      this.log.begin();
      this.quotas.begin(this.log.commitSequence());
      this.digests.clear();
      const results: Result<OutcomeOf<Command>>[] = [];
      const endMs = (this.clock?.monotonicMs() ?? 0) + BATCH_MS;
      for (const timed of batch) {
        // Nobody waits for the long work of another in the same commit.
        if (this.clock !== null && results.length > 0 && isLong(timed)) break;
        results.push(how === 'bare' ? this.runBare(timed) : this.runInSavepoint(timed));
        if (this.clock !== null && (isLong(timed) || this.clock.monotonicMs() >= endMs)) break;
      }
      this.quotas.flush();
      this.digests.flush();
      this.log.finish();
      this.sql.commit.run();
      this.quotas.committed(this.log.commitSequence());
      this.writeAuditHead();
      return this.withWiping(batch, results);
    } catch (error) {
      this.abandon();
      if (error instanceof DatabaseRefusedError) return batch.map(() => fail(error.refusal, error.message));
      const fault = this.db.faultOf(error);
      if (fault === 'busy') throw new DatabaseBusyError(LOCKED);
      if (fault === null || fault === 'taken' || (how === 'bare' && fault === 'corrupt')) return null;
      const relieved = fault === 'full' && this.db.makeRoom(batch[0]?.nowMs ?? 0);
      if (relieved && !again) return this.transaction(batch, how, true);
      return batch.map(() => this.db.failureOf(error));
    }
  }

  /** Overwrites freed space for those that ask for it; the answer says whether all of it is. */
  private withWiping(
    batch: readonly TimedCommand[],
    results: Result<OutcomeOf<Command>>[],
  ): Result<OutcomeOf<Command>>[] {
    if (!batch.some(({ command }) => command.kind === 'wipe-freed')) return results;
    let done = false;
    try {
      done = this.db.wipeFreed();
    } catch (error) {
      // The commands are committed; what is left is tried again. A disk that is full or fails is no bug.
      const fault = this.db.faultOf(error);
      if (fault !== 'full' && fault !== 'failed') this.reportBug(error);
    }
    return results.map((result, at) =>
      batch[at]!.command.kind === 'wipe-freed' && result.ok ? { ...result, value: { done } } : result,
    );
  }

  /** What the commands of a batch will read, where each answer costs a trip to a server. */
  private askAhead(batch: readonly TimedCommand[]): void {
    const added = batch.flatMap(({ command }) => (command.kind === 'store-memory' ? [command.memory] : []));
    this.titles.expect(added);
    if (added.length > 0) this.db.expectMemories();
  }

  private runBare({ command, nowMs, indexed = [] }: TimedCommand): Result<OutcomeOf<Command>> {
    this.texts.expect(indexed);
    const context: DecisionContext = {
      nowMs,
      now: instantFromMs(nowMs),
      policy: this.policy,
      kinds: this.kinds,
      ruleTrust: this.ruleTrust,
      full: this.isFull(),
    };
    const before = this.log.own();
    const decision = runDecision(command, context, this.chain, (request) => this.answer(request, context));
    if (!decision.ok) return decision;
    const result = this.apply(decision.value, context);
    const { origin, seq } = this.log.own();
    return origin === before.origin && seq > before.seq
      ? { ...result, appended: { origin, first: before.seq + 1, last: seq } }
      : result;
  }

  /** True when the database takes what the operator allows it. */
  private isFull(): boolean {
    const maxBytes = this.policy.quota.databaseBytes;
    return maxBytes !== null && (this.db.usedBytes() ?? 0) >= maxBytes;
  }

  /**
   * Runs a command in a savepoint, so its exception costs the other commands of the batch nothing. A command that met a
   * damaged row marks the subject as suspect, which starts the repair.
   */
  private runInSavepoint(timed: TimedCommand): Result<OutcomeOf<Command>> {
    const mark = this.log.mark();
    this.quotas.flush();
    this.digests.flush();
    this.sql.savepoint.run();
    let failure: unknown;
    try {
      const result = this.runBare(timed);
      this.sql.release.run();
      return result;
    } catch (error) {
      // A full disk or an I/O error may have ended the transaction; then the whole batch has failed.
      if (!this.db.inTransaction || !ENDS_COMMAND.has(this.db.faultOf(error))) throw error;
      failure = error;
    }
    this.sql.rollbackTo.run();
    this.sql.release.run();
    this.log.rewind(mark);
    this.quotas.clear();
    this.digests.clear();
    this.mutations.forgetNamespaces();
    this.audit.takeHead();
    return this.failureOf(failure, timed.nowMs);
  }

  private failureOf(failure: unknown, nowMs: number): Result<OutcomeOf<Command>> {
    if (failure instanceof DamagedRowError) {
      return dataDamaged(failure, this.suspects.note(failure, instantFromMs(nowMs)));
    }
    const fault = this.db.faultOf(failure);
    if (fault === 'corrupt') return this.db.failureOf(failure);
    // SQLite names the columns, PostgreSQL the index.
    if (fault === 'taken' && /memories(\.|_)(id|title)/.test(String(failure)))
      return fail('CONFLICT', 'a memory with this id already exists');
    this.reportBug(failure);
    return fail('INTERNAL', 'internal server error');
  }

  private answer(request: ReadRequest, context: DecisionContext): unknown {
    if (!asks(request, afterThese)) return this.reads.answer(request, context);
    for (const mutation of request.mutations) this.mutations.apply(mutation, context);
    return undefined;
  }

  private apply(
    decision: Decision<OutcomeOf<Command>>,
    context: DecisionContext,
  ): Result<OutcomeOf<Command>> & { readonly ok: true } {
    const { chargedTo } = decision;
    let value = decision.value;
    for (const mutation of decision.mutations) {
      const stored = this.mutations.apply(mutation, context);
      if (stored === null || mutation.mutation !== 'write') continue;
      if (chargedTo !== undefined) {
        const to = { holder: chargedTo, namespace: mutation.namespace };
        this.quotas.wrote(to, this.policy.quota, stored.text, context.now);
      }
      // The caller sees the memory with the stamps of its write.
      if ('memory' in value && value.memory.id === mutation.id) {
        value = { ...value, memory: { ...stored.image, ...stored.stamp } as Memory };
      }
    }
    return { ok: true, value };
  }

  /** The commit is durable even when the head file cannot be written; the file may lag behind. */
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
