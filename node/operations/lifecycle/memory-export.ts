import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { fail, failed, ok } from '../../../protocol/base/result.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { cursorText, parseCursor } from '../../transfer/export-cursor.js';
import { exportedLink, exportedMemory, exportedRecord } from '../../transfer/export-json.js';
import { exportPage } from '../../transfer/export-page.js';
import { operatorView } from '../../transfer/operator-view.js';
import { omittedDamaged } from '../shared/filter.js';

const HOW =
  'repeat with ?limit=1000 and follow next_cursor with ?cursor=… until the answer has none, or use the command `export`';

/**
 * Every memory and link, oldest first, and the records of every other exported kind (interface §4.10). The answer is
 * complete or refused, never cut: without `limit` and `cursor` an export that is too large is EXPORT_PAGING_REQUIRED;
 * with them it comes in pages.
 */
export const memoryExport = defineOperation({
  name: 'memory_export',
  family: 'lifecycle',
  summary: 'Export every memory and link, oldest first, and records of other kinds.',
  input: z.object({
    namespace: fields.namespaceOrSubtree
      .describe('Only this namespace; with /** at its end, it and all below it')
      .optional(),
    limit: z
      .int()
      .min(1)
      .describe('Memories, or records, per page; the page cap of the node bounds it. Requests pages')
      .optional(),
    cursor: z
      .string()
      .max(limits.EXPORT_CURSOR_LENGTH_MAX)
      .describe('next_cursor of the previous page')
      .optional(),
  }),
  output: z.object({
    memories: z.array(fields.memoryOutput),
    links: z.array(
      z.looseObject({
        source_id: z.string(),
        target_id: z.string(),
        relation: z.string(),
        created_at: z.string(),
      }),
    ),
    records: z
      .array(z.looseObject({ kind: z.string(), id: z.string(), namespace: z.string() }))
      .describe('Records of other kinds, such as the standards of namespaces; after the last memory')
      .optional(),
    count: z.int().describe('Memories in this answer'),
    exported_at: z.string(),
    only_namespaces: z
      .array(z.string())
      .describe(
        'Present with a token for some namespaces: the export has their memories and links, and no records',
      )
      .optional(),
    ...fields.omittedDamaged,
    next_cursor: z.string().describe('Present when more pages follow').optional(),
  }),
  effect: 'read',
  guards: { admin: true },
  delegable: 'by-namespace',
  http: [{ method: 'GET', path: '/export', fields: 'query' }],
  run: async (call, input) => {
    const { services, now } = call;
    const viewer = operatorView(call.caller);
    if (!viewer.ok) return failed(viewer.error);
    const { within } = viewer.value;
    const cursor = input.cursor === undefined ? ok(null) : parseCursor(input.cursor);
    if (!cursor.ok) return failed(cursor.error);
    const paged = input.limit !== undefined || input.cursor !== undefined;
    const limit = paged
      ? Math.min(input.limit ?? limits.EXPORT_PAGE_SIZE, services.settings.pageSizeMax)
      : limits.EXPORT_MEMORIES_MAX;
    const page = await exportPage(services, {
      viewer: viewer.value,
      namespace: input.namespace ?? null,
      now,
      cursor: cursor.value,
      limit,
    });
    if (!page.ok) return failed(page.error);
    const { memories, links, records, next } = page.value;
    if (next !== null && !paged) {
      return fail('EXPORT_PAGING_REQUIRED', `this export is too large for one answer: ${HOW}`, {
        max_memories: limits.EXPORT_MEMORIES_MAX,
        max_bytes: limits.EXPORT_BYTES_MAX,
      });
    }
    return ok({
      memories: memories.map((memory) => exportedMemory(memory) as never),
      links: links.map((link) => exportedLink(link) as never),
      ...(records.length === 0 ? {} : { records: records.map((record) => exportedRecord(record) as never) }),
      count: memories.length,
      exported_at: now,
      ...(within === undefined ? {} : { only_namespaces: [...within] }),
      ...omittedDamaged(page.value),
      ...(next === null ? {} : { next_cursor: cursorText(next) }),
    });
  },
});
