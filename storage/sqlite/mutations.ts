import { USED_ENVELOPE_KEPT_MS } from '../../protocol/base/limits.js';
import type { DecisionContext } from '../../protocol/decide/deciding.js';
import type { Mutation } from '../../protocol/decide/mutations.js';
import { purgePayload } from '../../protocol/replication/payloads.js';
import type { AuditChain } from './audit-chain.js';
import type { Connection } from './connection.js';
import type { Digests } from './digests.js';
import { EncoderLedger } from './encoders.js';
import type { Written } from './kinds/subject-table.js';
import { Subjects } from './kinds/subjects.js';
import type { SubjectTables } from './kinds/tables.js';
import type { OperationLog } from './log.js';
import { NearDuplicates } from './near-duplicates.js';
import { ObservationLedger } from './observations.js';
import { PeerLedger } from './peer-progress.js';
import type { QuotaLedger } from './quota-ledger.js';
import { ReplicaRows } from './replica-rows.js';
import { RowRepair } from './row-repair.js';
import { Suspects } from './suspects.js';
import { WebhookLedger } from './webhook-ledger.js';

type Names = Mutation['mutation'];

/** How each mutation is applied. A write answers what it stored. */
type Appliers = {
  readonly [N in Names]: (mutation: Extract<Mutation, { mutation: N }>, context: DecisionContext) => unknown;
};

/** Applies typed mutations inside the write transaction; the only code that changes rows. */
export class Mutations {
  private readonly statements;
  private readonly subjects;
  private readonly observations;
  private readonly replicas;
  private readonly peers;
  private readonly repair;
  private readonly suspects;
  private readonly nearDuplicates;
  private readonly encoders;
  private readonly webhooks;
  private readonly appliers: Appliers;

  constructor(
    db: Connection,
    private readonly log: OperationLog,
    private readonly quotas: QuotaLedger,
    private readonly digests: Digests,
    private readonly tables: SubjectTables,
    /** Null when no agent acts: in migrations. */
    private readonly audit: AuditChain | null,
  ) {
    this.observations = new ObservationLedger(db);
    this.replicas = new ReplicaRows(db);
    this.subjects = new Subjects(db, tables, log, this.replicas);
    this.peers = new PeerLedger(db);
    this.repair = new RowRepair(db, quotas);
    this.suspects = new Suspects(db);
    this.nearDuplicates = new NearDuplicates(db);
    this.encoders = new EncoderLedger(db);
    this.webhooks = new WebhookLedger(db);
    this.statements = {
      countAccess: db.prepare('UPDATE memories SET access_count = ?, last_accessed_at = ? WHERE id = ?'),
      embedState: db.prepare('UPDATE memories SET embed_state = ? WHERE rid = ?'),
      putEmbedding: db.prepare(
        // Every write draws a new feed number, which is never used twice, so followers see every change.
        'INSERT OR REPLACE INTO memory_embeddings (rid, model, dim, vectors) VALUES (?, ?, ?, ?)',
      ),
      dropEmbedding: db.prepare('DELETE FROM memory_embeddings WHERE rid = ?'),
      putOwner: db.prepare(
        `INSERT OR REPLACE INTO database_owner (singleton, holder, role, fencing, expires_at_ms)
         VALUES (1, ?, ?, ?, ?)`,
      ),
      useEnvelope: db.prepare(
        // Two nodes may have accepted the same one at once.
        'INSERT OR IGNORE INTO write_envelopes (fingerprint, memory_id, expires_at_ms) VALUES (?, ?, ?)',
      ),
      dropEnvelopes: db.prepare('DELETE FROM write_envelopes WHERE expires_at_ms < ?'),
    };
    this.appliers = this.appliersOf();
  }

  /** Clears the cache of interned namespaces, because the transaction that made them was rolled back. */
  forgetNamespaces(): void {
    this.tables.memories.forgetNamespaces();
  }

  /** Applies one mutation; one that writes answers what it stored. */
  apply(mutation: Mutation, context: DecisionContext): Written | null {
    const applier = this.appliers[mutation.mutation] as Appliers['write'];
    const stored = applier(mutation as Extract<Mutation, { mutation: 'write' }>, context);
    return mutation.mutation === 'write' ? (stored as Written) : null;
  }

  private appliersOf(): Appliers {
    return {
      ...this.subjectAppliers(),
      ...this.memoryAppliers(),
      ...this.ledgerAppliers(),
      ...this.webhookAppliers(),
      ...this.logAppliers(),
    };
  }

  private subjectAppliers() {
    const { subjects, suspects } = this;
    return {
      write: (mutation, context) => subjects.write(mutation, context),
      remove: (mutation, context) => subjects.remove(mutation, context),
      settle: (mutation, context) => subjects.settle(mutation, context),
      rebuild: (mutation, context) => subjects.rebuild(mutation, context),
      'accept-row': (subject, context) => subjects.accept(subject, context),
      'note-suspects': ({ subjects: found }, { now }) => {
        for (const subject of found) suspects.note(subject, now);
      },
      'drop-suspects': ({ subjects: settled }) => {
        for (const subject of settled) suspects.drop(subject);
      },
      'recount-digest': ({ kind, namespace }) => this.digests.recount(kind, namespace),
    } satisfies Partial<Appliers>;
  }

