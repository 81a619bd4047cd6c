import { withAncestors } from '../base/ids.js';
import { fail, failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { exactly, isAbsentOr, isFlag, isId, isNamespace, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { ofRows } from '../decide/proposal.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { isObject, oneOf } from '../kinds/payload.js';
import { isExpired, isVisible, mayChange } from './access.js';
import { promoting } from './changes.js';
import { higherTier, type Memory, type MemoryRow } from './memory.js';
import { insertMemory, replaceMemory } from './memory-writes.js';
import { claimed } from './new-memory.js';
import { ownLinks } from './own-link.js';
import { memoryById } from './reads.js';
import { titleRoom } from './title-room.js';
import { notFound, notOwner } from './update.js';

export interface PromoteMemory {
  readonly kind: 'promote-memory';
  readonly id: string;
  readonly targetTier: 'mid' | 'long';
  /** Clones the row into this ancestor namespace instead; null promotes the tier. */
  readonly vertical?: { readonly toNamespace: string; readonly cloneId: string } | null;
  readonly viewer: Viewer;
  /** Keep a copy of an expired row that a clone replaces. */
  readonly archive?: boolean;
}

/** What `promote-memory` answers. */
export interface PromoteMemoryOutcome {
  readonly memory: Memory;
  /** The promoted memory before. */
  readonly from: Pick<Memory, 'namespace' | 'tier'>;
}

/**
 * Promotes a memory: long clears the expiry, mid keeps it. A row that already has the tier stays as it is, and no
 * operation is written (interface §3, reference-mcp-cli §1.2).
 */
function* decidePromote(command: PromoteMemory, context: DecisionContext): Deciding<PromoteMemoryOutcome> {
  const row = yield* memoryById(command.id);
  if (row === null || isExpired(row, context.now) || !isVisible(row, command.viewer)) return notFound();
  if (context.permitted !== true && !mayChange(row, command.viewer)) return notOwner(row, command.viewer);
  if (command.vertical !== undefined && command.vertical !== null) {
    return yield* cloneInto(command.vertical, row, command, context);
  }
  const tier = higherTier(row.tier, command.targetTier);
  // A long row with its own expiry keeps it until it is promoted to long again.
  const expiresAt = command.targetTier === 'long' ? null : row.expires_at;
  if (tier === row.tier && expiresAt === row.expires_at)
    return decided({ memory: row, from: placeOf(row) }, []);
  const memory: Memory = {
    ...row,
    tier,
    expires_at: expiresAt,
    updated_at: context.now,
    version: row.version + 1,
  };
  return decided({ memory, from: placeOf(row) }, [
    replaceMemory(row, memory, { word: 'promote', reembed: false }),
  ]);
}

/**
 * Clones a memory into an ancestor of its namespace; the original stays. VALIDATION_FAILED when the namespace is not a
 * proper ancestor, CONFLICT when the title is taken there. The clone belongs to the same agent with the same scope and
 * names its source in `metadata.derived_from`. It is claimed, because a signature covers the namespace.
 */
function* cloneInto(
  vertical: { readonly toNamespace: string; readonly cloneId: string },
  row: MemoryRow,
  command: PromoteMemory,
  context: DecisionContext,
): Deciding<PromoteMemoryOutcome> {
  const { toNamespace, cloneId } = vertical;
  if (!withAncestors(row.namespace).slice(1).includes(toNamespace)) {
    return fail('VALIDATION_FAILED', `to_namespace must be an ancestor of "${row.namespace}"`, {
      fields: ['to_namespace'],
    });
  }
  const clone: Memory = claimed({
    ...row,
    id: cloneId,
    namespace: toNamespace,
    metadata: { ...row.metadata, derived_from: [row.id] },
    access_count: 0,
    last_accessed_at: null,
    created_at: context.now,
    updated_at: context.now,
    version: 1,
    created_hlc: '',
    seen: {},
  });
  const claim = { viewer: command.viewer, archive: command.archive === true, leaving: [] };
  const room = yield* titleRoom(clone, claim, context);
  if (!room.ok) return failed(room.error);
  const charge = yield* chargeFor(clone, null, context);
  if (!charge.ok) return failed(charge.error);
  return decided({ memory: clone, from: placeOf(row) }, [
    ...room.value,
    ...charge.value,
    insertMemory(clone),
    ...(yield* ownLinks(clone, 'derived_from', [row.id], context)),
  ]);
}

const placeOf = ({ namespace, tier }: Memory) => ({ namespace, tier });

export const promoteMemoryCommand = defineCommand({
  kind: 'promote-memory',
  decide: decidePromote,
  gate: {
    action: 'promote',
    about: ({ id }) => id,
    // The copy in an ancestor leaves the memory as it is.
    also: ({ id, vertical }, { mutations, rows }) => {
      const row = rows.get(id);
      return (vertical ?? null) === null || mutations.length === 0 || row === undefined
        ? []
        : [promoting(row)];
    },
    proposes: ({ id, targetTier, vertical }) =>
      isObject(vertical)
        ? ofRows([id], { id, to_namespace: vertical['toNamespace'] })
        : ofRows([id], { id, target_tier: targetTier }),
  },
  read: shaped<PromoteMemory>('promote-memory', {
    ...{ id: isId, targetTier: oneOf(['mid', 'long']), archive: isAbsentOr(isFlag) },
    vertical: (value, by) =>
      (value ?? null) === null || exactly({ toNamespace: isNamespace, cloneId: isId })(value, by),
  }),
  uses: ({ command: { id } }) => [[id, 'updated']],
  tells: {
    post_promote: ({ command: { id, targetTier, vertical }, outcome: { from } }) => {
      // A clone keeps the tier of its original.
      const to_tier = (vertical ?? null) === null ? targetTier : from.tier;
      return [{ namespace: from.namespace, payload: { id, from_tier: from.tier, to_tier } }];
    },
    post_store: ({ command: { vertical }, outcome: { memory } }) =>
      (vertical ?? null) === null ? [] : [{ memory: memory.id }],
  },
});
