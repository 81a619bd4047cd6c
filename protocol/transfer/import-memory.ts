import { canonicalJson } from '../base/canonical-json.js';
import { fail } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, textBytes } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { tombstoneOf } from '../decide/reads.js';
import { AGENTS_NAMESPACE } from '../identity/agent.js';
import { ownerOf } from '../identity/owner.js';
import { isExpired } from '../memory/access.js';
import type { Memory, MemoryRow } from '../memory/memory.js';
import { memoryPayload } from '../memory/memory-kind.js';
import { insertMemory, replaceMemory } from '../memory/memory-writes.js';
import { memoryById, memoryByTitle } from '../memory/reads.js';
import { giveWay, mergedMemory } from '../memory/store.js';

/** Imports a row of an export; the caller's permission is checked before (interface §4.10). */
export interface ImportMemory {
  readonly kind: 'import-memory';
  /** A complete memory without stamps. */
  readonly memory: Memory;
  /** The same setting as in `store-memory`. */
  readonly archive: boolean;
  /** False for a row that says neither when it was made nor when it was edited. */
  readonly dated?: boolean;
  /** What becomes of a row whose title another memory holds: it is refused, or merged with that memory. */
  readonly onConflict?: 'error' | 'merge';
  /** Only answers what would become of the row. */
  readonly dryRun?: boolean;
  /** The caller, whose quota is charged; absent for a peer. */
  readonly viewer?: Viewer;
}

/**
 * `id` names the row that holds the text now; it may be another row, with the same title. `kept`: the row that is here
 * has another text and no earlier edit, and stays.
 */
export interface ImportMemoryOutcome {
  readonly id: string;
  readonly change: 'created' | 'updated' | 'unchanged' | 'kept';
  /** The version of that row. */
  readonly version: number;
}

/** Imports a memory, or only answers what would become of it. */
function* decideImport(command: ImportMemory, context: DecisionContext): Deciding<ImportMemoryOutcome> {
  const decision = yield* importOf(command, context);
  return command.dryRun === true && decision.ok ? decided(decision.value.value, []) : decision;
}

/**
 * Imports a memory (reference-http §2.3). The row with its id changes only for a later edit; without such a row it is
 * inserted as it is. CONFLICT where another memory holds the title with another text, unless the caller asks for a
 * merge. Importing the same row again changes nothing.
 */
function* importOf(command: ImportMemory, context: DecisionContext): Deciding<ImportMemoryOutcome> {
  const { memory } = command;
  const named = yield* memoryById(memory.id);
  if (named?.namespace === AGENTS_NAMESPACE || memory.namespace === AGENTS_NAMESPACE)
    return fail('FORBIDDEN', `namespace "${AGENTS_NAMESPACE}" takes registered agents only`);
  const holder =
    named?.title === memory.title && named.namespace === memory.namespace
      ? named
      : yield* memoryByTitle(memory.title, memory.namespace);
  const rival = holder === null || holder.id === memory.id ? null : holder;
  const room = rival !== null && isExpired(rival, context.now) ? [giveWay(rival, command.archive)] : [];

  if (named !== null && !isExpired(named, context.now)) {
    if (!isLaterEdit(command, named)) return stays(named, memory);
    return rival !== null && room.length === 0 ? titleTaken(rival) : mergeInto(named, command, context, room);
  }
  if (rival !== null && room.length === 0) {
    if (rival.content === memory.content) return stays(rival, memory);
    if (command.onConflict !== 'merge') return titleTaken(rival);
    return isLaterEdit(command, rival) ? mergeInto(rival, command, context, []) : stays(rival, memory);
  }
  if (named !== null) {
    // An expired row does not exist for readers: only its place in the log is kept.
    const revived = { ...memory, seen: named.seen, created_hlc: named.created_hlc };
    return decided(created(memory), [...room, replaceMemory(named, revived, { reembed: true })]);
  }
  // A deleted memory comes back with a version after its deletion, so nodes merge the two.
  const tombstone = yield* tombstoneOf({ kind: 'memory', id: memory.id });
  return decided(created(memory), [...room, insertMemory({ ...memory, seen: tombstone?.seen ?? {} })]);
}

const created = ({ id, version }: Memory): ImportMemoryOutcome => ({ id, change: 'created', version });

/** A row without dates is later than none, except where the caller asks for a merge, as a store would. */
const isLaterEdit = ({ memory, dated = true, onConflict }: ImportMemory, row: MemoryRow): boolean =>
  dated ? memory.updated_at > row.updated_at : onConflict === 'merge';

function stays(row: MemoryRow, incoming: Memory) {
  const keys = ['title', 'namespace', 'content', 'kind', 'tags'] as const;
  const same = keys.every((key) => canonicalJson(row[key]) === canonicalJson(incoming[key]));
  const change = same ? ('unchanged' as const) : ('kept' as const);
  return decided({ id: row.id, change, version: row.version }, []);
}

function titleTaken({ id, title, namespace }: MemoryRow) {
  const message = `memory ${id} holds the title "${title}" in namespace "${namespace}" with another text: rename one of them`;
  return fail('CONFLICT', message, { existing_id: id });
}

function mergeInto(
  row: MemoryRow,
  command: ImportMemory,
  context: DecisionContext,
  before: readonly Mutation[],
) {
  const { memory: incoming, dated = true } = command;
  const { title, namespace } = incoming;
  // Members that this release does not know follow the imported text, like known members.
  const rest = { ...row.rest, ...incoming.rest };
  const upserted = mergedMemory({ ...row, title, namespace, rest }, incoming, context);
  // The date of the edit stays, so that the next export finds out which of the two is later.
  const { valid_from, valid_until } = incoming;
  const edited = dated ? { ...upserted, updated_at: incoming.updated_at, valid_from, valid_until } : upserted;
  const merged = keptAttestation(row, withExpiryOfBoth(row, edited, incoming), incoming);
  const same = memoryPayload({ ...merged, updated_at: row.updated_at, version: row.version });
  if (same === memoryPayload(row))
    return decided({ id: row.id, change: 'unchanged' as const, version: row.version }, []);
  const reembed = row.title !== title || row.content !== incoming.content;
  return decided({ id: row.id, change: 'updated' as const, version: merged.version }, [
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

export const importMemoryCommand = defineCommand({
  kind: 'import-memory',
  decide: decideImport,
  gate: 'operator',
  bytes: ({ memory }) => textBytes(memory.content, memory.metadata),
  text: ({ memory }) => memory.content,
  writes: ['mail', 'reserved'],
});
