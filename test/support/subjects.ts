import type { Subject } from '../../protocol/kinds/kind.js';
import type { KindNamespace } from '../../protocol/log/ranges.js';

/** A memory as a subject. */
export const ofMemory = (id: string): Subject => ({ kind: 'memory', id });

/** Memories as subjects. */
export const ofMemories = (ids: readonly string[]): readonly Subject[] => ids.map(ofMemory);

/** A link as a subject. */
export const ofLink = (id: string): Subject => ({ kind: 'link', id });

/** The memories and links of namespaces, whose digests are to be counted. */
export const rowsIn = (...namespaces: readonly string[]): readonly KindNamespace[] =>
  ['link', 'memory'].flatMap((kind) => namespaces.map((namespace) => ({ kind, namespace })));
