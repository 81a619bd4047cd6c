import { canonicalJson } from '../../../protocol/base/canonical-json.js';
import type { MemoryImage } from '../../../protocol/memory/memory-kind.js';

/** A member that two versions of a memory have with other values; null where one has none. */
export interface FieldChange {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
}

const COMPARED = [
  ...(['title', 'content', 'namespace', 'tier', 'kind', 'tags', 'priority', 'confidence'] as const),
  ...(['valid_from', 'valid_until', 'expires_at', 'source', 'source_uri', 'source_span'] as const),
  ...(['citations', 'entity_id'] as const),
];

/** What the node that took a write says about its author; other nodes verify it again. */
const JUDGED: ReadonlySet<string> = new Set(['attest_level', 'attested_by']);

/** What differs between two versions, metadata by their keys. */
export function fieldChanges(before: MemoryImage, after: MemoryImage): readonly FieldChange[] {
  const keys = [...new Set([...Object.keys(before.metadata), ...Object.keys(after.metadata)])];
  const members = [
    ...COMPARED.map((field) => ({ field: field as string, before: before[field], after: after[field] })),
    ...keys
      .filter((key) => !JUDGED.has(key))
      .map((key) => ({
        field: `metadata.${key}`,
        before: before.metadata[key] ?? null,
        after: after.metadata[key] ?? null,
      })),
  ];
  return members.filter((one) => canonicalJson(one.before) !== canonicalJson(one.after));
}
