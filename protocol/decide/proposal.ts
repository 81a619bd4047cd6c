import type { MemoryId } from '../base/meanings.js';
import { isObject, isText } from '../kinds/payload.js';

/** A command as a record of a pending action holds it. A peer may have written it, so nothing of it is sure. */
export type Held = Readonly<Record<string, unknown>>;

/** What waits for an approval, in the words of the interface. */
export interface Proposal {
  readonly payload: Held;
  /** The memories that it is about and that are there, live or archived. */
  readonly about: readonly MemoryId[];
  /** Where the memory that it would write lies, and its metadata, which say who would see it. */
  readonly brings: { readonly namespace: string; readonly metadata: Held } | null;
  /** Who would see the changed memories; null where that stays. */
  readonly scope: unknown;
}

/** What a held command proposes; null for one that this release cannot read. */
export type Proposes = (held: Held) => Proposal | null;

/** A proposal about memories that are there. */
export function ofRows(ids: unknown, payload: Held): Proposal | null {
  if (!Array.isArray(ids) || ids.length === 0 || !ids.every(isText)) return null;
  return { payload: said(payload), about: ids as MemoryId[], brings: null, scope: null };
}

/** A proposal about a link, and about what is to be said of it. */
export function ofLink(link: unknown, members: unknown): Proposal | null {
  if (!isObject(link)) return null;
  const { source_id, target_id, relation } = link;
  const given = isObject(members) ? members : {};
  return ofRows([source_id, target_id], { source_id, target_id, relation, ...given });
}

/** The members that were given. */
export const said = (payload: Held): Held =>
  Object.fromEntries(
    Object.entries(payload).filter(
      ([, value]) => value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0),
    ),
  );
