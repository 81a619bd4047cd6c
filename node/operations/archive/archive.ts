import { z } from 'zod';
import { isBlank } from '../../../protocol/base/ids.js';
import * as limits from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import type { ArchivePlace } from '../../../protocol/lifecycle/queries.js';
import type { ArchivedMemory } from '../../../protocol/memory/archived-memory.js';
import type { MemoryJson } from '../../../protocol/memory/memory.js';
import { ttlSecondsOf } from '../../config/life-policy.js';
import type { Call } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { aroundOperation } from '../../pipeline/operation-hooks.js';
import { cursorField, cursorPageEnd, pageCursor } from '../../pipeline/page-cursor.js';
import { namedMemories } from '../shared/hooked.js';
import { inBatches } from '../shared/in-batches.js';
import { shownMemories } from '../shared/shown-memories.js';

const DAY_MS = 86_400_000;

/** Lists archived memories, the newest archiving first (interface §4.8, GET /archive). */
export const memoryArchiveList = defineOperation({
  name: 'memory_archive_list',
  family: 'archive',
  summary: 'List archived memories, newest first.',
  input: z.object({
    namespace: fields.namespace.optional(),
    limit: fields.listLimit(limits.ARCHIVE_LIST_LIMIT, limits.ARCHIVE_LIST_LIMIT_MAX),
    offset: z.int().min(0).max(limits.OFFSET_MAX).default(0).describe('Rows to skip'),
    cursor: cursorField,
  }),
  output: z.object({
    archived: z.array(
      z
        .looseObject({ id: z.string(), archived_at: z.string(), archive_reason: z.string() })
        .describe('A memory with the time and reason of its archiving (interface §2.8)'),
    ),
    count: z.int(),
    ...cursorPageEnd,
    ...fields.omittedDamaged,
  }),
  effect: 'read',
  guards: { admin: true },
  delegable: 'by-namespace',
  rows: 'archived',
  http: [{ method: 'GET', path: '/archive', fields: 'query', omit: ['format'] }],
  mcp: { description: 'List all archived memories (deleted, expired or merged), newest first.' },
  cli: {
    command: 'archive list',
    short: { n: 'namespace' },
    view: 'memories',
    examples: ['archive list --namespace team/alpha'],
  },
  run: async (call, input) => {
    const cursor = pageCursor<ArchivePlace>(call, 'memory_archive_list', input);
    if (!cursor.ok) return cursor;
    const result = await call.services.store.query({
      kind: 'list-archive',
      namespace: input.namespace ?? null,
      viewer: call.caller.viewer,
      limit: input.limit,
      offset: input.offset,
      after: cursor.value.after,
    });
    if (!result.ok) return failed(result.error);
    const { archived: rows, unreadable, next } = result.value;
    const memories = await shownMemories(
      call,
      rows.map(({ memory }) => memory),
    );
    const archived = rows.map((row, index) => archivedJson(row, memories[index]!) as never);
    const omitted = unreadable === 0 ? {} : { omitted_damaged: unreadable };
    return ok({
      archived,
      count: archived.length,
      ...cursor.value.end({ next, nextOffset: null }),
      ...omitted,
    });
  },
});

/** The vector itself stays in the archive: only a restore needs it, and a page of vectors would be megabytes. */
function archivedJson(row: ArchivedMemory, shown: MemoryJson): MemoryJson {
  return {
    ...shown,
    archived_at: row.archivedAt,
    archive_reason: row.archiveReason,
    ...(row.embeddingDim === null ? {} : { embedding_dim: row.embeddingDim }),
    original_tier: row.originalTier ?? row.memory.tier,
    ...(row.originalExpiresAt === null ? {} : { original_expires_at: row.originalExpiresAt }),
  };
}

