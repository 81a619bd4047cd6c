import type { Result } from '../../protocol/base/result.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import type { SqliteConnection } from '../../storage/sqlite/sqlite-connection.js';
import { auditDatabase } from '../support/log-audit.js';
import type { BornOperation, Ledger } from './ledger.js';
import type { Delivery } from './network.js';
import { LEASE_FACTS } from './sim-kinds.js';
import type { SimNode } from './sim-node.js';
import type { Invocation } from './workload.js';
import type { World } from './world.js';

export interface ChecksParts {
  readonly world: World;
  readonly nodes: readonly SimNode[];
  readonly ledger: Ledger;
}

/** Rows that lost a version number, as a trigger of the simulator saw them. */
const WATCH = `
CREATE TEMP TABLE sim_back (what TEXT);
CREATE TEMP TRIGGER sim_version_back AFTER UPDATE ON main.memories WHEN new.version < old.version BEGIN
  INSERT INTO sim_back VALUES (new.id || ' from version ' || old.version || ' to ' || new.version);
END;
CREATE TEMP TRIGGER sim_hlc_back AFTER UPDATE ON main.memories WHEN new.hlc < old.hlc BEGIN
  INSERT INTO sim_back VALUES (new.id || ' from stamp ' || old.hlc || ' to ' || new.hlc);
END;`;

/** How many commits of a node pass between two full audits of its database. */
const AUDIT_EVERY = 150;

/** What is checked at the event itself: most bugs are healed by the end of a run. */
export class Checks {
  private readonly watched = new WeakSet<SqliteConnection>();
  private readonly audited = new Map<string, number>();
  private readonly auditRows = new Map<string, number>();
  private readonly nonces = new Set<string>();
  private readonly erased = new Map<string, ReadonlySet<string>>();
  /** Nodes whose disk was lost or put back, and when. */
  readonly disksLost = new Map<string, number>();
  /** Nodes that are members no more. */
  readonly left = new Set<string>();
  /** Nodes whose disk says something that was not written, until they are scrubbed. */
  readonly damaged = new Set<string>();
  quorumAnswers = 0;

  constructor(private readonly parts: ChecksParts) {}

  /** A store that meets damage says so as it says that of a bug; until it is repaired that is right. */
  onBug(node: SimNode, stack: string): void {
    if (this.damaged.has(node.name)) this.parts.world.note(node.name, `met damage: ${stack}`);
    else this.parts.world.violate(node.name, 'bug', stack);
  }

  /** After every sync. */
  onCommit(node: SimNode, batch: readonly Command[], results: readonly Result<OutcomeOf<Command>>[]): void {
    const { world, ledger } = this.parts;
    this.watch(node.disk.db);
    const born = ledger.record(node, world.nowMs);
    for (const operation of born) {
      world.note(
        node.name,
        `born ${operation.kind} ${operation.origin.slice(5, 9)}/${operation.seq} ${operation.subject}`,
      );
    }
    results.forEach((result, index) => {
      if (!result.ok && result.error.code === 'INTERNAL' && !this.damaged.has(node.name)) {
        world.violate(node.name, 'internal', `${batch[index]!.kind} answered INTERNAL`);
      }
    });
    this.checkBackwards(node);
    this.checkErased(node);
    this.checkAuditRows(node);
    const commits = (this.audited.get(node.name) ?? 0) + 1;
    this.audited.set(node.name, commits);
    if (commits % AUDIT_EVERY === 0) this.audit(node);
  }

  /** A nonce that a node has accepted once is never accepted again. */
  onDelivery({ from, to, request, response }: Delivery): void {
    const nonce = Object.entries(request.headers).find(([name]) => /^x-memory-nonce$/i.test(name))?.[1];
    if (nonce === undefined || response.status >= 300) return;
    const key = `${from} ${to} ${nonce}`;
    if (this.nonces.has(key) && !this.disksLost.has(to)) {
      this.parts.world.violate(to, 'nonce', `${request.path} of ${from} was accepted twice, nonce ${nonce}`);
    }
    this.nonces.add(key);
  }

