import { z } from 'zod';
import { unsigned } from '../../protocol/graph/link.js';
import { linkKind } from '../../protocol/kinds/link-kind.js';
import { BATCH_COMMANDS_MAX, IMPORT_MEMORIES_MAX } from '../../protocol/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/result.js';
import type { Call } from '../pipeline/call.js';
import { defineOperation } from '../pipeline/operation.js';
import { readyLink, readyMemory } from '../transfer/import-memory.js';
import { authorHolds, readyRecord, withMergedMemories } from '../transfer/import-record.js';
import { operatorView } from '../transfer/operator-view.js';

const input = z.object({
  memories: z.array(z.unknown()).describe(`Memories as an export has them; at most ${IMPORT_MEMORIES_MAX}`),
  links: z.array(z.unknown()).default([]).describe('Links as an export has them'),
  records: z
    .array(z.unknown())
    .default([])
    .describe(`Records of other kinds as an export has them; at most ${IMPORT_MEMORIES_MAX}`),
  trust_source: z
    .boolean()
    .default(false)
    .describe('Keep the agents of the memories and records, and the attestations of the links'),
  count: z.unknown().describe('Not used; an export has it').optional(),
  exported_at: z.unknown().describe('Not used; an export has it').optional(),
  next_cursor: z.unknown().describe('Not used; a page of an export has it').optional(),
});

/** Imports an export (interface §4.10, reference-http §1 row 41). Importing it again changes nothing. */
export const memoryImport = defineOperation({
  name: 'memory_import',
  family: 'lifecycle',
  summary: 'Import memories, links and records of an export.',
  core: false,
  input,
  output: z.object({
    imported: z.int().describe('Memories that are here now, those that were before included'),
    unchanged: z.int().describe('Of these, memories that changed nothing'),
    restamped: z.int().describe('Of these, memories that now belong to the caller and did not before'),
    links: z.int().describe('Links that are here now'),
    records: z.int().describe('Records that are here now; present when some were sent').optional(),
    merged: z
      .record(z.string(), z.string())
      .describe('Ids of memories that became part of another row, and the id of that row')
      .optional(),
    errors: z.array(z.string()).describe('One sentence for each memory, link or record that was refused'),
  }),
  effect: 'write',
  guards: { admin: true, attestation: 'by-name' },
  http: [{ method: 'POST', path: '/import', fields: 'body' }],
  run: async (call, { memories, links, records, trust_source: trusted }) => {
    const viewer = operatorView(call.caller);
    if (!viewer.ok) return failed(viewer.error);
    for (const [list, { length: count }] of Object.entries({ memories, records })) {
      if (count <= IMPORT_MEMORIES_MAX) continue;
      return fail('VALIDATION_FAILED', `at most ${IMPORT_MEMORIES_MAX} ${list} can be imported at once`, {
        fields: [list],
        max: IMPORT_MEMORIES_MAX,
        count,
      });
    }
    const rows = await each(memories, (raw) => importMemory(call, raw, trusted));
    const merged = new Map(rows.flatMap((row) => (row.ok && row.value.merged ? [row.value.merged] : [])));
    const ends = await each(links, (raw) => importLink(call, raw, trusted, merged));
    const others = await each(records, (raw) => importRecord(call, withMergedMemories(raw, merged), trusted));
    const done = rows.flatMap((row) => (row.ok ? [row.value] : []));
    return ok({
      imported: done.length,
      unchanged: done.filter((row) => row.unchanged).length,
      restamped: done.filter((row) => row.restamped).length,
      links: ends.filter((end) => end.ok).length,
      ...(records.length === 0 ? {} : { records: others.filter((other) => other.ok).length }),
      ...(merged.size === 0 ? {} : { merged: Object.fromEntries(merged) }),
      errors: [...errorsOf('memories', rows), ...errorsOf('links', ends), ...errorsOf('records', others)],
    });
  },
});

/** Runs in order, as many at a time as share a commit. */
async function each<T>(
  rows: readonly unknown[],
  run: (raw: unknown) => Promise<Result<T>>,
): Promise<Result<T>[]> {
  const results: Promise<Result<T>>[] = [];
  for (const [index, raw] of rows.entries()) {
    await results[index - BATCH_COMMANDS_MAX];
    results.push(run(raw));
  }
  return Promise.all(results);
}

async function importMemory(call: Call, raw: unknown, trusted: boolean) {
  const ready = await readyMemory(call, raw, trusted);
  if (!ready.ok) return failed<never>(ready.error);
  const { memory, restamped } = ready.value;
  const archive = call.services.settings.archiveOnGc;
  const { viewer } = call.caller;
  const result = await call.services.store.execute({ kind: 'import-memory', memory, archive, viewer });
  if (!result.ok) return failed<never>(result.error);
  const { id, change } = result.value;
  const merged = id === memory.id ? null : ([memory.id, id] as const);
  // A row that was here keeps its agent.
  return ok({ merged, unchanged: change === 'unchanged', restamped: restamped && change === 'created' });
}

async function importLink(call: Call, raw: unknown, trusted: boolean, merged: ReadonlyMap<string, string>) {
  const ready = readyLink(call, raw, trusted);
  if (!ready.ok) return failed<never>(ready.error);
  const source_id = merged.get(ready.value.source_id) ?? ready.value.source_id;
  const target_id = merged.get(ready.value.target_id) ?? ready.value.target_id;
  const link = { ...ready.value, source_id, target_id };
  // A signature does not cover a link that now leads elsewhere.
  const holds = await authorHolds(linkKind, linkKind.payload.text(link), call.services.crypto);
  return call.services.store.execute({
    kind: 'import-link',
    link: holds ? link : unsigned(link),
    viewer: call.caller.viewer,
  });
}

async function importRecord(call: Call, raw: unknown, trusted: boolean) {
  const ready = await readyRecord(call, raw, trusted);
  if (!ready.ok) return failed<never>(ready.error);
  const { viewer } = call.caller;
  return call.services.store.execute({ kind: 'import-record', record: ready.value, revive: true, viewer });
}

function errorsOf(list: string, results: readonly Result<unknown>[]): string[] {
  return results.flatMap((result, index) =>
    result.ok ? [] : [`${list}[${index}]: ${result.error.message}`],
  );
}
