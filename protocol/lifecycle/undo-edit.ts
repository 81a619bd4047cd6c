import { canonicalJson } from '../base/canonical-json.js';
import { fail, failed, ok, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isAbsentOr, isFlag, isId, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { ofRows } from '../decide/proposal.js';
import type { Reading } from '../decide/reads.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { isText } from '../kinds/payload.js';
import { placeOfOperation } from '../log/operation-log.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import { type Memory, type MemoryRow, PRESERVED_METADATA_KEYS } from '../memory/memory.js';
import type { MemoryImage } from '../memory/memory-kind.js';
import { replaceMemory } from '../memory/memory-writes.js';
import { imageOfVersion, imageWrittenBy, type LastEdit, lastEditOf, memoryById } from '../memory/reads.js';
import { titleRoom } from '../memory/title-room.js';
import { claimedWhenTextChanged, notFound, notOwner } from '../memory/update.js';

export interface UndoEdit {
  readonly kind: 'undo-edit';
  readonly id: string;
  /** Number of the version that comes back, or id of its operation; absent for the one before the last edit. */
  readonly to?: string | undefined;
  /** Only reports what would change. */
  readonly dryRun: boolean;
  readonly viewer: Viewer;
  readonly archive: boolean;
}

/** What `undo-edit` answers. */
export interface UndoEditOutcome {
  readonly memory: Memory;
  readonly changed: readonly string[];
}

/** The fields that an undo restores. The tier never goes down, so it is not one of them. */
const UNDONE_KEYS = [
  'title',
  'content',
  'namespace',
  'tags',
  'priority',
  'confidence',
  'kind',
  'citations',
  'source_uri',
  'source_span',
  'source',
  'entity_id',
  'valid_from',
  'valid_until',
] as const;

/**
 * Restores the memory as it was before its last edit in place (an update, or a store that merged into it), or as a named
 * operation wrote it. It does so with a new update, so the version grows and the undo can be undone. NOT_FOUND when it
 * was never edited, CONFLICT when the log no longer has the image or the old title is taken.
 */
function* decideUndoEdit(command: UndoEdit, context: DecisionContext): Deciding<UndoEditOutcome> {
  const row = yield* memoryById(command.id);
  if (row === null || isExpired(row, context.now) || !isVisible(row, command.viewer)) return notFound();
  if (!mayChange(row, command.viewer)) return notOwner(row, command.viewer);
  const earlier = yield* earlierVersion(command, row);
  if (!earlier.ok) return failed(earlier.error);
  const memory = undone(row, earlier.value, context);
  const changed = [...UNDONE_KEYS, 'metadata' as const, 'expires_at' as const].filter(
    // The keys of the log's image are in another order.
    (key) => canonicalJson(row[key]) !== canonicalJson(memory[key]),
  );
  const room = yield* titleRoom(memory, { ...command, leaving: [row.id] }, context);
  if (!room.ok) return failed(room.error);
  const charge = yield* chargeFor(memory, row, context);
  if (!charge.ok) return failed(charge.error);
  if (command.dryRun) return decided({ memory: { ...memory, version: row.version }, changed }, []);
  const reembed = memory.title !== row.title || memory.content !== row.content;
  return decided({ memory, changed }, [...room.value, replaceMemory(row, memory, { reembed })]);
}

/** The version that comes back, and the one that goes as far as that is known. */
function* earlierVersion(
  { to, viewer }: UndoEdit,
  row: MemoryRow,
): Reading<Result<LastEdit & { before: MemoryImage }>> {
  if (to === undefined) {
    const edit = yield* lastEditOf({ id: row.id });
    if (edit === null) return fail('NOT_FOUND', 'nothing to undo: this memory was never edited');
    const { before, after } = edit;
    return before === null || !isVisible(before, viewer)
      ? fail('CONFLICT', 'nothing to undo: the log no longer holds the memory from before its edit')
      : ok({ before, after });
  }
  const version = /^[1-9]\d{0,15}$/.test(to) ? Number(to) : null;
  const operation = version === null ? placeOfOperation(to) : null;
  if (version === null && operation === null) {
    const message = 'to: this is no number of a version and no id of an operation';
    return fail('VALIDATION_FAILED', message, { fields: ['to'] });
  }
  const before =
    version === null
      ? yield* imageWrittenBy({ id: row.id, operation: operation! })
      : yield* imageOfVersion({ id: row.id, version });
  // Who may change a memory need not have seen what it was before it got another owner or scope.
  const held = before !== null && isVisible(before, viewer) ? before : null;
  return held === null
    ? fail(
        'CONFLICT',
        `the log does not hold ${version === null ? `what operation ${to} wrote about` : `version ${to} of`} memory ${row.id}`,
      )
    : ok({ before: held, after: null });
}

function undone(
  row: MemoryRow,
  { before, after }: LastEdit & { before: MemoryImage },
  context: DecisionContext,
): Memory {
  const memory: Memory = {
    ...row,
    ...Object.fromEntries(UNDONE_KEYS.map((key) => [key, before[key]])),
    metadata: metadataBefore(row, before),
    expires_at: expiryBefore(row, before, after, context),
    updated_at: context.now,
    version: row.version + 1,
  };
  return claimedWhenTextChanged(row, memory);
}

/** The old metadata, with the present keys for owner and attestation. */
function metadataBefore(row: MemoryRow, before: MemoryImage): Record<string, unknown> {
  const metadata: Record<string, unknown> = { ...before.metadata };
  for (const key of PRESERVED_METADATA_KEYS) {
    if (key === 'scope') continue;
    if (row.metadata[key] === undefined) delete metadata[key];
    else metadata[key] = row.metadata[key];
  }
  return metadata;
}

/** The old expiry when the edit changed it, unless it has passed or the row has left its tier. */
function expiryBefore(
  row: MemoryRow,
  before: MemoryImage,
  after: MemoryImage | null,
  context: DecisionContext,
): string | null {
  // Reading a memory moves its expiry too, and that change stays.
  if (before.tier !== row.tier || before.expires_at === after?.expires_at) return row.expires_at;
  if (before.expires_at !== null && before.expires_at <= context.now) return row.expires_at;
  return before.expires_at;
}

export const undoEditCommand = defineCommand({
  kind: 'undo-edit',
  decide: decideUndoEdit,
  gate: {
    action: 'update',
    about: ({ id }) => id,
    previews: ({ dryRun }) => dryRun,
    proposes: ({ id }) => ofRows([id], { id }),
  },
  read: shaped<UndoEdit>('undo-edit', {
    id: isId,
    to: isAbsentOr(isText),
    dryRun: (value) => value === false,
    archive: isFlag,
  }),
  writes: ['reserved'],
});
