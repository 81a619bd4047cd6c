import assert from 'node:assert/strict';
import { systemCrypto } from '../../node/seams.js';
import { type Failure, failed, ok, type Result } from '../../protocol/base/result.js';
import type { NodeGovernance } from '../../protocol/decide/permissions.js';
import type { Command } from '../../protocol/release.js';
import { Writer } from '../../storage/sql/writer.js';
import { aMemory, OPERATOR, storing, UNLIMITED } from './memories.js';
import { openTestDatabase } from './test-store.js';

export const GOVERNED_NOW_MS = Date.parse('2026-03-04T05:06:07.000Z');

/** Where and when a database is made. */
interface Made {
  readonly path: string;
  readonly peerId: string;
  readonly nowMs: number;
}

const IN_MEMORY: Made = { path: ':memory:', peerId: 'peer-a', nowMs: GOVERNED_NOW_MS };

/** A database, in memory unless it is said where, with a writer that governs. */
export function governedWriter(
  governance: Partial<NodeGovernance> = {},
  { path, peerId, nowMs }: Made = IN_MEMORY,
) {
  const db = openTestDatabase({
    ...{ path, identity: { peerId }, nowMs, crypto: systemCrypto },
    ...{ freshEpoch: '0123456789abcdef', busyTimeoutMs: 100 },
  });
  const writer = new Writer({
    ...{ db, crypto: systemCrypto, signer: null },
    policy: { ...UNLIMITED, governance: { ...UNLIMITED.governance, ...governance } },
    reportBug: (error) => {
      throw error;
    },
  });
  let notes = 0;
  const self = {
    db,
    nowMs,
    run(command: Command): Result<unknown> {
      const [result] = writer.run([{ command, nowMs: self.nowMs }]);
      return result!.ok ? ok(result!.value) : failed(result!.error);
    },
    must(command: Command): unknown {
      const result = self.run(command);
      assert.ok(result.ok, JSON.stringify(result));
      return result.value;
    },
    refused(command: Command): Failure {
      const result = self.run(command);
      assert.ok(!result.ok, 'the command was not refused');
      return result.error;
    },
    /** Stores a memory as the operator, and answers its id. */
    stored(namespace: string, owner = 'ai:owner'): string {
      notes += 1;
      const memory = aMemory({ namespace, title: `note ${notes}`, metadata: { agent_id: owner } });
      self.must(storing(memory, { viewer: OPERATOR }));
      return memory.id;
    },
    register(agentId: string): void {
      const memory = aMemory({ id: agentId, namespace: '_agents', title: `agent:${agentId}` });
      self.must({ kind: 'register-agent', memory, spareId: `${agentId}-2`, viewer: OPERATOR, admin: true });
    },
    /** The records of the audit chain of one type, the oldest first. */
    records(type: string): readonly { readonly agent: string; readonly payload: Record<string, unknown> }[] {
      return db
        .prepare(`SELECT agent_id, payload FROM signed_events WHERE event_type = ? ORDER BY sequence`)
        .all(type)
        .map((row) => {
          const { agent_id, payload } = row as Record<string, string>;
          return { agent: agent_id!, payload: JSON.parse(payload!) as Record<string, unknown> };
        });
    },
  };
  return self;
}
