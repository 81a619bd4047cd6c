import { USED_ENVELOPE_KEPT_MS } from '../../protocol/base/limits.js';
import type { DecisionContext } from '../../protocol/decide/deciding.js';
import { applies, type MutationHandler, MutationHandlers } from '../../protocol/decide/handlers.js';
import { changeLocalRows, dropLocalRows, putLocalRow } from '../../protocol/decide/local-rows.js';
import type { Changing, Mutation } from '../../protocol/decide/mutations.js';
import { appendAudit } from '../../protocol/decide/mutations.js';
import { dropTraces } from '../../protocol/erasure/mutations.js';
import { chargeQuota, useEnvelope } from '../../protocol/identity/mutations.js';
import {
  clearSearched,
  putDatabaseOwner,
  putEmbedding,
  putEncoder,
  reindexTexts,
  requeueEmbeddings,
  switchEncoder,
} from '../../protocol/maintenance/mutations.js';
import {
  countAccess,
  dropArchived,
  flagNearDuplicates,
  purgeArchived,
} from '../../protocol/memory/mutations.js';
import {
  appendForeign,
  beginEpoch,
  dropPayloads,
  dropSuspects,
  forgetConflicts,
  noteIntegrity,
  noteSuspects,
  parkElsewhere,
  recordConflict,
  recountDigest,
  recountQuotas,
  resetClock,
  restoreOperation,
  savePeerProgress,
  setBranchAside,
  unpark,
  useNonce,
} from '../../protocol/replication/mutations.js';
import { purgePayload } from '../../protocol/replication/payloads.js';
import type { AuditChain } from './audit-chain.js';
import type { Connection } from './connection.js';
import type { Digests } from './digests.js';
import { EncoderLedger } from './encoders.js';
import { ErasedTraces } from './erased-traces.js';
import { LocalTables } from './kinds/local-tables.js';
import type { Written } from './kinds/subject-table.js';
import { Subjects } from './kinds/subjects.js';
import type { SubjectTables } from './kinds/tables.js';
import type { OperationLog } from './log.js';
import { NearDuplicates } from './near-duplicates.js';
import { PeerLedger } from './peer-progress.js';
import type { QuotaLedger } from './quota-ledger.js';
import { ReplicaRows } from './replica-rows.js';
import { RowRepair } from './row-repair.js';
import { Suspects } from './suspects.js';
import { replacing } from './upsert.js';

/** Applies typed mutations inside the write transaction; the only code that changes rows. */
export class Mutations {
  private readonly statements;
  private readonly subjects;
  private readonly replicas;
  private readonly peers;
  private readonly repair;
  private readonly suspects;
  private readonly nearDuplicates;
  private readonly encoders;
  private readonly local;
  private readonly traces;
  private readonly handlers: MutationHandlers;

