import { ENTITY_ALIASES_READ_MAX } from '../base/limits.js';
import type { DecisionContext } from '../decide/deciding.js';
import type { Write } from '../decide/mutations.js';
import { digestOfText, type Reading, recordsWith } from '../decide/reads.js';
import { putRecord } from '../decide/record-writes.js';
import type { Row } from '../decide/rows.js';
import { NO_REST } from '../kinds/payload.js';
import { type Alias, aliasKind } from './alias-kind.js';
import { entityIdOf, foldedAlias } from './entity.js';
import type { Memory } from './memory.js';

/** An entity as callers see it (interface §2.3). */
export interface EntityRecord {
  readonly entity_id: string;
  readonly canonical_name: string;
  readonly namespace: string;
  /** The canonical name first, then the others in the order of their arrival. */
  readonly aliases: readonly string[];
}

/** The stored aliases of an entity, in the order of their arrival. */
export function* aliasesOf({ id, namespace }: Pick<Memory, 'id' | 'namespace'>): Reading<readonly Alias[]> {
  const asked = { kind: aliasKind.name, member: 'memory_id', value: id, limit: ENTITY_ALIASES_READ_MAX };
  const rows = (yield* recordsWith(asked)) as readonly Row<Alias>[];
  return inOrder(rows.filter((row) => row.namespace === namespace).map(({ image }) => image));
}

/** Aliases of one entity, each once, the oldest first. */
export function inOrder(aliases: readonly Alias[]): readonly Alias[] {
  const placeOf = ({ added_at, folded }: Alias) => `${added_at} ${folded}`;
  const sorted = [...aliases].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
  // An earlier release stored them under other ids, so one may be there twice.
  return sorted.filter(({ folded }, at) => sorted.findIndex((other) => other.folded === folded) === at);
}

/** The record of an entity; its canonical name is the title of its memory. */
export function entityRecord(
  entity: Pick<Memory, 'id' | 'title' | 'namespace'>,
  aliases: readonly Alias[],
): EntityRecord {
  const { id, title, namespace } = entity;
  const others = aliases.filter(({ folded }) => folded !== foldedAlias(title)).map(({ alias }) => alias);
  return { entity_id: entityIdOf(id), canonical_name: title, namespace, aliases: [title, ...others] };
}

/** An alias that an agent adds to an entity now. */
export function* aliasImage(
  { id, namespace }: Pick<Memory, 'id' | 'namespace'>,
  alias: string,
  by: string | null,
  { now }: DecisionContext,
): Reading<Alias> {
  const folded = foldedAlias(alias);
  const digest = yield* digestOfText({ text: `${id}|${folded}` });
  return { memory_id: id, namespace, alias, folded, digest, added_by: by, added_at: now, rest: NO_REST };
}

/** The write that stores an alias. */
export const aliasWrite = (image: Alias): Reading<Write<Alias>> =>
  putRecord(aliasKind, { id: aliasKind.idOf(image)!, namespace: image.namespace }, image);

/** The alias for the new name of an entity that is renamed; nothing when it has that alias. */
export function* aliasOfNewName(
  entity: Memory,
  by: string | null,
  context: DecisionContext,
): Reading<readonly Write[]> {
  const image = yield* aliasImage(entity, entity.title, by, context);
  const held = (yield* aliasesOf(entity)).some(({ folded }) => folded === image.folded);
  return held ? [] : [yield* aliasWrite(image)];
}
