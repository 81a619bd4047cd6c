import { EMBED_STATES } from '../../protocol/commands.js';
import type { DecisionContext, Mutation } from '../../protocol/decide/decision.js';
import { USED_ENVELOPE_KEPT_MS } from '../../protocol/limits.js';
import { linkId, linkPayload } from '../../protocol/link.js';
import type { Memory } from '../../protocol/memory.js';
import {
  memoryPayload,
  type OperationKind,
  purgePayload,
  type Removal,
  removalPayload,
} from '../../protocol/operation-log.js';
import { editStamp, memoryOf } from '../../protocol/replica.js';
import type { AuditChain } from './audit-chain.js';
import type { Connection } from './connection.js';
import type { Digests } from './digests.js';
import { LinkRows } from './link-rows.js';
import type { OperationLog, Stamp } from './log.js';
import { MemoryRows } from './memory-rows.js';
import { ObservationLedger } from './observations.js';
import { PeerLedger } from './peer-progress.js';
import type { QuotaLedger } from './quota-ledger.js';
import { ReplicaRows } from './replica-rows.js';
import { RowRepair } from './row-repair.js';
import { Suspects } from './suspects.js';

/** Applies typed mutations inside the write transaction; the only code that changes rows. */
export class Mutations {
  private readonly statements;
  private readonly observations;
  private readonly memories;
  private readonly links;
  private readonly replicas;
  private readonly peers;
  private readonly repair;
  private readonly suspects;

  constructor(
    db: Connection,
    private readonly log: OperationLog,
    private readonly quotas: QuotaLedger,
    private readonly digests: Digests,
    /** Null where nothing is done in anybody's name: in migrations. */
    private readonly audit: AuditChain | null,
  ) {
    this.suspects = new Suspects(db);
    this.observations = new ObservationLedger(db);
    this.memories = new MemoryRows(db, log, quotas, digests);
    this.links = new LinkRows(db, digests);
    this.replicas = new ReplicaRows(db);
    this.peers = new PeerLedger(db);
    this.repair = new RowRepair(db, this.memories, this.replicas, quotas);
    this.statements = {
      countAccess: db.prepare('UPDATE memories SET access_count = ?, last_accessed_at = ? WHERE id = ?'),
      embedState: db.prepare('UPDATE memories SET embed_state = ? WHERE rid = ?'),
      putEmbedding: db.prepare(
        // The feed number is drawn anew and never given twice, so followers see every change.
        'INSERT OR REPLACE INTO memory_embeddings (rid, model, dim, vectors) VALUES (?, ?, ?, ?)',
      ),
      dropEmbedding: db.prepare('DELETE FROM memory_embeddings WHERE rid = ?'),
      putOwner: db.prepare(
        `INSERT OR REPLACE INTO database_owner (singleton, holder, role, fencing, expires_at_ms)
         VALUES (1, ?, ?, ?, ?)`,
      ),
      useEnvelope: db.prepare(
        'INSERT INTO write_envelopes (fingerprint, memory_id, expires_at_ms) VALUES (?, ?, ?)',
      ),
      dropEnvelopes: db.prepare('DELETE FROM write_envelopes WHERE expires_at_ms < ?'),
    };
  }

  /** Forgets interned namespaces, because the transaction that made them was rolled back. */
  forgetNamespaces(): void {
    this.memories.forgetNamespaces();
  }

  /** Marks a subject whose row was found damaged; answers since when it is marked. */
  suspect(subject: string, now: string): string {
    return this.suspects.note(subject, now);
  }