const reason = z
  .string()
  .transform((value) => value.trim())
  .refine((value) => !isBlank(value), 'must not be blank')
  .refine((value) => value.isWellFormed(), 'must be valid Unicode text')
  .refine(
    (value) => value.length <= limits.ARCHIVE_REASON_LENGTH_MAX,
    `must be at most ${limits.ARCHIVE_REASON_LENGTH_MAX} characters`,
  )
  .refine((value) => !/\p{Cc}/u.test(value), 'must not hold control characters')
  .describe('Why they are archived');

/** Archives memories by their ids (interface §4.8, POST /archive): a JSON array of ids, or an object with a reason. */
export const memoryArchive = defineOperation({
  name: 'memory_archive',
  family: 'archive',
  summary: 'Move memories to the archive.',
  input: z.object({
    ids: z.array(fields.memoryId).min(1).max(limits.ARCHIVE_IDS_MAX).describe('Full ids, at most 1000'),
    reason: reason.default('archive'),
  }),
  output: z.object({
    archived: z.array(z.string()),
    missing: z.array(z.string()),
    count: z.int(),
    reason: z.string(),
  }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  delegable: 'by-namespace',
  http: [{ method: 'POST', path: '/archive', fields: 'body', arrayBody: 'ids' }],
  hooks: aroundOperation({
    look: (call, { ids }: { readonly ids: readonly string[] }) => namedMemories(call, ids),
    pre: [
      {
        event: 'pre_archive',
        firings: ({ ids }, memories) =>
          ids.map((id, at) => ({ namespace: memories[at]?.namespace ?? null, payload: { id } })),
        apply: (asked, { id }, at) => ({
          ...asked,
          ids: (asked['ids'] as readonly unknown[]).map((before, place) => (place === at ? id : before)),
        }),
      },
    ],
  }),
  run: async (call, input) => {
    const result = await call.services.store.execute({
      kind: 'archive-memories',
      ids: input.ids,
      reason: input.reason,
      viewer: call.caller.viewer,
    });
    if (!result.ok) return failed(result.error);
    const { archived, missing } = result.value;
    return ok({
      archived: [...archived],
      missing: [...missing],
      count: archived.length,
      reason: input.reason,
    });
  },
});

/** Moves an archived memory back as it was (interface §3, §4.8). */
export const memoryArchiveRestore = defineOperation({
  name: 'memory_archive_restore',
  family: 'archive',
  summary: 'Restore an archived memory as it was.',
  input: z.object({ id: fields.memoryId }),
  output: z.object({
    restored: z.boolean(),
    id: z.string(),
    expires_at: z.string().describe('Given when the original expiry had passed').optional(),
    expiry_renewed: z.boolean().optional(),
  }),
  effect: 'write',
  idempotent: true,
  guards: { attestation: 'by-name' },
  delegable: 'by-namespace',
  http: [{ method: 'POST', path: '/archive/{id}/restore', fields: 'body' }],
  mcp: { description: 'Bring back a deleted or archived memory by its id.' },
  cli: {
    command: 'archive restore',
    positionals: ['id'],
    view: 'message',
    message: (output) =>
      `restored: ${output['id']}${output['expiry_renewed'] === true ? ` (its expiry had passed; now ${output['expires_at'] ?? 'none'})` : ''}`,
    examples: ['archive restore 3f2a'],
  },
  run: async (call, input) => {
    const { store, settings } = call.services;
    const { viewer } = call.caller;
    const found = await store.query({ kind: 'find-archived', id: input.id, viewer });
    if (!found.ok) return failed(found.error);
    const result = await store.execute({
      kind: 'restore-memory',
      id: found.value.id,
      ttlSeconds: ttlSecondsOf(settings),
      viewer,
      archive: settings.archiveOnGc,
    });
    if (!result.ok) return failed(result.error);
    const { memory, expiryRenewed } = result.value;
    return ok({
      restored: true,
      id: memory.id,
      ...(expiryRenewed ? { expiry_renewed: true } : {}),
      ...(expiryRenewed && memory.expires_at !== null ? { expires_at: memory.expires_at } : {}),
    });
  },
});

/**
 * Purges the archive for good: everything for an admin or a local operator, only the caller's own rows for every other
 * caller (interface §3, reference-http §1, row 44).
 */
export const memoryArchivePurge = defineOperation({
  name: 'memory_archive_purge',
  family: 'archive',
  summary: 'Purge archived memories for good; only your own unless you are an admin.',
  input: z.object({
    older_than_days: z
      .int()
      .min(0)
      .max(limits.ARCHIVE_DAYS_MAX)
      .describe('Only memories archived at least this many days ago, 0 to 36500')
      .optional(),
  }),
  output: z.object({ purged: z.int(), owner_scope: z.enum(['admin', 'caller']) }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  http: [{ method: 'DELETE', path: '/archive', fields: 'query' }],
  mcp: { description: 'Purge the archive for good: these memories cannot be brought back.' },
  cli: {
    command: 'archive purge',
    view: 'message',
    progress: 'purged copies:',
    confirm: { question: () => 'Remove these copies from the archive for good?' },
    message: (output) => `purged: ${output['purged']}`,
    examples: ['archive purge --older-than-days 90'],
  },
  run: async (call, input) => {
    const { viewer, admin, agentId, claimed } = call.caller;
    // A tool call that names an agent removes what belongs to that agent.
    const isNamed = call.surface === 'mcp' && claimed === 'explicit';
    const everybody = admin || (viewer.all && !isNamed);
    const days = input.older_than_days;
    const cut =
      days === undefined
        ? await newestArchived(call, everybody)
        : ok(instantFromMs(call.nowMs - days * DAY_MS));
    if (!cut.ok) return failed(cut.error);
    const purged = await inBatches(
      async () => {
        const result = await call.services.store.execute({
          kind: 'purge-archive',
          by: call.caller.agentId,
          before: cut.value,
          ownerId: everybody ? null : agentId,
          reason: 'request',
          limit: limits.REMOVE_BATCH_MAX,
        });
        return result.ok ? ok({ done: result.value.purged, more: result.value.more }) : failed(result.error);
      },
      (done) => call.progress(done, null),
    );
    if (!purged.ok) return failed(purged.error);
    return ok({ purged: purged.value, owner_scope: everybody ? ('admin' as const) : ('caller' as const) });
  },
});

/**
 * The instant for a purge without an age: it covers everything that is archived when the purge begins, even rows dated
 * later than now because the clock was set back.
 */
async function newestArchived(call: Call, everybody: boolean): Promise<Result<string>> {
  const { viewer } = call.caller;
  const newest = await call.services.store.query({
    kind: 'list-archive',
    namespace: null,
    viewer: everybody ? { ...viewer, all: true } : viewer,
    limit: 1,
    offset: 0,
  });
  if (!newest.ok) return failed(newest.error);
  const archivedAt = newest.value.archived[0]?.archivedAt ?? call.now;
  return ok([archivedAt, call.now].sort().at(-1)!);
}

/** Counts the archive (interface §4.8, GET /archive/stats). */
export const memoryArchiveStats = defineOperation({
  name: 'memory_archive_stats',
  family: 'archive',
  summary: 'Count archived memories by namespace.',
  input: z.object({}),
  output: z.object({
    archived_total: z.int(),
    by_namespace: z.array(fields.namespaceCount),
  }),
  effect: 'read',
  guards: { admin: true },
  delegable: 'by-namespace',
  http: [{ method: 'GET', path: '/archive/stats', fields: 'query' }],
  mcp: { description: 'Count archived memories by namespace.' },
  cli: { command: 'archive stats', view: 'object' },
  run: async (call) => {
    const result = await call.services.store.query({ kind: 'archive-stats', viewer: call.caller.viewer });
    if (!result.ok) return failed(result.error);
    return ok({ ...result.value, by_namespace: [...result.value.by_namespace] });
  },
});