  private memoryAppliers() {
    const { statements, log, tables } = this;
    return {
      'count-access': ({ accessCount, lastAccessedAt, id }) => {
        statements.countAccess.run(accessCount, lastAccessedAt, id);
      },
      'put-embedding': (mutation) => this.putEmbedding(mutation),
      'reindex-texts': ({ from, to }) => tables.memories.texts.reindex(from, to),
      'flag-near-duplicates': ({ pairs, through }) => this.nearDuplicates.flag(pairs, through),
      'requeue-embeddings': ({ rids }) => this.encoders.requeue(rids),
      'put-encoder': ({ role, encoder }, { now }) => this.encoders.put(role, encoder, now),
      'clear-searched': () => this.encoders.clearSearched(),
      'switch-encoder': ({ encoder }, { now }) => this.encoders.switch(encoder, now),
      'purge-archived': ({ row, reason }, { nowMs }) => {
        const { id: subject, namespace, seen } = row;
        const stamp = log.stamp(seen, nowMs);
        tables.memories.dropArchived(subject);
        const payload = purgePayload(row, row.archivedAt, reason);
        log.append(stamp, { kind: 'purge', namespace, subject, seen, payload, rid: null });
      },
      'drop-archived': ({ id }) => tables.memories.dropArchived(id),
    } satisfies Partial<Appliers>;
  }

  /** Mutations of local tables, which do not replicate. */
  private ledgerAppliers() {
    const { statements, observations, quotas, repair } = this;
    return {
      'charge-quota': (mutation, { now }) => {
        const { limits, memories, links } = mutation;
        quotas.charge(mutation, limits, { memories, links }, now);
      },
      'recount-quotas': ({ namespace }, { now }) => repair.recountQuotas(namespace, now),
      'use-envelope': ({ fingerprint, memoryId, expiresAtMs }, { nowMs }) => {
        statements.dropEnvelopes.run(nowMs - USED_ENVELOPE_KEPT_MS);
        statements.useEnvelope.run(fingerprint, memoryId, expiresAtMs);
      },
      'append-audit': ({ event }, { now }) => {
        this.audit?.append(event, now);
      },
      'record-recall': ({ observation }) => observations.record(observation),
      'consume-recall': ({ consumption }) => observations.consume(consumption),
      'prune-observations': ({ before, limit }) => observations.prune(before, limit),
      'put-database-owner': ({ owner: { holder, role, fencing, expiresAtMs } }) => {
        statements.putOwner.run(holder, role, fencing, expiresAtMs);
      },
      'note-integrity': ({ name, facts }, { now }) => repair.note(name, facts, now),
    } satisfies Partial<Appliers>;
  }

  /** Mutations of the tables of webhooks, which do not replicate. */
  private webhookAppliers() {
    const { webhooks } = this;
    return {
      'add-subscription': ({ subscription }) => webhooks.addSubscription(subscription),
      'put-subscription': ({ subscription }) => webhooks.putSubscription(subscription),
      'drop-subscription': ({ id }) => webhooks.dropSubscription(id),
      announce: ({ announced }, context) => webhooks.announce(announced, context),
      'pass-events': ({ through, except }) => webhooks.passEvents(through, except),
      'drop-announced': (lost) => webhooks.dropAnnounced(lost),
      'put-event': ({ event }) => webhooks.putEvent(event),
      'add-dead-letter': ({ event, lastFailedAt }) => webhooks.addDeadLetter(event, lastFailedAt),
      'drop-dead-letters': ({ correlationIds }) => webhooks.dropDeadLetters(correlationIds),
      'drop-events': ({ events }) => webhooks.dropEvents(events),
    } satisfies Partial<Appliers>;
  }

  private logAppliers() {
    const { log, peers, replicas } = this;
    return {
      'save-peer-progress': ({ command }) => peers.save(command),
      'use-nonce': ({ nonce }, { nowMs }) => replicas.useNonce(nonce, nowMs),
      'append-foreign': ({ operation, parked, headSignature }) =>
        log.appendForeign(operation, parked, headSignature),
      'restore-operation': ({ operation }) => log.restore(operation),
      'drop-payloads': ({ places }) => log.dropPayloads(places),
      'record-conflict': (mutation) => replicas.recordConflict(mutation),
      'forget-conflicts': (subject) => replicas.forgetConflicts(subject),
      unpark: ({ origin, seq }) => replicas.unpark(origin, seq),
      'park-elsewhere': ({ origin, seq }) => replicas.parkElsewhere(origin, seq),
      'begin-epoch': (mutation, { nowMs }) => log.beginEpoch({ ...mutation, nowMs }, mutation),
      'reset-clock': (mutation, { nowMs }) => log.resetClock(mutation, nowMs),
      'set-branch-aside': ({ origin, keep, to }) => log.setBranchAside(origin, keep, to),
    } satisfies Partial<Appliers>;
  }

  private putEmbedding(mutation: Extract<Mutation, { mutation: 'put-embedding' }>): void {
    const { rid, state, vectors, coming } = mutation;
    if (coming) {
      this.encoders.putComing(rid, state, mutation, vectors);
      return;
    }
    this.statements.embedState.run(state, rid);
    if (vectors !== null) {
      this.statements.putEmbedding.run(rid, mutation.model, mutation.dim, vectors);
    } else {
      this.statements.dropEmbedding.run(rid);
    }
  }
}
