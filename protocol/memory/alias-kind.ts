import * as limits from '../base/limits.js';
import type { Instant, MemoryId } from '../base/meanings.js';
import { isText, isTextOrNull, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, orNull, textOf } from '../kinds/replicated-value.js';

/**
 * A name of an entity (interface §2.3). Each is a record of its own, so the names that several nodes add at the same
 * time are all kept. It stays when the entity's memory goes, and counts again when that memory comes back.
 */
export interface Alias {
  /** The memory of the entity. */
  readonly memory_id: MemoryId;
  /** The namespace of the entity. */
  readonly namespace: string;
  /** As it was given. */
  readonly alias: string;
  /** The form in which aliases are compared (protocol/memory/entity.ts). */
  readonly folded: string;
  /** Stands for the folded form in the id, which outlives an erasure. Null where an earlier release put the form there. */
  readonly digest: string | null;
  /** The agent that added it. */
  readonly added_by: string | null;
  readonly added_at: Instant;
  readonly rest: Rest;
}

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);
const NAME = textOf(limits.REPLICATED_TITLE_BYTES_MAX);

export const aliasKind = recordKind<Alias>({
  name: 'alias',
  members: {
    memory_id: { accepts: isText, admits: WORD, default: '' },
    namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '' },
    alias: { accepts: isText, admits: NAME, default: '' },
    folded: { accepts: isText, admits: NAME, default: '' },
    digest: { accepts: isTextOrNull, admits: orNull(WORD), default: null, later: true },
    added_by: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    added_at: { accepts: isText, admits: instant, default: '' },
  },
  idOf: ({ memory_id, folded, digest }) => `${memory_id}|${digest ?? folded}`,
  namespaceOf: ({ namespace }) => namespace,
  about: (id) => [{ kind: 'memory', id: id.slice(0, Math.max(0, id.indexOf('|'))) }],
  owner: 'added_by',
  memories: ['memory_id'],
  losers: 'dropped',
  exported: true,
  indexes: [
    { name: 'alias_folded', members: ['folded', 'namespace'] },
    { name: 'alias_of', members: ['memory_id'] },
  ],
});
