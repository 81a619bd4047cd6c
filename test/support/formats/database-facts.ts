import type Database from 'better-sqlite3';
import { systemCrypto } from '../../../node/seams.js';
import type { AgentRecord } from '../../../protocol/identity/agent.js';
import type { QuotaUse } from '../../../protocol/identity/quota.js';
import { linkId } from '../../../protocol/links/link.js';
import { headerHash, operationId } from '../../../protocol/log/operation-log.js';
import type { ArchivedMemory } from '../../../protocol/memory/archived-memory.js';
import { memoryJson } from '../../../protocol/memory/memory.js';
import type { AnswerOf, Query } from '../../../protocol/release.js';
import type { Conflict } from '../../../protocol/replication/queries.js';
import type { Store } from '../../../storage/port.js';
import { OPERATOR } from '../memories.js';
import { type TableFacts, tableFacts } from './format-tables.js';

/** Before every expiry: nothing is hidden then. */
const LONG_AGO = '2000-01-01T00:00:00.000Z';
const ALL = 1_000_000;

/** An operation as a log tells of it. */
export interface LoggedFacts {
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly hlc: string;
  readonly payload_hash: string;
  /** False where only its header is there. */
  readonly payload: boolean;
  readonly hash: string;
  readonly parked: string | null;
}

/** Everything of a database that a later release must still show. */
export interface DatabaseFacts extends TableFacts {
  /** By id, as clients see them, with their authors' signatures. */
  readonly memories: Readonly<Record<string, object>>;
  readonly links: Readonly<Record<string, object>>;
  readonly archived: Readonly<Record<string, object>>;
  readonly agents: readonly AgentRecord[];
  readonly quotas: readonly QuotaUse[];
  readonly conflicts: readonly Pick<Conflict, 'kind' | 'subject' | 'op_id' | 'winner'>[];
  /** By operation id. */
  readonly log: Readonly<Record<string, LoggedFacts>>;
  readonly audit: readonly { readonly id: string; readonly agent_id: string; readonly event_type: string }[];
  readonly recalls: readonly object[];
  readonly owed: AnswerOf<{ readonly kind: 'list-peer-progress' }>;
  readonly counts: { readonly memories: number; readonly commits: number };
}

/** Reads all of it through the store, and the rest from the tables. */
export async function databaseFacts(store: Store, db: Database.Database): Promise<DatabaseFacts> {
  const { heads, commitSequence } = await ask(store, { kind: 'known-origins' });
  const log = await logOf(store, Object.keys(heads));
  const viewer = OPERATOR;
  const now = LONG_AGO;
  const conflicts = await ask(store, { kind: 'list-conflicts', limit: ALL });
  const audit = await ask(store, { kind: 'audit-rows', after: 0, limit: ALL });
  const stats = await ask(store, { kind: 'store-stats', viewer, now });
  const recalls = await ask(store, {
    ...{ kind: 'recall-observations', recallId: null, consumed: null, since: null, until: null },
    ...{ limit: ALL, agentId: null, viewer, now },
  } as const);
  const links = await ask(store, { kind: 'export-links', viewer, now, after: null, until: null, limit: ALL });
  const archive = await ask(store, { kind: 'list-archive', namespace: null, viewer, limit: ALL, offset: 0 });
  return {
    memories: await memoriesOf(store, log),
    links: Object.fromEntries(links.links.map((link) => [linkId(link), link])),
    archived: Object.fromEntries(archive.archived.map((each) => [each.memory.id, archivedFacts(each)])),
    agents: (await ask(store, { kind: 'list-agents', after: null, limit: ALL })).agents,
    quotas: (await ask(store, { kind: 'list-quotas', holder: null, namespace: null })).uses,
    conflicts: conflicts
      .map(({ kind, subject, op_id, winner }) => ({ kind, subject, op_id, winner }))
      .sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)),
    log,
    audit: audit.rows.map(({ id, agent_id, event_type }) => ({ id, agent_id, event_type })),
    recalls: recalls.observations,
    owed: await ask(store, { kind: 'list-peer-progress' }),
    counts: { memories: stats.total, commits: commitSequence },
    ...tableFacts(db),
  };
}

async function ask<Q extends Query>(store: Store, query: Q): Promise<AnswerOf<Q>> {
  const answer = await store.query(query);
  if (!answer.ok) throw new Error(`${query.kind}: ${answer.error.message}`);
  return answer.value;
}

/** Every memory that the log speaks of and that is there, hidden and expired ones too. */
async function memoriesOf(store: Store, log: Readonly<Record<string, LoggedFacts>>) {
  const subjects = new Set(Object.values(log).map(({ subject }) => subject));
  const memories: Record<string, object> = {};
  for (const id of [...subjects].sort()) {
    const found = await store.query({ kind: 'get-memory', id, viewer: OPERATOR, now: LONG_AGO });
    if (!found.ok) continue;
    const { memory } = found.value;
    memories[id] = { ...memoryJson(memory), write_signature: memory.write_signature };
  }
  return memories;
}

function archivedFacts({ memory, ...rest }: ArchivedMemory): object {
  return { ...memoryJson(memory), ...rest };
}

async function logOf(store: Store, origins: readonly string[]) {
  const query = { kind: 'read-operations', have: {}, limit: ALL, bytesMax: Number.MAX_SAFE_INTEGER } as const;
  const { operations } = await ask(store, { ...query, origins });
  const log: Record<string, LoggedFacts> = {};
  for (const operation of operations) {
    const opId = operationId(operation.origin, operation.seq);
    const found = await ask(store, { kind: 'find-operation', opId });
    const { kind, namespace, subject, hlc, payload, payloadHash } = operation;
    log[opId] = {
      ...{ kind, namespace, subject, hlc, payload_hash: payloadHash, payload: payload !== null },
      ...{ hash: headerHash(operation as never, systemCrypto), parked: found!.parked },
    };
  }
  return log;
}
