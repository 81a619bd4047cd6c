import type { MemoryId } from '../base/meanings.js';
import { type Failure, fail, failed, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, NOBODY, textBytes } from '../decide/command.js';
import type { Check } from '../decide/command-shape.js';
import {
  imageOf,
  isAbsentOr,
  isFlag,
  isId,
  isNamespace,
  isVersionOrNull,
  shaped,
} from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { type Held, ofRows, type Proposal } from '../decide/proposal.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { ownerOf } from '../identity/owner.js';
import { isObject, isText } from '../kinds/payload.js';
import { isExpired, isVisible, mayChange } from './access.js';
import { aliasOfNewName } from './aliases.js';
import { isEntity } from './entity.js';
import { type Citation, higherTier, type Kind, type Memory, type MemoryRow, type Tier } from './memory.js';
import { memoryKind } from './memory-kind.js';
import { replaceMemory } from './memory-writes.js';
import { claimed } from './new-memory.js';
import { memoryById, memoryByTitle } from './reads.js';
import { atomsOfText, giveWay, keepsKind, preserveMetadata } from './store.js';
import { supersede } from './supersede.js';
import { validityProblem } from './validity.js';

/** Fields of an update; absent means unchanged. `expires_at: null` clears; `scope` goes into the metadata. */
export interface MemoryPatch {
  readonly title?: string;
  readonly content?: string;
  readonly tier?: Tier;
  readonly namespace?: string;
  readonly tags?: readonly string[];
  readonly priority?: number;
  readonly confidence?: number;
  readonly expires_at?: string | null;
  readonly valid_from?: string | null;
  readonly valid_until?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly source_uri?: string;
  readonly kind?: Kind;
  readonly source?: string;
  readonly scope?: string;
  readonly citations?: readonly Citation[];
  readonly source_span?: { readonly start: number; readonly end: number };
  readonly entity_id?: string;
}

export interface UpdateMemory {
  readonly kind: 'update-memory';
  readonly id: string;
  readonly patch: MemoryPatch;
  readonly expectedVersion: number | null;
  readonly viewer: Viewer;
  readonly archive: boolean;
  /** Set for an edit that keeps the memory in the archive as it is, and stores the changed one under this id. */
  readonly newId?: MemoryId;
}

/** What `update-memory` answers. */
export interface UpdateMemoryOutcome {
  readonly memory: Memory;
}

/** The answer for an id that is unknown, or whose row the caller may not see. */
const MISSING = 'memory not found';
export const notFound = () => fail('NOT_FOUND', MISSING);
/** Whether a call failed because its caller sees no memory of that id. */
export const isMissingMemory = ({ code, message }: Failure): boolean =>
  code === 'NOT_FOUND' && message === MISSING;

/** The answer for a row that the caller sees but does not own. */
export const notOwner = (row: Memory, { agentId }: Viewer) => {
  if (!isNameless(agentId)) return fail('FORBIDDEN', 'caller does not own this memory');
  const owner = isNameless(ownerOf(row))
    ? 'it was stored without one, so only the operator can change it, on the command line'
    : 'only its owner can change it';
  return fail('FORBIDDEN', `the request names no agent in X-Agent-Id: ${owner}`);
};

/** True for the id of a request that named no agent (interface §5.3). */
export const isNameless = (agentId: string | null): boolean => agentId?.startsWith('anonymous:req-') === true;

/** VERSION_CONFLICT with both versions where a memory has another one than its writer expects. */
export function versionConflict({ id, version }: Memory, expected: number | null): Result<never> | null {
  if (expected === null || expected === version) return null;
  return fail('VERSION_CONFLICT', `version is ${version}, not ${expected}`, {
    ...{ status: 'conflict', id, expected_version: expected, current_version: version },
  });
}

/**
 * Updates some fields: NOT_FOUND, VALIDATION_FAILED for an expiry in the past, FORBIDDEN for another owner's row, VERSION_CONFLICT with both versions, CONFLICT on a
 * taken (title, namespace). The tier never goes down; `version` grows by one, or begins again under a new id.
 */
export function* decideUpdate(
  command: UpdateMemory,
  context: DecisionContext,
): Deciding<UpdateMemoryOutcome> {
  const row = yield* memoryById(command.id);
  if (row === null || isExpired(row, context.now) || !isVisible(row, command.viewer)) return notFound();
  if (!mayChange(row, command.viewer)) return notOwner(row, command.viewer);
  const conflict = versionConflict(row, command.expectedVersion);
  if (conflict !== null) return conflict;
  const { kind, expires_at: expiry } = command.patch;
  if (typeof expiry === 'string' && expiry <= context.now) {
    return fail('VALIDATION_FAILED', 'expires_at lies in the past; delete the memory instead', {
      fields: ['expires_at'],
    });
  }
  if (kind !== undefined && kind !== row.kind && keepsKind(row)) {
    return fail('CONFLICT', `${row.kind === 'entity' ? 'an' : 'a'} ${row.kind} keeps its kind`, {
      fields: ['kind'],
    });
  }
  const memory = patched(row, command.patch, context);
  if (command.patch.valid_from !== undefined || command.patch.valid_until !== undefined) {
    const problem = validityProblem(memory);
    if (problem !== null) return failed(problem);
  }
  if (isEntity(row) && memory.namespace !== row.namespace) {
    return fail('CONFLICT', 'an entity keeps its namespace', { fields: ['namespace'] });
  }
  const { newId, viewer, archive } = command;
  if (newId !== undefined) return yield* supersede(row, claimed(memory), { newId, viewer, archive }, context);
  const before: Mutation[] = [];
  if (memory.title !== row.title || memory.namespace !== row.namespace) {
    const holder = yield* memoryByTitle(memory.title, memory.namespace);
    if (holder !== null && holder.id !== row.id) {
      if (!isExpired(holder, context.now)) {
        return fail(
          'CONFLICT',
          `a memory with this title already exists in namespace "${memory.namespace}"`,
          isVisible(holder, command.viewer) ? { existing_id: holder.id } : undefined,
        );
      }
      before.push(giveWay(holder, command.archive));
    }
  }
  const charge = yield* chargeFor(memory, row, context);
  if (!charge.ok) return failed(charge.error);
  const reembed = memory.title !== row.title || memory.content !== row.content;
  const renamed = isEntity(memory) && memory.title !== row.title;
  const aliases = renamed ? yield* aliasOfNewName(memory, command.viewer.agentId, context) : [];
  return decided({ memory }, [
    ...before,
    ...charge.value,
    replaceMemory(row, memory, { reembed }),
    ...aliases,
  ]);
}

