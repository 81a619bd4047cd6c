import type { ImportLink, ImportMemory, Outcomes } from '../commands.js';
import { type Memory, type MemoryRow, ownerOf } from '../memory.js';
import { memoryPayload } from '../operation-log.js';
import { fail } from '../result.js';
import { isExpired } from './access.js';
import {
  type Deciding,
  type DecisionContext,
  decided,
  linkBetween,
  type Mutation,
  memoryById,
  memoryByTitle,
  tombstoneOf,
} from './decision.js';
import { giveWay, mergedMemory } from './store.js';

/**
 * Imports a memory (reference-http §2.3): the row of the same id, else the one that holds its title, is merged with
 * it; otherwise it is inserted as it is. CONFLICT when the row of its id would take another row's title. Importing
 * the same row again changes nothing.
 */
export function* decideImport(
  command: ImportMemory,
  context: DecisionContext,
): Deciding<Outcomes['import-memory']> {
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
    // What has expired exists for nobody: nothing of it is kept but its place in the log.
    const revived = { ...memory, seen: named.seen, created_hlc: named.created_hlc };
    return decided({ id: memory.id, change: 'created' }, [
      ...room,
      { mutation: 'replace-memory', operation: 'update', before: named, memory: revived, reembed: true },
    ]);
  }
  // A deleted memory comes back after its deletion, for those who merge the two.
  const tombstone = yield* tombstoneOf(memory.id);
  return decided({ id: memory.id, change: 'created' }, [
    ...room,
    {
      mutation: 'insert-memory',
      operation: 'store',
      memory: { ...memory, seen: tombstone?.seen ?? {} },
    },
  ]);
}

function mergeInto(row: MemoryRow, incoming: Memory, context: DecisionContext, before: readonly Mutation[]) {
  const { title, namespace } = incoming;
  const merged = keptAttestation(
    row,
    withExpiryOfBoth(row, mergedMemory({ ...row, title, namespace }, incoming, context), incoming),
    incoming,
  );
  const same = memoryPayload({ ...merged, updated_at: row.updated_at, version: row.version });
  if (same === memoryPayload(row)) return decided({ id: row.id, change: 'unchanged' as const }, []);
  const reembed = row.title !== title || row.content !== incoming.content;
  return decided({ id: row.id, change: 'updated' as const }, [
    ...before,
    { mutation: 'replace-memory', operation: 'update', before: row, memory: merged, reembed },
  ]);
}

/** A long row was given its expiry on purpose; an import that says the same takes nothing away. */
function withExpiryOfBoth(row: MemoryRow, merged: Memory, incoming: Memory): Memory {
  const both = row.tier === 'long' && incoming.tier === 'long' && row.expires_at === incoming.expires_at;
  return both ? { ...merged, expires_at: row.expires_at } : merged;
}

/** An import that attests nothing says nothing about an attestation that still covers the row. */
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

/** Imports a link between two memories that exist; a link that is there already stays as it is. */
export function* decideImportLink(
  { link }: ImportLink,
  context: DecisionContext,
): Deciding<Outcomes['import-link']> {
  if (link.source_id === link.target_id) return fail('VALIDATION_FAILED', 'a memory cannot link to itself');
  const source = yield* memoryById(link.source_id);
  const target = yield* memoryById(link.target_id);
  for (const end of [source, target]) {
    if (end === null || isExpired(end, context.now))
      return fail('NOT_FOUND', 'an end of the link is missing');
  }
  const stored = yield* linkBetween(link);
  if (stored) return decided({ change: 'unchanged' }, []);
  return decided({ change: 'created' }, [
    { mutation: 'insert-link', link, namespace: source!.namespace, rid: source!.rid },
  ]);
}