  constructor(
    db: Connection,
    private readonly log: OperationLog,
    private readonly quotas: QuotaLedger,
    private readonly digests: Digests,
    private readonly tables: SubjectTables,
    /** Null when no agent acts: in migrations. */
    private readonly audit: AuditChain | null,
  ) {
    this.replicas = new ReplicaRows(db);
    this.subjects = new Subjects(db, tables, log, this.replicas);
    this.peers = new PeerLedger(db);
    this.repair = new RowRepair(db, quotas, tables.kinds);
    this.suspects = new Suspects(db);
    this.nearDuplicates = new NearDuplicates(db);
    this.encoders = new EncoderLedger(db);
    this.local = new LocalTables(db);
    this.traces = new ErasedTraces(db);
    this.statements = {
      countAccess: db.prepare('UPDATE memories SET access_count = ?, last_accessed_at = ? WHERE id = ?'),
      embedState: db.prepare('UPDATE memories SET embed_state = ? WHERE rid = ?'),
      putEmbedding: db.prepare(
        // Every write draws a new feed number, which is never used twice, so followers see every change.
        'INSERT INTO memory_embeddings (rid, model, dim, vectors) VALUES (?, ?, ?, ?)',
      ),
      dropEmbedding: db.prepare('DELETE FROM memory_embeddings WHERE rid = ?'),
      putOwner: db.prepare(
        `INSERT INTO database_owner (singleton, holder, role, fencing, expires_at_ms) VALUES (1, ?, ?, ?, ?)
         ${replacing(['singleton'], ['holder', 'role', 'fencing', 'expires_at_ms'])}`,
      ),
      useEnvelope: db.prepare(
        // Two nodes may have accepted the same one at once.
        'INSERT INTO write_envelopes (fingerprint, memory_id, expires_at_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      ),
      dropEnvelopes: db.prepare('DELETE FROM write_envelopes WHERE expires_at_ms < ?'),
    };
    this.handlers = new MutationHandlers([
      ...this.subjectAppliers(),
      ...this.memoryAppliers(),
      ...this.ledgerAppliers(),
      ...this.localAppliers(),
      ...this.logAppliers(),
    ]);
  }

  /** Clears the cache of interned namespaces, because the transaction that made them was rolled back. */
  forgetNamespaces(): void {
    this.tables.memories.forgetNamespaces();
  }

  /** The names of the local mutations that it applies. */
  get handled(): readonly string[] {
    return this.handlers.names;
  }

  /** Applies one mutation; one that writes answers what it stored. */
  apply(mutation: Mutation, context: DecisionContext): Written | null {
    const { subjects } = this;
    switch (mutation.mutation) {
      case 'write':
        return subjects.write(mutation, context);
      case 'remove':
        subjects.remove(mutation, context);
        return null;
      case 'settle':
        subjects.settle(mutation, context);
        return null;
      case 'rebuild':
        subjects.rebuild(mutation, context);
        return null;
      default:
        this.handlers.apply(mutation, context);
        return null;
    }
  }

  private subjectAppliers(): readonly MutationHandler[] {
    const { suspects } = this;
    return [
      applies(noteSuspects, ({ subjects }, { now }) => {
        for (const subject of subjects) suspects.note(subject, now);
      }),
      applies(dropSuspects, ({ subjects }) => {
        for (const subject of subjects) suspects.drop(subject);
      }),
      applies(recountDigest, ({ kind, namespace }) => this.digests.recount(kind, namespace)),
    ];
  }

  private memoryAppliers(): readonly MutationHandler[] {
    const { statements, log, tables } = this;
    return [
      applies(countAccess, ({ accessCount, lastAccessedAt, id }) => {
        statements.countAccess.run(accessCount, lastAccessedAt, id);
      }),
      applies(putEmbedding, (mutation) => this.putEmbedding(mutation)),
      applies(reindexTexts, ({ from, to }) => tables.memories.texts.reindex(from, to)),
      applies(flagNearDuplicates, ({ pairs, through }) => this.nearDuplicates.flag(pairs, through)),
      applies(requeueEmbeddings, ({ rids }) => this.encoders.requeue(rids)),
      applies(putEncoder, ({ role, encoder }, { now }) => this.encoders.put(role, encoder, now)),
      applies(clearSearched, () => this.encoders.clearSearched()),
      applies(switchEncoder, ({ encoder }, { now }) => this.encoders.switch(encoder, now)),
      applies(purgeArchived, ({ row, reason }, { nowMs }) => {
        const { id: subject, namespace, seen } = row;
        const stamp = log.stamp(seen, nowMs);
        tables.memories.dropArchived(subject);
        const payload = purgePayload(row, row.archivedAt, reason);
        log.append(stamp, { kind: 'purge', namespace, subject, seen, payload, rid: null });
      }),
      applies(dropArchived, ({ id }) => tables.memories.dropArchived(id)),
    ];
  }

  /** Mutations of local tables, which do not replicate. */
  private ledgerAppliers(): readonly MutationHandler[] {
    const { statements, quotas, repair } = this;
    return [
      applies(chargeQuota, (mutation, { now }) => {
        const { limits, memories, links } = mutation;
        quotas.charge(mutation, limits, { memories, links }, now);
      }),
      applies(recountQuotas, ({ namespace }, { now }) => repair.recountQuotas(namespace, now)),
      applies(useEnvelope, ({ fingerprint, memoryId, expiresAtMs }, { nowMs }) => {
        statements.dropEnvelopes.run(nowMs - USED_ENVELOPE_KEPT_MS);
        statements.useEnvelope.run(fingerprint, memoryId, expiresAtMs);
      }),
      applies(appendAudit, ({ event }, { now }) => {
        this.audit?.append(event, now);
      }),
      applies(putDatabaseOwner, ({ owner: { holder, role, fencing, expiresAtMs } }) => {
        statements.putOwner.run(holder, role, fencing, expiresAtMs);
      }),
      applies(dropTraces, ({ ids }) => this.traces.drop(ids)),
      applies(noteIntegrity, ({ name, facts }, { now }) => repair.note(name, facts, now)),
    ];
  }

  private localAppliers(): readonly MutationHandler[] {
    const { local } = this;
    return [
      applies(putLocalRow, ({ of, row }) => local.put(of, row)),
      applies(changeLocalRows, ({ of, where, set }) => local.change(of, where, set)),
      applies(dropLocalRows, ({ of, where }) => local.drop(of, where)),
    ];
  }

  private logAppliers(): readonly MutationHandler[] {
    const { log, peers, replicas } = this;
    return [
      applies(savePeerProgress, ({ command }) => peers.save(command)),
      applies(useNonce, ({ nonce }, { nowMs }) => replicas.useNonce(nonce, nowMs)),
      applies(appendForeign, ({ operation, parked, headSignature }) =>
        log.appendForeign(operation, parked, headSignature),
      ),
      applies(restoreOperation, ({ operation }) => log.restore(operation)),
      applies(dropPayloads, ({ places }) => log.dropPayloads(places)),
      applies(recordConflict, (mutation) => replicas.recordConflict(mutation)),
      applies(forgetConflicts, (subject) => replicas.forgetConflicts(subject)),
      applies(unpark, ({ origin, seq }) => replicas.unpark(origin, seq)),
      applies(parkElsewhere, ({ origin, seq }) => replicas.parkElsewhere(origin, seq)),
      applies(beginEpoch, (mutation, { nowMs }) => log.beginEpoch({ ...mutation, nowMs }, mutation)),
      applies(resetClock, (mutation, { nowMs }) => log.resetClock(mutation, nowMs)),
      applies(setBranchAside, ({ origin, keep, to }) => log.setBranchAside(origin, keep, to)),
    ];
  }

  private putEmbedding(mutation: Changing<typeof putEmbedding>): void {
    const { rid, state, vectors, coming } = mutation;
    if (coming) {
      this.encoders.putComing(rid, state, mutation, vectors);
      return;
    }
    this.statements.embedState.run(state, rid);
    this.statements.dropEmbedding.run(rid);
    if (vectors !== null) this.statements.putEmbedding.run(rid, mutation.model, mutation.dim, vectors);
  }
}
