import { fail } from '../base/result.js';
import { defineCommand, textBytes } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { tombstoneOf } from '../decide/reads.js';
import { ownerOf } from '../identity/owner.js';
import { mayHold } from '../log/scope.js';
import { isExpired } from '../memory/access.js';
import {
  ADDRESSEE_KEYS,
  higherTier,
  type Memory,
  type MemoryRow,
  PRESERVED_METADATA_KEYS,
} from '../memory/memory.js';
import { memoryPayload } from '../memory/memory-kind.js';
import { insertMemory, replaceMemory } from '../memory/memory-writes.js';
import { memoryById, memoryByTitle } from '../memory/reads.js';
import { giveWay, withAttestation } from '../memory/store.js';

/** A memory of a peer that knows no operations (reference-federation §1.7). */
export interface ReceiveMemory {
  readonly kind: 'receive-memory';
  /** A complete memory without stamps. */
  readonly memory: Memory;
  /** Globs of namespaces that its sender may write; null means all. */
  readonly allowedNamespaces: readonly string[] | null;
  /** Agents in whose name the sender may write. Rows of other agents change only by a signature of their owner. */
  readonly agentIds: readonly string[];
  /** The same setting as in `store-memory`. */
  readonly archive: boolean;
}

/** `id` names the row that holds the text now. */
export interface ReceiveMemoryOutcome {
  readonly id: string;
  readonly change: 'created' | 'updated' | 'unchanged';
}

type Outcome = ReceiveMemoryOutcome;

/**
 * Takes a memory of a peer that knows no operations (reference-federation §1.7). The row with its title, else the row
 * with its id, takes over newer contents. Without such a row it is inserted, unless a deletion is later than its last
 * change. FORBIDDEN when it would touch a namespace outside its sender's scope, or the row of an agent in whose name the
 * sender may not write. Receiving it again changes nothing.
 */
function* decideReceive(command: ReceiveMemory, context: DecisionContext): Deciding<Outcome> {
  const { memory } = command;
  const holder = yield* memoryByTitle(memory.title, memory.namespace);
  const named = holder?.id === memory.id ? holder : yield* memoryById(memory.id);
  const touched = [memory.namespace, ...(named === null ? [] : [named.namespace])];
  if (!touched.every((namespace) => mayHold(command, namespace))) {
    return fail('FORBIDDEN', 'the namespace is outside the scope of this peer');
  }
  const living = (row: MemoryRow | null) => row !== null && !isExpired(row, context.now);
  if (living(holder)) return merged(holder!, command);
  const room = holder === null || holder.id === memory.id ? [] : [giveWay(holder, command.archive)];
  if (living(named)) {
    const outcome = merged(named!, command);
    return outcome.ok && outcome.value.mutations.length > 0
      ? decided(outcome.value.value, [...room, ...outcome.value.mutations])
      : outcome;
  }
  if (named !== null) {
    if (memory.updated_at <= named.updated_at) return unchanged(memory.id);
    const revived = { ...memory, seen: named.seen, created_hlc: named.created_hlc };
    return decided({ id: memory.id, change: 'created' }, [
      ...room,
      replaceMemory(named, revived, { reembed: true }),
    ]);
  }
  const tombstone = yield* tombstoneOf({ kind: 'memory', id: memory.id });
  if (tombstone !== null && memory.updated_at <= tombstone.deleted_at) return unchanged(memory.id);
  return decided({ id: memory.id, change: 'created' }, [
    ...room,
    insertMemory({ ...memory, seen: tombstone?.seen ?? {} }),
  ]);
}

const unchanged = (id: string) => decided<Outcome>({ id, change: 'unchanged' }, []);

function merged(row: MemoryRow, { memory: incoming, agentIds }: ReceiveMemory) {
  const memory = newerOf(row, incoming);
  const same = memoryPayload({ ...memory, updated_at: row.updated_at, version: row.version });
  if (same === memoryPayload(row)) return unchanged(row.id);
  const owner = ownerOf(row);
  if (owner !== null && !agentIds.includes(owner) && !isSignedBy(owner, incoming)) {
    return fail('FORBIDDEN', 'the memory belongs to an agent in whose name this peer may not write');
  }
  const reembed = row.title !== memory.title || row.content !== memory.content;
  return decided<Outcome>({ id: row.id, change: 'updated' }, [replaceMemory(row, memory, { reembed })]);
}

/** True for a memory whose signature was verified as that of an agent. */
const isSignedBy = (agentId: string, memory: Memory): boolean =>
  memory.metadata['attest_level'] === 'agent_attested' && ownerOf(memory) === agentId;

/** The incoming metadata with the stored owner, readers and addressee: a sync preserves them (interface §2.1). */
function keptMetadata(row: MemoryRow, incoming: Memory): Readonly<Record<string, unknown>> {
  const metadata: Record<string, unknown> = { ...incoming.metadata };
  for (const key of [...PRESERVED_METADATA_KEYS, ...ADDRESSEE_KEYS]) {
    if (row.metadata[key] !== undefined) metadata[key] = row.metadata[key];
  }
  return metadata;
}

/** The stored row with newer contents; its id, creation and owner stay. At equal instants the greater id wins. */
function newerOf(row: MemoryRow, incoming: Memory): Memory {
  const tier = higherTier(row.tier, incoming.tier);
  const isNewer =
    incoming.updated_at > row.updated_at || (incoming.updated_at === row.updated_at && incoming.id > row.id);
  const both: Memory = {
    ...row,
    priority: Math.max(row.priority, incoming.priority),
    confidence: Math.max(row.confidence, incoming.confidence),
    access_count: Math.max(row.access_count, incoming.access_count),
    updated_at: isNewer ? incoming.updated_at : row.updated_at,
    tier,
    expires_at: tier === 'long' ? null : (incoming.expires_at ?? row.expires_at),
    version: row.version + 1,
  };
  if (!isNewer) return both;
  const text: Memory = {
    ...both,
    title: incoming.title,
    namespace: incoming.namespace,
    content: incoming.content,
    tags: incoming.tags,
    source: incoming.source,
    kind: incoming.kind,
    citations: incoming.citations,
    source_uri: incoming.source_uri,
    source_span: incoming.source_span,
    metadata: keptMetadata(row, incoming),
    write_signature: incoming.write_signature,
  };
  return withAttestation(text, incoming);
}

export const receiveMemoryCommand = defineCommand({
  kind: 'receive-memory',
  decide: decideReceive,
  gate: 'peer',
  bytes: ({ memory }) => textBytes(memory.content, memory.metadata),
  text: ({ memory }) => memory.content,
  writes: ['mail', 'reserved'],
});
