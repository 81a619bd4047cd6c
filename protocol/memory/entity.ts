import type { Memory } from './memory.js';

/** The prefix of entity ids; the rest is the id of the entity's memory (interface §2.3). */
const PREFIX = 'ent-';

/** The tag of the memories of entities (reference-http §8). */
export const ENTITY_TAG = 'entity';

export const entityIdOf = (memoryId: string): string => `${PREFIX}${memoryId}`;

/** The id of the memory that an entity id names; null for a text that is no entity id. */
export const memoryIdOfEntity = (id: string): string | null =>
  id.startsWith(PREFIX) && id.length > PREFIX.length ? id.slice(PREFIX.length) : null;

/**
 * True for the memory of a registered entity. Its `entity_id` names the memory itself: other memories of kind `entity`
 * may name any entity that they are about.
 */
export const isEntity = ({ id, kind, entity_id }: Pick<Memory, 'id' | 'kind' | 'entity_id'>): boolean =>
  kind === 'entity' && entity_id === entityIdOf(id);

/**
 * The form in which aliases are compared: compatibility forms, upper and lower case and runs of white space are alike.
 * The detour over upper case makes `ß` and `ss` one, and both forms of the Greek sigma.
 */
export function foldedAlias(text: string): string {
  const folded = text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
  return folded.replace(/\s+/g, ' ').trim();
}
