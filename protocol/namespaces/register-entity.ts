import { CONTENT_BYTES_MAX, ENTITY_ALIASES_MAX } from '../base/limits.js';
import { fail, failed } from '../base/result.js';
import { utf8Bytes } from '../base/utf8.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { isFlag, isIds, shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Write } from '../decide/mutations.js';
import { type Reading, tombstoneOf } from '../decide/reads.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { ownerOf } from '../identity/owner.js';
import { isTexts } from '../kinds/payload.js';
import { isExpired, isVisible, mayChange } from '../memory/access.js';
import type { Alias } from '../memory/alias-kind.js';
import { aliasesOf, aliasImage, aliasWrite, type EntityRecord, entityRecord } from '../memory/aliases.js';
import { newMemory, ofMemory } from '../memory/command-members.js';
import { entityIdOf, foldedAlias, isEntity } from '../memory/entity.js';
import type { Memory, MemoryRow } from '../memory/memory.js';
import { memoryKind } from '../memory/memory-kind.js';
import { insertMemory, replaceMemory } from '../memory/memory-writes.js';
import { memoryById, memoryByTitle } from '../memory/reads.js';
import { giveWay } from '../memory/store.js';
import { nameHolder } from './names.js';

/** Registers an entity, or adds aliases to one (interface §2.3, §4.6). */
export interface RegisterEntity {
  readonly kind: 'register-entity';
  /** The entity as a complete memory, without stamps; the first free id of `ids` replaces its id. */
  readonly memory: Memory;
  /**
   * Ids for a new entity. All but the last follow from its name and namespace, so that nodes that register one entity at
   * the same time make one row.
   */
  readonly ids: readonly string[];
  readonly aliases: readonly string[];
  readonly viewer: Viewer;
  /** Keep a copy of an expired row that this one replaces (`archive_on_gc`). */
  readonly archive: boolean;
}

/** What `register-entity` answers. */
export interface RegisterEntityOutcome {
  readonly entity: EntityRecord;
  readonly created: boolean;
}

/**
 * Registers an entity. A known name or alias in the namespace answers the known entity, whose memory stays as it is,
 * with the aliases that are new. A memory of kind entity becomes one that stays. CONFLICT when another memory has the title, and does not name one that the caller cannot see.
 */
function* decideRegisterEntity(
  command: RegisterEntity,
  context: DecisionContext,
): Deciding<RegisterEntityOutcome> {
  const { memory, viewer } = command;
  const holder = yield* memoryByTitle(memory.title, memory.namespace);
  const live = holder === null || isExpired(holder, context.now) ? null : holder;
  if (live !== null) {
    if (!isVisible(live, viewer)) return taken(live, false);
    if (isEntity(live)) return yield* known(live, command, context);
    const mayBecome = live.kind === 'entity' && live.entity_id === null && mayChange(live, viewer);
    if (!mayBecome) return taken(live, true);
    const entity: Memory = {
      ...live,
      entity_id: entityIdOf(live.id),
      tier: 'long',
      expires_at: null,
      updated_at: context.now,
      version: live.version + 1,
    };
    const named = yield* withAliases(entity, command, context);
    if (!named.ok) return failed(named.error);
    const { value, mutations } = named.value;
    return decided({ entity: value, created: false }, [
      replaceMemory(live, entity, { reembed: false }),
      ...mutations,
    ]);
  }
  const folded = foldedAlias(memory.title);
  const spelled = yield* nameHolder({ folded, namespace: memory.namespace, except: null }, context);
  if (spelled !== null && isVisible(spelled, viewer)) return yield* known(spelled, command, context);
  const id = yield* freeId(command.ids);
  const entity: Memory = { ...memory, id, entity_id: entityIdOf(id) };
  const charge = yield* chargeFor(entity, null, context);
  if (!charge.ok) return failed(charge.error);
  const named = yield* withAliases(entity, command, context);
  if (!named.ok) return failed(named.error);
  return decided({ entity: named.value.value, created: true }, [
    ...(holder === null ? [] : [giveWay(holder, command.archive)]),
    ...charge.value,
    insertMemory(entity),
    ...named.value.mutations,
  ]);
}

function taken(holder: MemoryRow, shown: boolean) {
  const message = `a memory that is not an entity has this title in namespace "${holder.namespace}"`;
  return shown
    ? fail('CONFLICT', message, { existing_id: holder.id })
    : fail('CONFLICT', `a memory with this title already exists in namespace "${holder.namespace}"`);
}

function* known(
  entity: MemoryRow,
  command: RegisterEntity,
  context: DecisionContext,
): Deciding<RegisterEntityOutcome> {
  const named = yield* withAliases(entity, command, context);
  if (!named.ok) return failed(named.error);
  const { value, mutations } = named.value;
  const added = mutations.map((mutation) => ((mutation as Write).image as Alias).alias);
  const content = textWith(entity, added);
  if (content === null) return decided({ entity: value, created: false }, mutations);
  const told = { ...entity, content, updated_at: context.now, version: entity.version + 1 };
  return decided({ entity: value, created: false }, [
    replaceMemory(entity, told, { reembed: true }),
    ...mutations,
  ]);
}

/**
 * The text of an entity with names that are added, so that a search finds it by them; null where its owner wrote another
 * text, which stays.
 */
function textWith({ title, content }: Memory, added: readonly string[]): string | null {
  const start = `${title}, also known as `;
  if (added.length === 0 || !(content === title || content.startsWith(start))) return null;
  const text = `${content === title ? start : `${content}, `}${added.join(', ')}`;
  return utf8Bytes(text) > CONTENT_BYTES_MAX ? null : text;
}

/** The first id that no memory has or had; the last one is random. */
function* freeId(ids: readonly string[]): Reading<string> {
  for (const id of ids.slice(0, -1)) {
    if ((yield* memoryById(id)) !== null) continue;
    if ((yield* tombstoneOf({ kind: memoryKind.name, id })) === null) return id;
  }
  return ids.at(-1)!;
}

/** The record of an entity with its old and new aliases, and the writes of the new ones. */
function* withAliases(
  entity: Memory,
  { memory, aliases }: RegisterEntity,
  context: DecisionContext,
): Deciding<EntityRecord> {
  const stored = yield* aliasesOf(entity);
  const held = new Set(stored.map(({ folded }) => folded));
  const writes: Write[] = [];
  const added: Alias[] = [];
  for (const alias of [entity.title, memory.title, ...aliases]) {
    if (held.has(foldedAlias(alias))) continue;
    const image = yield* aliasImage(entity, alias, ownerOf(memory), context);
    held.add(image.folded);
    added.push(image);
    writes.push(yield* aliasWrite(image));
  }
  if (added.length > 0 && held.size > ENTITY_ALIASES_MAX) {
    const message = `an entity has at most ${ENTITY_ALIASES_MAX} aliases, its canonical name included; this one would have ${held.size}`;
    return fail('VALIDATION_FAILED', message, { fields: ['aliases'] });
  }
  return decided(entityRecord(entity, [...stored, ...added]), writes);
}

export const registerEntityCommand = defineCommand({
  kind: 'register-entity',
  decide: decideRegisterEntity,
  gate: {
    action: 'store',
    saysText: true,
    proposes: (held) => ofMemory(held, { aliases: held['aliases'] }),
  },
  read: shaped<RegisterEntity>('register-entity', {
    ...{ memory: newMemory, ids: isIds, aliases: isTexts, archive: isFlag },
  }),
  tells: { post_store: ({ outcome }) => [{ memory: outcome.entity.entity_id }] },
});
