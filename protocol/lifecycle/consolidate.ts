import { ACCESS_COUNT_MAX } from '../base/limits.js';
import type { AgentId } from '../base/meanings.js';
import { fail, failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, ID_BYTES, textBytes } from '../decide/command.js';
import {
  exactly,
  isAbsentOr,
  isFlag,
  isId,
  isIds,
  isNamespace,
  isRequester,
  shaped,
} from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { ofRows } from '../decide/proposal.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { isInteger, isObject, isText, isTextOrNull, oneOf } from '../kinds/payload.js';
import { instant, orNull } from '../kinds/replicated-value.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import type { Memory, MemoryRow, Tier } from '../memory/memory.js';
import { TIERS } from '../memory/memory.js';
import { insertMemory, removeMemory } from '../memory/memory-writes.js';
import { newMemory } from '../memory/new-memory.js';
import { ownLinks } from '../memory/own-link.js';
import { memoryById } from '../memory/reads.js';
import { nextTitle, titleRoom } from '../memory/title-room.js';
import { notOwner } from '../memory/update.js';
import { type Audience, audienceOf, commonKind, plainSummary, unionOfTags } from './consolidation.js';

export interface ConsolidateMemories {
  readonly kind: 'consolidate-memories';
  readonly ids: readonly string[];
  /** The fields of the new row that the caller decides; the others are derived from the sources. */
  readonly result: {
    readonly id: string;
    readonly title: string;
    readonly namespace: string;
    readonly tier: Tier;
    readonly expiresAt: string | null;
  };
  /** Null makes a summary from the sources, without a model. */
  readonly summary: string | null;
  /** The versions that the summary was made from, in the order of the ids; CONFLICT when one is another by now. */
  readonly versions?: readonly number[];
  /** When the title is taken: CONFLICT, or the next free `title (n)`. */
  readonly onConflict: 'error' | 'version';
  /** Who consolidates. */
  readonly agentId: AgentId;
  readonly viewer: Viewer;
  readonly archive: boolean;
}

/** What `consolidate-memories` answers. */
export interface ConsolidateMemoriesOutcome {
  readonly memory: Memory;
  readonly consolidated: number;
  readonly autoSummary: boolean;
}

/**
 * Joins memories into one and archives them with reason `consolidate`, in one transaction: either every source is
 * archived as it was read and the result is stored, or nothing changes. NOT_FOUND names ids that are unknown or
 * invisible; FORBIDDEN when a source belongs to another agent; CONFLICT when a row that is not a source has the title.
 */
export function* decideConsolidate(
  command: ConsolidateMemories,
  context: DecisionContext,
): Deciding<ConsolidateMemoriesOutcome> {
  const sources: MemoryRow[] = [];
  const missing: string[] = [];
  for (const id of new Set(command.ids)) {
    const row = yield* memoryById(id);
    if (row === null || isExpired(row, context.now) || !isVisible(row, command.viewer)) missing.push(id);
    else sources.push(row);
  }
  if (missing.length > 0) return notFoundOf(missing);
  if (isOutdated(sources, command)) {
    return fail('CONFLICT', 'a memory was changed while its summary was written: call again');
  }
  const foreign = sources.find((row) => !mayChange(row, command.viewer));
  if (foreign !== undefined) return notOwner(foreign, command.viewer);
  const { result } = command;
  const audience = audienceOf(sources, result.namespace, command.agentId);
  if (!audience.ok) return failed(audience.error);

  const claim = {
    viewer: command.viewer,
    archive: command.archive,
    leaving: sources.map(({ id }) => id),
  };
  let { title } = result;
  let before: readonly Mutation[];
  if (command.onConflict === 'version') {
    const next = yield* nextTitle(result, claim, context);
    if (!next.ok) return failed(next.error);
    ({ title, before } = next.value);
  } else {
    const room = yield* titleRoom(result, claim, context);
    if (!room.ok) return failed(room.error);
    before = room.value;
  }
  const memory = { ...consolidated(sources, command, audience.value, context), title };
  const charge = yield* chargeFor(memory, null, context);
  if (!charge.ok) return failed(charge.error);
  const lineage = yield* ownLinks(memory, 'derived_from', claim.leaving, context);
  return decided({ memory, consolidated: sources.length, autoSummary: command.summary === null }, [
    ...before,
    ...sources.map(archiving),
    ...charge.value,
    insertMemory(memory),
    ...lineage,
  ]);
}