function patched(row: MemoryRow, patch: MemoryPatch, context: DecisionContext): Memory {
  const tier = patch.tier === undefined ? row.tier : higherTier(row.tier, patch.tier);
  let expiresAt = row.expires_at;
  if (patch.expires_at !== undefined) expiresAt = patch.expires_at;
  else if (tier === 'long' && row.tier !== 'long') expiresAt = null;
  const memory: Memory = {
    ...row,
    tier,
    expires_at: expiresAt,
    valid_from: patch.valid_from === undefined ? row.valid_from : patch.valid_from,
    valid_until: patch.valid_until === undefined ? row.valid_until : patch.valid_until,
    title: patch.title ?? row.title,
    content: patch.content ?? row.content,
    namespace: patch.namespace ?? row.namespace,
    tags: patch.tags ?? row.tags,
    priority: patch.priority ?? row.priority,
    ...(patch.confidence === undefined ? {} : statedConfidence(patch.confidence)),
    source_uri: patch.source_uri ?? row.source_uri,
    kind: patch.kind ?? row.kind,
    source: patch.source ?? row.source,
    citations: patch.citations ?? row.citations,
    source_span: patch.source_span ?? row.source_span,
    entity_id: patch.entity_id ?? row.entity_id,
    metadata: metadataOf(row, patch),
    atomised_into: atomsOfText(row, patch.content ?? row.content),
    updated_at: context.now,
    version: row.version + 1,
  };
  return claimedWhenTextChanged(row, memory);
}

const statedConfidence = (confidence: number) => ({
  ...{ confidence, confidence_source: 'caller_provided' },
  ...{ confidence_signals: null, confidence_decayed_at: null },
});

function metadataOf(row: MemoryRow, { metadata, scope }: MemoryPatch): Readonly<Record<string, unknown>> {
  const kept = metadata === undefined ? row.metadata : preserveMetadata(row.metadata, metadata);
  return scope === undefined ? kept : { ...kept, scope };
}

/** The row after an unsigned write: claimed when it changed what the author signed. */
export function claimedWhenTextChanged(before: Memory, after: Memory): Memory {
  return signedTextChanged(before, after) ? claimed(after) : after;
}

function signedTextChanged(before: Memory, after: Memory): boolean {
  return (
    before.title !== after.title ||
    before.content !== after.content ||
    before.namespace !== after.namespace ||
    before.kind !== after.kind
  );
}

/** The members of a patch are those of a memory, and its scope. */
const isPatch: Check = (value) => {
  if (!isObject(value) || !Object.keys(value).every((member) => PATCHED.has(member))) return false;
  const { scope, ...members } = value;
  if (scope !== undefined && !isText(scope)) return false;
  const { namespace } = members;
  if (namespace !== undefined && !isNamespace(namespace, NOBODY)) return false;
  return imageOf(memoryKind, { ...PATCHABLE, ...members }) !== undefined;
};

/** The members that a memory has in any case. */
const PATCHABLE = {
  ...{ id: 'patched', namespace: 'patched' },
  ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
};

const PATCH_MEMBERS: { readonly [M in keyof MemoryPatch]-?: true } = {
  ...{
    title: true,
    content: true,
    tier: true,
    namespace: true,
    tags: true,
    priority: true,
    confidence: true,
  },
  ...{
    expires_at: true,
    valid_from: true,
    valid_until: true,
    metadata: true,
    source_uri: true,
    kind: true,
    source: true,
    scope: true,
  },
  ...{ citations: true, source_span: true, entity_id: true },
};
const PATCHED: ReadonlySet<string> = new Set(Object.keys(PATCH_MEMBERS));

function proposedUpdate({ id, patch, expectedVersion, newId }: Held): Proposal | null {
  const change = isObject(patch) ? patch : {};
  const metadata = isObject(change['metadata']) ? change['metadata'] : {};
  const found = ofRows([id], { id, ...change, version: expectedVersion, new_id: newId });
  return found === null ? null : { ...found, scope: change['scope'] ?? metadata['scope'] ?? null };
}

export const updateMemoryCommand = defineCommand({
  kind: 'update-memory',
  decide: decideUpdate,
  gate: {
    action: 'update',
    saysText: true,
    about: ({ id }) => id,
    proposes: proposedUpdate,
  },
  read: shaped<UpdateMemory>('update-memory', {
    ...{ id: isId, patch: isPatch, expectedVersion: isVersionOrNull, archive: isFlag },
    newId: isAbsentOr(isId),
  }),
  bytes: ({ patch }) => textBytes(patch.content ?? '', patch.metadata ?? {}),
  text: ({ patch }) => patch.content ?? null,
  uses: ({ command: { id, newId } }) => [[id, newId === undefined ? 'updated' : 'superseded']],
  tells: { post_store: ({ outcome }) => [{ memory: outcome.memory.id }] },
});