  /** Applies one mutation; answers the memory as stored, stamps included, for those that write one. */
  apply(mutation: Mutation, context: DecisionContext): Memory | null {
    switch (mutation.mutation) {
      case 'insert-memory':
        return this.insertMemory(mutation.memory, mutation.operation, context);
      case 'replace-memory':
        return this.replaceMemory(mutation, context);
      case 'remove-memory':
        this.removeMemory(mutation, context);
        return null;
      case 'count-access':
        this.statements.countAccess.run(mutation.accessCount, mutation.lastAccessedAt, mutation.id);
        return null;
      case 'put-embedding':
        this.putEmbedding(mutation);
        return null;
      case 'charge-quota': {
        const { limits, memories, links } = mutation;
        this.quotas.charge(mutation, limits, { memories, links }, context.now);
        return null;
      }
      case 'use-envelope':
        this.statements.dropEnvelopes.run(context.nowMs - USED_ENVELOPE_KEPT_MS);
        this.statements.useEnvelope.run(mutation.fingerprint, mutation.memoryId, mutation.expiresAtMs);
        return null;
      case 'append-audit':
        this.audit?.append(mutation.event, context.now);
        return null;
      case 'record-recall':
        this.observations.record(mutation.observation);
        return null;
      case 'consume-recall':
        this.observations.consume(mutation.consumption);
        return null;
      case 'save-peer-progress':
        this.peers.save(mutation.command);
        return null;
      case 'prune-observations':
        this.observations.prune(mutation.before, mutation.limit);
        return null;
      case 'put-database-owner': {
        const { holder, role, fencing, expiresAtMs } = mutation.owner;
        this.statements.putOwner.run(holder, role, fencing, expiresAtMs);
        return null;
      }
      case 'rebuild-memory':
        this.repair.rebuild(mutation, context);
        return null;
      case 'drop-link':
        this.links.drop(mutation.link);
        return null;
      case 'restore-operation':
        this.log.restore(mutation.operation);
        return null;
      case 'recount-digest':
        this.digests.recount(mutation.namespace);
        return null;
      case 'recount-quotas':
        this.repair.recountQuotas(mutation.namespace, context.now);
        return null;
      case 'drop-payloads':
        this.log.dropPayloads(mutation.places);
        return null;
      case 'note-suspects':
        for (const subject of mutation.subjects) this.suspects.note(subject, context.now);
        return null;
      case 'drop-suspects':
        for (const subject of mutation.subjects) this.suspects.drop(subject);
        return null;
      case 'accept-row':
        this.repair.accept(mutation.id, context);
        return null;
      case 'note-integrity':
        this.repair.note(mutation.name, mutation.facts, context.now);
        return null;
      case 'park-elsewhere':
        this.replicas.parkElsewhere(mutation.origin, mutation.seq);
        return null;
      case 'restore-memory':
        return this.insertMemory(mutation.memory, mutation.operation, context);
      case 'purge-archived':
        this.purgeArchived(mutation, context);
        return null;
      case 'insert-link':
        this.insertLink(mutation, context);
        return null;
      case 'use-nonce':
        this.replicas.useNonce(mutation.nonce, context.nowMs);
        return null;
      case 'append-foreign':
        this.log.appendForeign(mutation.operation, mutation.parked, mutation.headSignature);
        return null;
      case 'settle-memory':
        this.settleMemory(mutation, context);
        return null;
      case 'settle-link':
        this.settleLink(mutation);
        return null;
      case 'record-conflict': {
        const { loser, winner, subject, namespace } = mutation;
        this.replicas.recordConflict(loser, winner, subject, namespace);
        return null;
      }
      case 'drop-archived':
        this.memories.dropArchived(mutation.id);
        return null;
      case 'unpark':
        this.replicas.unpark(mutation.origin, mutation.seq);
        return null;
      case 'set-branch-aside':
        this.log.setBranchAside(mutation.origin, mutation.keep, mutation.to);
        return null;
      case 'begin-epoch':
        this.log.beginEpoch({ ...mutation, nowMs: context.nowMs }, mutation);
        return null;
    }
  }

  private insertMemory(memory: Memory, kind: OperationKind, context: DecisionContext): Memory {
    const stamp = this.log.stamp(memory.seen, context.nowMs);
    // A row that comes back was created when it was first stored.
    const created_hlc = kind === 'restore' && memory.created_hlc !== '' ? memory.created_hlc : stamp.hlc;
    const stamped: Memory = { ...memory, ...stamp, created_hlc, edited: editOf(stamp) };
    const payload = memoryPayload(stamped);
    const rid = this.memories.insert(stamped, payload, context.now);
    if (Object.keys(memory.seen).length > 0) {
      this.memories.unbury(memory.id);
      this.replicas.keepSiblings(memory.id, []);
    }
    if (kind === 'restore') this.memories.leaveArchive(stamped, rid);
    this.append(stamp, kind, memory, payload, rid);
    return stamped;
  }

  private replaceMemory(
    mutation: Extract<Mutation, { mutation: 'replace-memory' }>,
    context: DecisionContext,
  ): Memory {
    const { memory, before, operation, reembed } = mutation;
    const stamp = this.log.stamp(memory.seen, context.nowMs);
    const text = operation === 'update';
    const edited = text ? editOf(stamp) : memory.edited;
    const stamped: Memory = { ...memory, ...stamp, edited };
    const payload = memoryPayload(stamped);
    const how = { text, reembed, lifeAt: mutation.lifeAt ?? null };
    const rid = this.memories.replace(before, stamped, payload, how, context.now);
    this.replicas.keepSiblings(memory.id, []);
    this.append(stamp, operation, memory, payload, rid);
    return stamped;
  }

