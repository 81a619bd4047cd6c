import { systemCrypto, systemRandom, systemScheduler } from '../../node/seams.js';
import type { Clock, Signer } from '../../protocol/base/seams.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import { headerHash } from '../../protocol/log/operation-log.js';
import type { VerifiedOperation, WireOperation } from '../../protocol/log/wire-operation.js';
import type { Command } from '../../protocol/release.js';
import { KINDS } from '../../protocol/release.js';
import type { ApplyOutcome } from '../../protocol/replication/apply-operations.js';
import type { Connection } from '../../storage/sql/connection.js';
import { InlineStore } from '../../storage/sql/inline-store.js';
import { recordIndexes } from '../../storage/sql/kinds/record-table.js';
import { openSqlite } from '../../storage/sqlite/open-sqlite.js';
import { auditDatabase } from './log-audit.js';
import { UNLIMITED } from './memories.js';
import { openTestDatabase } from './test-store.js';
import { THROWAWAY_FACTS } from './throwaway-kinds.js';

/** A store in memory that is one of several replicas, with a clock of its own. */
export interface Replica {
  readonly store: InlineStore;
  readonly db: Connection;
  readonly kinds: Kinds;
  nowMs: number;
  /** Runs a command that must succeed. */
  run<C extends Command>(command: C): Promise<unknown>;
  /** Operations that this replica has beyond what somebody has. */
  read(have?: Record<string, number>): Promise<readonly WireOperation[]>;
  apply(operations: readonly WireOperation[], nonce?: null): Promise<ApplyOutcome>;
  /** Its memories as replicated, by id, and its digests. */
  state(): Promise<unknown>;
  audit(): string[];
}

/** The header hash that a receiver computes before its store sees an operation. */
export const verified = (operation: WireOperation): VerifiedOperation => ({
  ...operation,
  hash: headerHash(operation, systemCrypto),
  refusal: null,
  scope: null,
});

/** With `image`, the bytes of another replica's database as a plain copy; `kinds` are those that it knows. */
export function replica(name: string, nowMs: number, image?: Buffer, kinds: Kinds = KINDS): Replica {
  const db =
    image !== undefined
      ? openSqlite(image)
      : openTestDatabase({
          path: ':memory:',
          identity: { peerId: `peer-${name}` },
          nowMs,
          crypto: systemCrypto,
          // Nodes that verify messages are named so that it has the form of an epoch.
          freshEpoch: name.length === 16 ? name : `epoch${name}`,
          busyTimeoutMs: 100,
        });
  for (const sql of recordIndexes(kinds)) db.exec(sql);
  return replicaOver(db, nowMs, null, kinds);
}

/** The replica after its release became one that knows these kinds. */
export function upgradedTo(kinds: Kinds, { db, nowMs }: Replica): Replica {
  for (const sql of recordIndexes(kinds)) db.exec(sql);
  return replicaOver(db, nowMs, null, kinds);
}

/** A replica over a database that is open already. */
export function replicaOver(
  db: Connection,
  nowMs: number,
  signer: Signer | null = null,
  kinds: Kinds = KINDS,
): Replica {
  const clock: Clock = { nowMs: () => self.nowMs, monotonicMs: () => self.nowMs };
  const store = new InlineStore({
    db,
    kinds,
    clock,
    scheduler: systemScheduler,
    random: systemRandom,
    crypto: systemCrypto,
    reportBug: (error) => {
      throw error;
    },
    signer,
    policy: UNLIMITED,
    shared: false,
  });
  const further = THROWAWAY_FACTS.filter(({ name }) => kinds.named(name) !== null);
  const self: Replica = {
    store,
    db,
    kinds,
    nowMs,
    async run(command) {
      const result = await store.execute(command);
      if (!result.ok) throw new Error(`${command.kind}: ${result.error.code} ${result.error.message}`);
      return result.value;
    },
    async read(have = {}) {
      const query = { kind: 'read-operations', have, origins: null, limit: 10_000, bytesMax: 1e9 } as const;
      const answer = await store.query(query);
      if (!answer.ok) throw new Error(answer.error.message);
      return answer.value.operations;
    },
    async apply(operations) {
      const heads = ends(operations).map((operation) => ({
        origin: operation.origin,
        seq: operation.seq,
        hash: headerHash(operation, systemCrypto),
        signature: 'test',
      }));
      const nonce = null;
      const command = { kind: 'apply-operations', from: 'peer-x', heads, nonce } as const;
      return (await self.run({ ...command, operations: operations.map(verified) })) as ApplyOutcome;
    },
    async state() {
      const columns = `id, title, namespace, content, tier, expires_at, version, updated_at, created_at, metadata, edited,
        hlc, origin, origin_seq, conflict_of`;
      const rows = db.prepare(`SELECT ${columns} FROM memories ORDER BY id`).all();
      const links = db
        .prepare(
          `SELECT source_id, target_id, relation, created_at, valid_from, valid_until, attest_level, rest, namespace, hlc,
             origin, origin_seq
           FROM memory_links ORDER BY 1, 2, 3`,
        )
        .all();
      const records = db
        .prepare(
          `SELECT kind, id, namespace, owner_id, payload, hlc, origin, origin_seq FROM records ORDER BY kind, id`,
        )
        .all();
      const lost = db.prepare('SELECT origin, origin_seq, kind, subject FROM conflicts ORDER BY 1, 2').all();
      const digests = await store.query({ kind: 'read-digests' });
      return { rows, links, records, lost, digests };
    },
    audit: () => auditDatabase(db, further),
  };
  return self;
}

/** The last operation of each origin. */
function ends(operations: readonly WireOperation[]): readonly WireOperation[] {
  return [...new Map(operations.map((operation) => [operation.origin, operation])).values()];
}
