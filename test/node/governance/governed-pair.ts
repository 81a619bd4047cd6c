import assert from 'node:assert/strict';
import { join } from 'node:path';
import { approvalsRound } from '../../../actors/maintenance/approvals.js';
import type { Caller } from '../../../node/identity/caller.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import type { Answer } from '../../../node/pipeline/answer.js';
import type { Operation } from '../../../node/pipeline/operation.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { systemClock, systemCrypto } from '../../../node/seams.js';
import { headerHash } from '../../../protocol/log/operation-log.js';
import type { WireOperation } from '../../../protocol/log/wire-operation.js';
import type { Connection } from '../../../storage/sql/connection.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { verified } from '../../support/replicas.js';
import { openTestNode } from '../../support/test-node.js';
import { openBeside } from '../../support/test-store.js';
import type { Row } from './governance-model.js';

const BY_NAME = new Map<string, Operation>(OPERATIONS.map((operation) => [operation.name, operation]));

/** The id under which the operator of a node acts. */
export const OPERATOR_ID = 'human:operator';

const callerOf = (agentId: string): Caller => ({
  agentId,
  claimed: 'explicit',
  viewer: { all: agentId === OPERATOR_ID, agentId, asNamespace: null },
  admin: agentId === OPERATOR_ID,
  local: false,
});

/** A node whose operations run as its surfaces run them, and whose rows are read beside it. */
export class GovernedNode {
  private constructor(
    private readonly node: Awaited<ReturnType<typeof openTestNode>>,
    private readonly db: Connection,
  ) {}

  static async open(): Promise<GovernedNode> {
    const dbPath = join(temporaryFolder('governed'), 'mnemesh.db');
    const node = await openTestNode({ dbPath, synchronous: 'OFF', requireAttestation: false });
    return new GovernedNode(node, openBeside({ path: dbPath }));
  }

  /** Runs an operation for an agent, as HTTP does. */
  async call(agentId: string, name: string, input: Readonly<Record<string, unknown>>): Promise<Answer> {
    const operation = BY_NAME.get(name);
    assert.ok(operation !== undefined, `there is no operation ${name}`);
    const request = { surface: 'http', caller: callerOf(agentId), input, unknownFields: 'refuse' } as const;
    return await runOperation(operation, request, this.node.services);
  }

  /** The live memories of callers, by id. */
  rows(): Map<string, Row> {
    const found = this.db
      .prepare(
        `SELECT id, namespace, title, content, tags, tier, expires_at, metadata FROM memories
         WHERE namespace NOT LIKE '\\_%' ESCAPE '\\'`,
      )
      .all() as Record<string, string | null>[];
    return new Map(
      found.map((row) => {
        const { agent_id: owner = null, scope = null } = JSON.parse(row['metadata']!) as Partial<
          Record<'agent_id' | 'scope', string>
        >;
        const { id, namespace, title, content, tags, tier, expires_at: expires } = row;
        const texts = { id, namespace, title, content, tags, tier } as Record<string, string>;
        return [id!, { ...texts, expires, owner, isPrivate: scope === 'private' } as unknown as Row];
      }),
    );
  }

  /** The standards that this node knows, as their text. */
  standards(): string[] {
    return this.db.prepare(`SELECT payload FROM records WHERE kind = 'standard'`).pluck().all() as string[];
  }

  /** How many records of a type the audit chain has. */
  audited(type: string): number {
    const count = this.db.prepare('SELECT count(*) FROM signed_events WHERE event_type = ?').pluck();
    return count.get(type) as number;
  }

  /** Archived ids, the oldest first. */
  archived(): string[] {
    return this.db
      .prepare('SELECT id FROM archived_memories ORDER BY archived_at, id')
      .pluck()
      .all() as string[];
  }

  /** Takes what another node has and this one has not, as a member of its mesh. */
  async pull(from: GovernedNode): Promise<void> {
    const { store } = this.node.services;
    const operations = await from.#operations();
    const heads = [...new Map(operations.map((operation) => [operation.origin, operation])).values()].map(
      (operation) => ({
        ...{ origin: operation.origin, seq: operation.seq },
        ...{ hash: headerHash(operation, systemCrypto), signature: 'test' },
      }),
    );
    const sent = operations.map(verified);
    const applied = await store.execute({
      ...{ kind: 'apply-operations', from: 'peer-x', heads, nonce: null, operations: sent },
    });
    assert.ok(applied.ok, JSON.stringify(applied));
  }

  /** Does what the node does every few seconds: counts votes that came from other nodes. */
  async settle(): Promise<void> {
    await approvalsRound(this.node.services.store, systemClock);
  }

  async close(): Promise<void> {
    this.db.close();
    await this.node.close();
  }

  async #operations(): Promise<readonly WireOperation[]> {
    const query = { kind: 'read-operations', have: {}, origins: null, limit: 10_000, bytesMax: 1e9 } as const;
    const answer = await this.node.services.store.query(query);
    assert.ok(answer.ok);
    return answer.value.operations;
  }
}
