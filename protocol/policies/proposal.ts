import type { MemoryId } from '../base/meanings.js';
import { isObject, isText } from '../kinds/payload.js';
import { type Memory, memoryJson } from '../memory/memory.js';
import { memoryKind } from '../memory/memory-kind.js';

/** A command as a record of a pending action holds it. A peer may have written it, so nothing of it is sure. */
type Held = Readonly<Record<string, unknown>>;

/** What waits for an approval, in the words of the interface. */
export interface Proposal {
  readonly payload: Held;
  /** The memories that it is about and that are there, live or archived. */
  readonly about: readonly MemoryId[];
  /** The memory that it would write. */
  readonly brings: Memory | null;
  /** Who would see the changed memories; null where that stays. */
  readonly scope: unknown;
}

const NOTHING = { about: [], brings: null, scope: null } as const;

/** The proposal of each command that can wait (test/architecture/gated-commands.test.ts compares the two). */
export const PROPOSALS: Readonly<Record<string, (held: Held) => Proposal | null>> = {
  'store-memory': (held) => written(held),
  'register-entity': (held) => written(held, { aliases: held['aliases'] }),
  'send-message': (held) => written(held),
  'share-memory': ({ id, to }) => ofRows([id], { source_memory_id: id, target_agent_id: to }),
  'update-memory': ({ id, patch, expectedVersion, newId }) => {
    const change = isObject(patch) ? patch : {};
    const metadata = isObject(change['metadata']) ? change['metadata'] : {};
    const found = ofRows([id], { id, ...change, version: expectedVersion, new_id: newId });
    return found === null ? null : { ...found, scope: change['scope'] ?? metadata['scope'] ?? null };
  },
  'undo-edit': ({ id }) => ofRows([id], { id }),
  'restore-memory': ({ id }) => ofRows([id], { id }),
  'promote-memory': ({ id, targetTier, vertical }) =>
    isObject(vertical)
      ? ofRows([id], { id, to_namespace: vertical['toNamespace'] })
      : ofRows([id], { id, target_tier: targetTier }),
  'delete-memory': ({ id }) => ofRows([id], { id }),
  'archive-memories': ({ ids, reason }) => ofRows(ids, { ids, reason }),
  'resolve-memories': ({ winnerId: winner, loserId: loser }) => ofRows([winner, loser], { winner, loser }),
  'consolidate-memories': ({ ids, result, summary }) => {
    const { title, namespace, tier } = isObject(result) ? result : {};
    return ofRows(ids, { ids, title, namespace, tier, summary });
  },
  'create-link': ({ link, asked }) => ofLink(link, asked),
  'invalidate-link': ({ link, validUntil }) => ofLink(link, { valid_until: validUntil }),
  'drop-links': ({ sourceId: source_id, targetId: target_id, relation }) =>
    ofLink({ source_id, target_id, relation }, null),
};

/** What a held command proposes; null for one that this release cannot read. */
export function proposalOf(held: Held): Proposal | null {
  const { kind } = held;
  if (typeof kind !== 'string' || !Object.hasOwn(PROPOSALS, kind)) return null;
  return PROPOSALS[kind]!(held);
}

/** The approver of a pending action as a policy names it. */
export function approverJson({ form, agent, votes }: Held): ApproverJson {
  if (form === 'agent') return { agent: String(agent) };
  return form === 'consensus' ? { consensus: Number(votes) } : 'human';
}

type ApproverJson = 'human' | { agent: string } | { consensus: number };

/** What the service counts and dates, which nobody proposes. */
const KEPT_BY_SERVICE = new Set([
  ...['access_count', 'last_accessed_at', 'created_at', 'updated_at', 'version', 'reflection_depth'],
  ...['confidence_source', 'persona_version'],
]);

function written({ memory }: Held, more: Held = {}): Proposal | null {
  const row = memoryKind.payload.parse(memory);
  if (row === null) return null;
  const json = Object.entries(memoryJson(row as Memory)).filter(([name]) => !KEPT_BY_SERVICE.has(name));
  return { ...NOTHING, payload: said({ ...Object.fromEntries(json), ...more }), brings: row as Memory };
}

function ofRows(ids: unknown, payload: Held): Proposal | null {
  if (!Array.isArray(ids) || ids.length === 0 || !ids.every(isText)) return null;
  return { ...NOTHING, payload: said(payload), about: ids as MemoryId[] };
}

function ofLink(link: unknown, validity: unknown): Proposal | null {
  if (!isObject(link)) return null;
  const { source_id, target_id, relation } = link;
  const said = isObject(validity) ? validity : {};
  return ofRows([source_id, target_id], { source_id, target_id, relation, ...said });
}

/** The members that were given. */
const said = (payload: Held): Held =>
  Object.fromEntries(
    Object.entries(payload).filter(
      ([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );
