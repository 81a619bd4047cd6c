import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { memoryById, memoryByTitle, read } from '../decide/reads.js';
import { memoryPayload } from '../kinds/memory-kind.js';
import { isExpired } from '../memory/access.js';
import { type Memory, type MemoryRow, ownerOf } from '../memory/memory.js';
import { insertMemory, replaceMemory } from '../memory/memory-writes.js';
import { giveWay, mergedMemory } from '../memory/store.js';
import type { Viewer } from '../ranking/types.js';
import { fail } from '../result.js';

/** Imports a row of an export; the caller's permission is checked before (interface §4.10). */
export interface ImportMemory {
  readonly kind: 'import-memory';
  /** A complete memory without stamps. */
  readonly memory: Memory;
  /** The same setting as in `store-memory`. */
  readonly archive: boolean;
  /** The caller, whose quota is charged; absent for a peer. */
  readonly viewer?: Viewer;
}

/** `id` names the row that holds the text now; after a merge that may be another row. */
export interface ImportMemoryOutcome {
  readonly id: string;
  readonly change: 'created' | 'updated' | 'unchanged';
}

/**
 * Imports a memory (reference-http §2.3). The row with its id, else the row with its title, is merged with it;
 * otherwise it is inserted as it is. CONFLICT when the row with its id would take another row's title. Importing the
 * same row again changes nothing.
 */
export function* decideImport(
  command: ImportMemory,
  context: DecisionContext,
): Deciding<ImportMemoryOutcome> {
  const { memory } = command;
  const named = yield* memoryById(memory.id);
  const holder =
    named?.title === memory.title && named.namespace === memory.namespace
      ? named
      : yield* memoryByTitle(memory.title, memory.namespace);
  const rival = holder === null || holder.id === memory.id ? null : holder;
  const room = rival !== null && isExpired(rival, context.now) ? [giveWay(rival, command.archive)] : [];

  if (named !== null && !isExpired(named, context.now)) {
    if (rival !== null && room.length === 0) {
      const message = `another memory holds this title in namespace "${memory.namespace}"`;
      return fail('CONFLICT', message, { existing_id: rival.id });
    }
    return mergeInto(named, memory, context, room);
  }
  if (rival !== null && room.length === 0) return mergeInto(rival, memory, context, []);
  if (named !== null) {
    // An expired row does not exist for readers: only its place in the log is kept.
    const revived = { ...memory, seen: named.seen, created_hlc: named.created_hlc };
    return decided({ id: memory.id, change: 'created' }, [
      ...room,
      replaceMemory(named, revived, { reembed: true }),
    ]);
  }
  // A deleted memory comes back with a version after its deletion, so nodes merge the two.
  const tombstone = yield* read('tombstone', { kind: 'memory', id: memory.id });
  return decided({ id: memory.id, change: 'created' }, [
    ...room,
    insertMemory({ ...memory, seen: tombstone?.seen ?? {} }),
  ]);
}

function mergeInto(row: MemoryRow, incoming: Memory, context: DecisionContext, before: readonly Mutation[]) {
  const { title, namespace } = incoming;
  // Members that this release does not know follow the imported text, like known members.
  const rest = { ...row.rest, ...incoming.rest };
  const merged = keptAttestation(
    row,
    withExpiryOfBoth(row, mergedMemory({ ...row, title, namespace, rest }, incoming, context), incoming),
    incoming,
  );
  const same = memoryPayload({ ...merged, updated_at: row.updated_at, version: row.version });
  if (same === memoryPayload(row)) return decided({ id: row.id, change: 'unchanged' as const }, []);
  const reembed = row.title !== title || row.content !== incoming.content;
  return decided({ id: row.id, change: 'updated' as const }, [
    ...before,
    replaceMemory(row, merged, { reembed }),
  ]);
}

/** A long row's expiry was set on purpose; an import with the same text does not remove it. */
function withExpiryOfBoth(row: MemoryRow, merged: Memory, incoming: Memory): Memory {
  const both = row.tier === 'long' && incoming.tier === 'long' && row.expires_at === incoming.expires_at;
  return both ? { ...merged, expires_at: row.expires_at } : merged;
}

/** An import without attestation keeps an attestation that still covers the row. */
function keptAttestation(row: MemoryRow, merged: Memory, incoming: Memory): Memory {
  const covers =
    incoming.metadata['attest_level'] !== 'agent_attested' &&
    row.title === merged.title &&
    row.namespace === merged.namespace &&
    row.content === merged.content &&
    row.kind === merged.kind &&
    ownerOf(row) === ownerOf(merged);
  if (!covers) return merged;
  const { attest_level: _level, attested_by: _by, ...metadata } = merged.metadata;
  const { attest_level, attested_by } = row.metadata;
  return {
    ...merged,
    write_signature: row.write_signature,
    metadata: {
      ...metadata,
      ...(attest_level === undefined ? {} : { attest_level }),
      ...(attested_by === undefined ? {} : { attested_by }),
    },
  };
}
