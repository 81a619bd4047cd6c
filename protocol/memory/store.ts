import { TITLE_LENGTH_MAX, TITLE_VERSION_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import { fail, failed } from '../base/result.js';
import { characters } from '../base/utf8.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, textBytes } from '../decide/command.js';
import { isFlag, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { type Reading, tombstoneOf } from '../decide/reads.js';
import type { Uses } from '../decide/used.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { useEnvelope } from '../identity/mutations.js';
import type { SignedEnvelope } from '../identity/signed-envelope.js';
import { envelopeProblem } from '../identity/signed-envelope.js';
import { enqueued } from '../jobs/enqueue.js';
import type { JobInput } from '../jobs/job-types.js';
import { oneOf } from '../kinds/payload.js';
import { isExpired, isVisible, mayChange } from './access.js';
import { isEnvelope, newMemory, ofMemory } from './command-members.js';
import { isEntity } from './entity.js';
import { higherTier, type Memory, type MemoryRow, PRESERVED_METADATA_KEYS } from './memory.js';
import { insertMemory, removeMemory, replaceMemory } from './memory-writes.js';
import type { OnConflict } from './on-conflict.js';
import { ON_CONFLICT } from './on-conflict.js';
import { memoryById, memoryByTitle, titleExpiryOf } from './reads.js';
import { type Validity, validityOfBoth } from './validity.js';

export interface StoreMemory {
  readonly kind: 'store-memory';
  /** The complete row to write, without stamps; its id is used when no row is updated. */
  readonly memory: Memory;
  readonly onConflict: OnConflict;
  readonly viewer: Viewer;
  /** Keep a copy of an expired row that this one replaces (`archive_on_gc`). */
  readonly archive: boolean;
  /** Set when the author's signature was verified; usable once, and only while the key is bound. */
  readonly envelope: SignedEnvelope | null;
  /** True for a command that was sent before and not answered: a row with its id answers it. */
  readonly again?: true;
  /** What is done with the stored row later; absent where nothing is. A command that waits for an approval has none. */
  readonly later?: LaterWork;
}

/** Types of the jobs that a store queues about its row. */
type StoreJobName = 'auto_tag' | 'auto_atomise' | 'synthesis' | 'compare_pairs' | 'classify_kind';

/** A job about a stored row; the row is known when it is stored. */
export type StoreJob = {
  [T in StoreJobName]: { readonly type: T; readonly input: Omit<JobInput<T>, 'memory_id'> };
}[StoreJobName];

/** What is done with a stored row later, and in whose name. */
export interface LaterWork {
  readonly by: AgentId;
  readonly local: boolean;
  readonly jobs: readonly StoreJob[];
}

/** Not the whole memory: it would cross a thread for nothing. */
export interface StoreMemoryOutcome {
  readonly stored: Pick<Memory, 'id' | 'tier' | 'namespace' | 'title' | 'version' | 'expires_at'>;
  readonly created: boolean;
}

/**
 * Stores a memory. A taken (title, namespace) is CONFLICT, an update of the stored row (`merge`), or the next free
 * `title (n)` (`version`). An expired row with the title is removed in the same transaction.
 */
function* decideStore(command: StoreMemory, context: DecisionContext): Deciding<StoreMemoryOutcome> {
  const { memory, envelope } = command;
  if (command.again === true) {
    const row = yield* memoryById(memory.id);
    if (row !== null) return decided({ stored: summaryOf(row), created: true }, []);
    // A memory that was deleted comes back with a version after its deletion, so nodes merge the two.
    const tombstone = yield* tombstoneOf({ kind: 'memory', id: memory.id });
    if (tombstone !== null) {
      const { again: _again, ...first } = command;
      return yield* decideStore({ ...first, memory: { ...memory, seen: tombstone.seen } }, context);
    }
  }
  if (envelope !== null) {
    const problem = yield* envelopeProblem(envelope);
    if (problem !== null) return failed(problem);
  }
  const holder = yield* memoryByTitle(memory.title, memory.namespace);
  if (holder === null) return yield* insert(memory, [], command, context);
  if (isExpired(holder, context.now)) {
    return yield* insert(memory, [giveWay(holder, command.archive)], command, context);
  }

  switch (command.onConflict) {
    case 'merge':
      return mayChange(holder, command.viewer) && isVisible(holder, command.viewer)
        ? yield* merge(holder, command, context)
        : titleTaken(holder, command);
    case 'version':
      return yield* insertUnderNextTitle(command, context);
    case 'error':
      return titleTaken(holder, command);
  }
}

function* insert(
  memory: Memory,
  before: readonly Mutation[],
  command: StoreMemory,
  context: DecisionContext,
): Deciding<StoreMemoryOutcome> {
  const charge = yield* chargeFor(memory, null, context);
  if (!charge.ok) return failed(charge.error);
  return decided({ stored: summaryOf(memory), created: true }, [
    ...before,
    ...charge.value,
    ...useOf(command.envelope, memory.id),
    insertMemory(memory),
    ...(yield* laterWork(memory, command, context)),
  ]);
}

function* laterWork(
  { id, version }: Memory,
  { later }: StoreMemory,
  { now }: DecisionContext,
): Reading<readonly Mutation[]> {
  if (later === undefined) return [];
  const { by: caller, local, jobs } = later;
  const queued: Mutation[] = [];
  for (const { type, input } of jobs) {
    const asked = { memory_id: id, ...input } as JobInput<typeof type>;
    queued.push(...(yield* enqueued({ type, name: `${id}:${version}`, input: asked, caller, local }, now)));
  }
  return queued;
}

function useOf(envelope: SignedEnvelope | null, memoryId: string): Mutation[] {
  if (envelope === null) return [];
  const { fingerprint, expiresAtMs } = envelope;
  return [useEnvelope({ fingerprint, memoryId, expiresAtMs })];
}

function summaryOf({ id, tier, namespace, title, version, expires_at }: Memory) {
  return { id, tier, namespace, title, version, expires_at };
}

/** Removes the expired row that holds a title. */
export function giveWay(holder: MemoryRow, archive: boolean): Mutation {
  return removeMemory(holder, { word: 'expire', reason: 'ttl_expired', archive });
}

function titleTaken(holder: MemoryRow, command: StoreMemory) {
  const visible = isVisible(holder, command.viewer);
  const ways =
    visible && mayChange(holder, command.viewer)
      ? 'on_conflict "merge" replaces its text and tags, "version" stores both'
      : 'choose another title, or store both with on_conflict "version"';
  const message = `a memory with this title already exists in namespace "${holder.namespace}": ${ways}`;
  // A caller who may not see the row does not learn its id; that the title is taken cannot be hidden.
  return visible ? fail('CONFLICT', message, { existing_id: holder.id }) : fail('CONFLICT', message);
}

function* insertUnderNextTitle(command: StoreMemory, context: DecisionContext): Deciding<StoreMemoryOutcome> {
  const { memory } = command;
  for (let n = 2; n <= TITLE_VERSION_MAX; n += 1) {
    const title = `${memory.title} (${n})`;
    if (characters(title) > TITLE_LENGTH_MAX) break;
    const taken = yield* titleExpiryOf({ title, namespace: memory.namespace });
    if (taken === null) return yield* insert(retitled(memory, title), [], command, context);
    if (taken.expires_at !== null && taken.expires_at <= context.now) {
      const holder = yield* memoryByTitle(title, memory.namespace);
      const before = holder === null ? [] : [giveWay(holder, command.archive)];
      return yield* insert(retitled(memory, title), before, command, context);
    }
  }
  return fail('CONFLICT', `no free title of the form "${memory.title} (n)" is left`);
}

/** The signature does not cover another title, so the row is claimed. */
function retitled(memory: Memory, title: string): Memory {
  if (memory.write_signature === null) return { ...memory, title };
  const { attested_by: _, ...metadata } = memory.metadata;
  return { ...memory, title, write_signature: null, metadata: { ...metadata, attest_level: 'claimed' } };
}

function* merge(
  holder: MemoryRow,
  command: StoreMemory,
  context: DecisionContext,
): Deciding<StoreMemoryOutcome> {
  const incoming = command.memory;
  const merged = mergedMemory(holder, incoming, context);
  const reembed = holder.title !== incoming.title || holder.content !== incoming.content;
  const charge = yield* chargeFor(merged, holder, context);
  if (!charge.ok) return failed(charge.error);
  return decided({ stored: summaryOf(merged), created: false }, [
    ...charge.value,
    ...useOf(command.envelope, holder.id),
    replaceMemory(holder, merged, { reembed }),
    ...(yield* laterWork(merged, command, context)),
  ]);
}

/** The stored row after a write of the same title: the upsert rule (reference-http §2.3). */
export function mergedMemory(holder: MemoryRow, incoming: Memory, context: DecisionContext): Memory {
  const tier = higherTier(holder.tier, incoming.tier);
  const memory: Memory = {
    ...holder,
    content: incoming.content,
    tags: incoming.tags,
    source: incoming.source,
    priority: Math.max(holder.priority, incoming.priority),
    ...surerOf(holder, incoming),
    tier,
    expires_at: tier === 'long' ? null : laterExpiry(holder.expires_at, incoming.expires_at),
    ...validityMembers(holder, incoming, context),
    metadata: preserveMetadata(holder.metadata, incoming.metadata),
    kind: keepsKind(holder) ? holder.kind : incoming.kind,
    reflection_depth: Math.max(holder.reflection_depth, incoming.reflection_depth),
    citations: incoming.citations.length > 0 ? incoming.citations : holder.citations,
    source_uri: incoming.source_uri ?? holder.source_uri,
    atomised_into: atomsOfText(holder, incoming.content),
    source_span: incoming.source_span ?? holder.source_span,
    entity_id: holder.entity_id ?? incoming.entity_id,
    updated_at: context.now,
    version: holder.version + 1,
    // The signature covers the new text together with the instant at which it was signed.
    write_signature: incoming.write_signature,
  };
  return withAttestation(memory, incoming);
}

function validityMembers(holder: Memory, incoming: Memory, { now }: DecisionContext): Validity {
  const { valid_from, valid_until } = validityOfBoth(holder, incoming, now);
  return { valid_from, valid_until };
}

/** The higher confidence, with where it comes from. */
function surerOf(holder: Memory, incoming: Memory) {
  const surer = incoming.confidence > holder.confidence ? incoming : holder;
  const { confidence, confidence_source, confidence_signals, confidence_decayed_at } = surer;
  return { confidence, confidence_source, confidence_signals, confidence_decayed_at };
}

/** How many atoms say the text of a memory: none say a new one, so recalls answer with the memory again. */
export const atomsOfText = ({ content, atomised_into }: Memory, text: string): number | null =>
  text === content ? atomised_into : null;

/** True for a memory whose kind decides what else it holds or what names it (reference-http §2.3). */
export const keepsKind = (memory: Memory): boolean =>
  memory.kind === 'reflection' || memory.kind === 'persona' || isEntity(memory);

/** The later of two expiries; null, no expiry, is later than all others. */
function laterExpiry(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return null;
  return a > b ? a : b;
}

/**
 * The merged text is the incoming author's, so the row takes the incoming write's attestation. When the stored row
 * keeps a kind or an owner that the signature does not cover, the row is claimed.
 */
export function withAttestation(memory: Memory, incoming: Memory): Memory {
  const { attested_by: _, ...metadata } = memory.metadata;
  const covered =
    memory.kind === incoming.kind && memory.metadata['agent_id'] === incoming.metadata['agent_id'];
  if (!covered) {
    return { ...memory, write_signature: null, metadata: { ...metadata, attest_level: 'claimed' } };
  }
  const attestedBy = incoming.metadata['attested_by'];
  return {
    ...memory,
    metadata: {
      ...metadata,
      attest_level: incoming.metadata['attest_level'] ?? 'claimed',
      ...(attestedBy === undefined ? {} : { attested_by: attestedBy }),
    },
  };
}

/**
 * A client's new metadata object, with the protected keys taken from the stored one. A new `scope` is the exception,
 * because the owner decides who may read.
 */
export function preserveMetadata(
  stored: Readonly<Record<string, unknown>>,
  incoming: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const metadata: Record<string, unknown> = { ...incoming };
  for (const key of PRESERVED_METADATA_KEYS) {
    if (key === 'scope' && typeof incoming['scope'] === 'string') continue;
    if (stored[key] === undefined) delete metadata[key];
    else metadata[key] = stored[key];
  }
  return metadata;
}

export const storeMemoryCommand = defineCommand({
  kind: 'store-memory',
  decide: decideStore,
  gate: { action: 'store', saysText: true, proposes: (held) => ofMemory(held) },
  read: shaped<StoreMemory>('store-memory', {
    ...{ memory: newMemory, onConflict: oneOf(ON_CONFLICT), archive: isFlag, envelope: isEnvelope },
  }),
  bytes: ({ memory }) => textBytes(memory.content, memory.metadata),
  text: ({ memory }) => memory.content,
  uses: ({ command: { memory }, outcome: { stored, created } }) => [
    ...citedIn(memory),
    ...(created ? [] : [[stored.id, 'updated'] as const]),
  ],
  tells: { post_store: ({ outcome }) => [{ memory: outcome.stored.id }] },
});

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;

/** The memories whose ids stand in the addresses that a memory names as its sources. */
function citedIn({ citations, source_uri: source }: Memory): Uses {
  const addresses = [...citations.map(({ uri }) => uri), ...(source === null ? [] : [source])];
  const ids = addresses.flatMap((address) => address.match(ID) ?? []);
  return ids.map((id) => [id.toLowerCase(), 'cited']);
}