  private removeMemory(
    mutation: Extract<Mutation, { mutation: 'remove-memory' }>,
    context: DecisionContext,
  ): void {
    const { memory: row, operation, reason, archive } = mutation;
    const stamp = this.log.stamp(row.seen, context.nowMs);
    const { namespace, title, expires_at: expiresAt, version } = row;
    const removal: Removal = { kind: operation, namespace, title, reason, expiresAt, version, image: null };
    if (archive) this.memories.archive(row, reason, row, context.now);
    this.memories.remove(row, removal, stamp, context.now);
    this.replicas.keepSiblings(row.id, []);
    this.append(stamp, operation, row, removalPayload(row, reason, archive), row.rid);
  }

  private purgeArchived(
    { row, reason }: Extract<Mutation, { mutation: 'purge-archived' }>,
    context: DecisionContext,
  ): void {
    const stamp = this.log.stamp(row.seen, context.nowMs);
    this.memories.dropArchived(row.id);
    const payload = purgePayload(row, row.archivedAt, reason);
    this.append(stamp, 'purge', row, payload, null);
  }

  private insertLink(
    mutation: Extract<Mutation, { mutation: 'insert-link' }>,
    context: DecisionContext,
  ): void {
    const { link, namespace, rid } = mutation;
    const stamp = this.log.stamp({}, context.nowMs);
    const payload = linkPayload(link);
    this.links.write(link, namespace, payload, stamp);
    this.log.append(stamp, { kind: 'link', namespace, subject: linkId(link), seen: {}, payload, rid });
  }

  private append(
    stamp: Stamp,
    kind: OperationKind,
    subject: Pick<Memory, 'id' | 'namespace' | 'seen'>,
    payload: string,
    rid: number | null,
  ): void {
    const { id, namespace, seen } = subject;
    this.log.append(stamp, { kind, namespace, subject: id, seen, payload, rid });
  }

  /** Brings a row to what its versions on all nodes mean. */
  private settleMemory(
    mutation: Extract<Mutation, { mutation: 'settle-memory' }>,
    context: DecisionContext,
  ): void {
    this.writeSettled(mutation, context);
    // The row was held against those that it was made of.
    if (mutation.known) this.replicas.keepSiblings(mutation.id, mutation.siblings);
  }

  private writeSettled(
    mutation: Extract<Mutation, { mutation: 'settle-memory' }>,
    context: DecisionContext,
  ): void {
    const { id, before, settled, known } = mutation;
    if (settled.image === null) {
      const { removal, hlc, origin, seq, covers } = settled;
      const stamp = { hlc, origin, origin_seq: seq, seen: covers };
      if (mutation.archive !== null) {
        this.memories.archive(mutation.archive, removal.reason, stamp, context.now);
      }
      if (before === null) this.memories.bury(id, removal, stamp, context.now);
      else this.memories.remove(before, removal, stamp, context.now);
      return;
    }
    const memory = memoryOf(settled, before);
    const payload = memoryPayload(memory);
    if (before === null) {
      const rid = this.memories.insert(memory, payload, context.now);
      if (known) this.memories.leaveArchive(memory, rid);
      return;
    }
    const { tier, expires_at, updated_at, version, edited } = memory;
    const text = memoryPayload({ ...before, tier, expires_at, updated_at, version, edited }) !== payload;
    const reembed = before.title !== memory.title || before.content !== memory.content;
    this.memories.replace(before, memory, payload, { text, reembed, lifeAt: null }, context.now);
  }

  private settleLink({ link, operation }: Extract<Mutation, { mutation: 'settle-link' }>): void {
    const { hlc, origin, seq } = operation;
    const stamp = { hlc, origin, origin_seq: seq, seen: { ...operation.seen, [origin]: seq } };
    this.links.write(link, operation.namespace, linkPayload(link), stamp);
  }

  private putEmbedding(mutation: Extract<Mutation, { mutation: 'put-embedding' }>): void {
    this.statements.embedState.run(mutation.state, mutation.rid);
    if (mutation.state === EMBED_STATES.embedded && mutation.vectors !== null) {
      this.statements.putEmbedding.run(mutation.rid, mutation.model, mutation.dim, mutation.vectors);
    } else {
      this.statements.dropEmbedding.run(mutation.rid);
    }
  }
}

const editOf = ({ hlc, origin, origin_seq: seq }: Stamp): string => editStamp({ hlc, origin, seq });