const isOutdated = (sources: readonly MemoryRow[], { ids, versions }: ConsolidateMemories): boolean =>
  versions !== undefined && sources.some(({ id, version }) => versions[ids.indexOf(id)] !== version);

/** The failure that names ids as the caller gave them. */
export function notFoundOf(missing: readonly string[]) {
  return fail('NOT_FOUND', `memory not found: ${missing.join(', ')}`, { missing });
}

const archiving = (memory: MemoryRow): Mutation =>
  removeMemory(memory, { word: 'archive', reason: 'consolidate', archive: true });

function consolidated(
  sources: readonly MemoryRow[],
  { result, summary }: ConsolidateMemories,
  { owner, scope }: Audience,
  { now }: DecisionContext,
): Memory {
  const importedFrom = new Set(sources.map(({ metadata }) => metadata['imported_from_agent_id']));
  const [imported] = importedFrom;
  return newMemory(now, {
    id: result.id,
    tier: result.tier,
    namespace: result.namespace,
    title: result.title,
    content: summary ?? plainSummary(sources),
    tags: unionOfTags(sources),
    priority: Math.max(...sources.map(({ priority }) => priority)),
    confidence: Math.max(...sources.map(({ confidence }) => confidence)),
    source: 'consolidation',
    access_count: Math.min(
      sources.reduce((sum, row) => sum + row.access_count, 0),
      ACCESS_COUNT_MAX,
    ),
    expires_at: result.expiresAt,
    metadata: {
      agent_id: owner,
      ...(scope === null ? {} : { scope }),
      attest_level: 'claimed',
      ...(importedFrom.size === 1 && imported !== undefined ? { imported_from_agent_id: imported } : {}),
      derived_from: sources.map(({ id }) => id),
    },
    kind: commonKind(sources),
    confidence_source: 'auto_derived',
  });
}

export const consolidateMemoriesCommand = defineCommand({
  kind: 'consolidate-memories',
  decide: decideConsolidate,
  gate: {
    action: 'consolidate',
    about: ({ result }) => result.id,
    op: 'memory_consolidate',
    proposes: ({ ids, result, summary }) => {
      const { title, namespace, tier } = isObject(result) ? result : {};
      return ofRows(ids, { ids, title, namespace, tier, summary });
    },
  },
  read: shaped<ConsolidateMemories>('consolidate-memories', {
    ids: isIds,
    result: exactly({
      ...{ id: isId, title: isText, namespace: isNamespace, tier: oneOf(TIERS), expiresAt: orNull(instant) },
    }),
    ...{
      summary: isTextOrNull,
      versions: isAbsentOr((value) => Array.isArray(value) && value.every(isInteger)),
      onConflict: oneOf(['error', 'version']),
      agentId: isRequester,
      archive: isFlag,
    },
  }),
  bytes: ({ ids, summary }) => ID_BYTES * ids.length + textBytes(summary ?? '', {}),
  text: ({ summary }) => summary,
  audit: ({ agentId, result: { id }, ids }) => ({
    ...{ agentId, type: 'memory.consolidated', payload: { id, sources: [...new Set(ids)] } },
  }),
  uses: ({ command: { ids } }) => ids.map((id) => [id, 'superseded']),
  tells: {
    // A group that the service chose is told as a consolidation only.
    post_store: ({ command: { onConflict }, outcome: { memory } }) =>
      onConflict === 'version' ? [] : [{ memory: memory.id }],
    post_consolidate: ({ command: { ids, result }, outcome: { memory } }) => {
      const { namespace } = result;
      return [{ namespace, payload: { namespace, merged_ids: ids, result_id: memory.id } }];
    },
  },
});