  /** An answer that says W copies means W disks. */
  onAnswer(invocation: Invocation): void {
    const { answer, operations, node, number } = invocation;
    if (answer?.ok !== true) return;
    const acks = answer.value['quorum_acks'];
    if (typeof acks !== 'number' || answer.value['quorum_met'] === false) return;
    this.quorumAnswers += 1;
    for (const operation of operations) {
      const copies = this.copiesOf(operation).length + this.disksLost.size;
      if (copies < acks) {
        this.parts.world.violate(
          node.name,
          'quorum',
          `call ${number} was told of ${acks} copies of ${operation.id}, there are ${copies} (${this.parts.nodes.map((each) => `${each.name} ${this.standing(each, operation)}`).join(', ')})`,
        );
      }
    }
  }

  /** Names of the nodes on whose disks an operation is, in effect. */
  copiesOf(operation: BornOperation): string[] {
    const { nodes } = this.parts;
    return nodes.filter((node) => this.standing(node, operation) === 'held').map((node) => node.name);
  }

  /** What a node's disk has of an operation. */
  private standing(node: SimNode, { origin, seq }: BornOperation): string {
    const row = node.disk.db
      .prepare('SELECT commit_sequence, parked FROM operations WHERE origin = ? AND origin_seq = ?')
      .get(origin, seq) as { commit_sequence: number; parked: string | null } | undefined;
    if (row === undefined) return 'missing';
    if (row.commit_sequence > node.disk.durableCommits()) return 'not synced';
    return row.parked ?? 'held';
  }

  /** The whole log of a node against its rows, unless a transaction is open. */
  audit(node: SimNode): void {
    if (node.disk.held || this.damaged.has(node.name)) return;
    for (const problem of auditDatabase(node.disk.db, [LEASE_FACTS])) {
      this.parts.world.violate(node.name, 'log audit', problem);
    }
    const over = node.disk.db
      .prepare(
        'SELECT agent_id, namespace FROM agent_quotas WHERE current_memories_today > max_memories_per_day',
      )
      .all();
    if (over.length > 0) this.parts.world.violate(node.name, 'quota', JSON.stringify(over));
  }

  private watch(db: SqliteConnection): void {
    if (this.watched.has(db)) return;
    this.watched.add(db);
    db.exec(WATCH);
  }

  private checkBackwards(node: SimNode): void {
    // A database that was put back learns of what it has lost, and of what has replaced it, in any order.
    if (this.disksLost.has(node.name)) return;
    const back = node.disk.db.prepare('SELECT what FROM temp.sim_back').pluck().all();
    for (const what of back) this.parts.world.violate(node.name, 'version went back', String(what));
  }

  /** What was erased stays so. */
  private checkErased(node: SimNode): void {
    if (this.disksLost.has(node.name) || this.damaged.has(node.name)) return;
    const { db } = node.disk;
    const now = new Set(
      db.prepare("SELECT id FROM tombstones WHERE word = 'erase'").pluck().all() as string[],
    );
    for (const id of this.erased.get(node.name) ?? [])
      if (!now.has(id)) this.parts.world.violate(node.name, 'erased came back', id);
    this.erased.set(node.name, now);
  }

  private checkAuditRows(node: SimNode): void {
    const before = this.auditRows.get(node.name) ?? 0;
    const { rows, last } = node.disk.db
      .prepare('SELECT count(*) AS rows, max(sequence) AS last FROM signed_events WHERE sequence > ?')
      .get(before) as { rows: number; last: number | null };
    if (last === null) return;
    if (last !== before + rows) {
      this.parts.world.violate(node.name, 'audit chain', `${rows} rows after ${before}, the last is ${last}`);
    }
    this.auditRows.set(node.name, last);
  }

  /** A disk begins anew: what was counted on the old one says nothing about it. */
  forget(node: SimNode): void {
    this.disksLost.set(node.name, this.parts.world.nowMs);
    this.auditRows.set(
      node.name,
      (node.disk.db.prepare('SELECT max(sequence) FROM signed_events').pluck().get() as number | null) ?? 0,
    );
    this.parts.ledger.rewind(node);
  }
}
