import type { MemoryId } from '../base/meanings.js';
import { fail, failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand, textBytes } from '../decide/command.js';
import { isFlag, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { appendAudit } from '../decide/mutations.js';
import { chargeFor, chargeLinks } from '../identity/ensure-quota.js';
import { ownerOf } from '../identity/owner.js';
import { narrowestScope } from '../lifecycle/consolidation.js';
import type { Link } from '../links/link.js';
import { memoryChanges } from '../memory/changes.js';
import { newMemory } from '../memory/command-members.js';
import type { Memory, MemoryRow } from '../memory/memory.js';
import { insertMemory } from '../memory/memory-writes.js';
import { newLinks } from '../memory/own-link.js';
import { memoryById } from '../memory/reads.js';
import { titleRoom } from '../memory/title-room.js';
import { exportOrders } from '../reflections/after-reflection.js';
import {
  LINK_BYTES,
  linkPlaces,
  linksOfRequester,
  proposedWithSources,
  visibleSources,
} from '../reflections/store-reflection.js';
import { PERSONA_SOURCES_MAX, personaTitle } from './persona.js';
import { personaVersionOf } from './reads.js';

/** Stores the next persona of an entity, with a link to each reflection that it was written of. */
export interface StorePersona {
  readonly kind: 'store-persona';
  /** The row to write, without stamps; it says its version, because a node signs that. */
  readonly memory: Memory;
  readonly links: readonly Link[];
  readonly viewer: Viewer;
  readonly archive: boolean;
  /** True for a command that was sent before and not answered: a row with its id answers it. */
  readonly again?: true;
}

/** What `store-persona` answers. */
export interface StorePersonaOutcome {
  readonly stored: Memory;
}

/**
 * Stores a persona and its links, or nothing. VERSION_CONFLICT when another one came first, NOT_FOUND for a reflection that the
 * caller does not see, CONFLICT for a taken title, QUOTA_EXCEEDED.
 */
function* decideStorePersona(command: StorePersona, context: DecisionContext): Deciding<StorePersonaOutcome> {
  const { memory, links, viewer, archive } = command;
  if (command.again === true) {
    const row = yield* memoryById(memory.id);
    if (row !== null) return decided({ stored: row }, []);
  }
  const wrong = shapeProblem(command);
  if (wrong !== null) return fail('VALIDATION_FAILED', wrong, { fields: ['entity_id'] });
  const found = yield* visibleSources(
    links.map(({ target_id }) => target_id),
    viewer,
    context,
  );
  if (!found.ok) return failed(found.error);
  if (found.value.some((row) => !isAbout(row, memory.entity_id))) {
    return fail('VALIDATION_FAILED', 'a persona is written of reflections about its entity', {
      fields: ['entity_id'],
    });
  }
  const { entity_id: entityId, namespace } = memory;
  const version = yield* personaVersionOf({ entityId: entityId!, namespace });
  if (memory.persona_version !== version + 1) {
    return fail('VERSION_CONFLICT', `another persona of the entity came first: version ${version}`, {
      status: 'conflict',
      current_version: version,
    });
  }
  // A scope is never wider than that of a source.
  if (!isAsNarrow(memory, found.value)) {
    return fail('VALIDATION_FAILED', 'a persona is not seen by more agents than its reflections', {
      fields: ['scope'],
    });
  }
  const charge = yield* chargeFor(memory, null, context);
  if (!charge.ok) return failed(charge.error);
  const room = yield* titleRoom(memory, { viewer, archive, leaving: [] }, context);
  if (!room.ok) return failed(room.error);
  const linkCharge = yield* chargeLinks(memory, links.length, viewer, context);
  if (!linkCharge.ok) return failed(linkCharge.error);
  return decided({ stored: memory }, [
    ...room.value,
    ...charge.value,
    ...linkCharge.value,
    insertMemory(memory),
    ...(yield* newLinks(memory, links)),
    ...(yield* exportOrders(memory, context.now)),
    appendAudit({ event: eventOf(memory, found.value) }),
  ]);
}

const isAbout = ({ kind, mentioned_entity_id: about }: MemoryRow, entityId: string | null): boolean =>
  kind === 'reflection' && about === entityId;

const isAsNarrow = ({ metadata, namespace }: Memory, sources: readonly MemoryRow[]): boolean => {
  const scope = narrowestScope(sources, namespace);
  return scope === null || metadata['scope'] === scope || metadata['scope'] === 'private';
};

const eventOf = (memory: Memory, sources: readonly MemoryRow[]) => {
  const { id, entity_id, namespace, persona_version: version } = memory;
  return {
    agentId: ownerOf(memory) ?? 'operator',
    type: 'persona_generated',
    payload: { id, entity_id, namespace, version, sources: sources.map((source): MemoryId => source.id) },
  };
};

/** Another process may have made the command, so its parts are compared with what they must be. */
function shapeProblem({ memory, links }: StorePersona): string | null {
  const { kind, entity_id: entityId, persona_version: version, title, id } = memory;
  if (
    kind !== 'persona' ||
    entityId === null ||
    version === null ||
    title !== personaTitle(entityId, version)
  )
    return 'the memory must be a persona of an entity, with its version in its title';
  const isOwn = ({ source_id, target_id, relation }: Link) =>
    source_id === id && target_id !== id && relation === 'derived_from';
  const targets = new Set(links.map(({ target_id }) => target_id));
  const isWhole = links.length > 0 && links.length <= PERSONA_SOURCES_MAX && targets.size === links.length;
  return isWhole && links.every(isOwn) ? null : 'the links must lead from the persona to its reflections';
}

export const storePersonaCommand = defineCommand({
  kind: 'store-persona',
  decide: decideStorePersona,
  gate: {
    action: 'store',
    saysText: true,
    about: ({ memory }) => memory.id,
    also: (_command, { mutations, rows }) =>
      linkPlaces([
        ...memoryChanges(mutations).flatMap(({ before, after }) =>
          before === null && after !== null ? [after] : [],
        ),
        ...rows.values(),
      ]),
    proposes: (held) => proposedWithSources(held, []),
  },
  read: shaped<StorePersona>('store-persona', {
    memory: newMemory,
    links: linksOfRequester,
    archive: isFlag,
  }),
  bytes: ({ memory, links }) => textBytes(memory.content, memory.metadata) + LINK_BYTES * links.length,
  text: ({ memory }) => memory.content,
  tells: { post_store: ({ outcome: { stored } }) => [{ memory: stored.id }] },
});
