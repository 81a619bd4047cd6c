import { z } from 'zod';
import type { Instant, MemoryId } from '../base/meanings.js';
import { instantAfter } from '../base/time.js';
import type { Memory } from '../memory/memory.js';
import { newMemory } from '../memory/new-memory.js';
import { CURATOR, ROLLBACK_NAMESPACE } from './curator.js';
import { CURATION_KEPT_DAYS } from './limits.js';

const DAY_SECONDS = 86_400;

const id = z.string();
const priority = z.int().min(1).max(10);

/** What the curator did, and all that undoes it. */
const record = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('consolidate'),
    namespace: z.string(),
    result: id,
    sources: z.array(id).min(2),
  }),
  z.object({ kind: z.literal('forget'), namespace: z.string(), memory: id, kept: id }),
  z.object({
    kind: z.literal('priority_adjust'),
    namespace: z.string(),
    memory: id,
    before: priority,
    after: priority,
    /** The instant of the adjustment before; null where there was none. */
    adjusted_before: z.string().nullable(),
  }),
]);
export type RollbackRecord = z.output<typeof record>;

/** The record in a memory of the curator; null for any other memory. */
export function recordIn({ namespace, content, metadata }: Memory): RollbackRecord | null {
  if (namespace !== ROLLBACK_NAMESPACE || metadata['agent_id'] !== CURATOR) return null;
  try {
    const read = record.safeParse(JSON.parse(content));
    return read.success ? read.data : null;
  } catch {
    return null;
  }
}

/** The memories that a record is about. */
const aboutOf = (said: RollbackRecord): readonly MemoryId[] =>
  said.kind === 'consolidate'
    ? said.sources
    : said.kind === 'forget'
      ? [said.memory, said.kept]
      : [said.memory];

/** The memory of a record; only the operator sees it. */
export function recordMemory(recordId: MemoryId, said: RollbackRecord, now: Instant): Memory {
  return newMemory(now, {
    ...{ id: recordId, namespace: ROLLBACK_NAMESPACE, title: `${now} ${said.kind} ${recordId}` },
    ...{ content: JSON.stringify(said), source: 'curator', tags: [said.kind], tier: 'mid' },
    expires_at: instantAfter(now, CURATION_KEPT_DAYS * DAY_SECONDS),
    metadata: { agent_id: CURATOR, scope: 'private', attest_level: 'claimed', about: aboutOf(said) },
  });
}
