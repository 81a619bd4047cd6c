import { z } from 'zod';
import { isReservedNamespace } from '../../../protocol/base/ids.js';
import { BATCH_COMMANDS_MAX, IMPORT_MEMORIES_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { isObject } from '../../../protocol/kinds/payload.js';
import { type LinkKey, RELATIONS, unsigned } from '../../../protocol/links/link.js';
import { linkKind } from '../../../protocol/links/link-kind.js';
import { isMail } from '../../../protocol/namespaces/mail.js';
import { KINDS } from '../../../protocol/release.js';
import type { ImportMemoryOutcome } from '../../../protocol/transfer/import-memory.js';
import type { ImportedRecord } from '../../../protocol/transfer/import-record.js';
import type { Call } from '../../pipeline/call.js';
import { defineOperation } from '../../pipeline/operation.js';
import { dateProblem } from '../../transfer/date-problem.js';
import { readyLink, readyMemory } from '../../transfer/import-memory.js';
import { authorHolds, readyRecord, withMergedMemories } from '../../transfer/import-record.js';
import { operatorView } from '../../transfer/operator-view.js';

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
  on_conflict: z
    .enum(['error', 'merge'])
    .default('error')
    .describe('What becomes of a memory whose title another one holds: refused, or merged with that one'),
  dry_run: z
    .boolean()
    .default(false)
    .describe('Only say what would become of the memories; links and records are not looked at'),
  list_changes: z
    .boolean()
    .default(false)
    .describe('Also name the memories and links that are new or changed'),
  count: z.unknown().describe('Not used; an export has it').optional(),
  exported_at: z.unknown().describe('Not used; an export has it').optional(),
  only_namespaces: z.unknown().describe('Not used; a part of an export has it').optional(),
  next_cursor: z.unknown().describe('Not used; a page of an export has it').optional(),
});

const versions = z.record(z.string(), z.int());

/** Imports an export (interface §4.10, reference-http §1 row 41). Importing it again changes nothing. */
export const memoryImport = defineOperation({
  name: 'memory_import',
  family: 'lifecycle',
  summary: 'Import memories, links and records of an export.',
  input,
  output: z.object({
    dry_run: z.boolean().describe('True when nothing was imported').optional(),
    imported: z.int().describe('Memories that are here now, those that were before included'),
    unchanged: z.int().describe('Of these, memories that changed nothing'),
    restamped: z.int().describe('Of these, memories that now belong to the caller and did not before'),
    kept: z
      .int()
      .describe('Memories that are here with another text and no earlier edit, and stayed as they are'),
    kept_ids: z.array(z.string()).describe('Their ids; present when there are some').optional(),
    left_out: z
      .record(z.string(), z.int())
      .describe('Rows that decide about others, by kind, which only a trusted source brings in')
      .optional(),
    links: z.int().describe('Links that are here now'),
    records: z.int().describe('Records that are here now; present when some were sent').optional(),
    merged: z
      .record(z.string(), z.string())
      .describe('Ids of memories that became part of another row, and the id of that row')
      .optional(),
    created: versions
      .describe('Memories that are new, by id, with their version; for list_changes')
      .optional(),
    updated: versions
      .describe('Memories that changed, by id, with their version; for list_changes')
      .optional(),
    new_links: z
      .array(z.object({ source_id: z.string(), target_id: z.string(), relation: z.enum(RELATIONS) }))
      .describe('Links that are new; for list_changes')
      .optional(),
    new_records: z.int().describe('Records that are new or changed; for list_changes').optional(),
    failed: z.int().describe('Memories, links and records that were refused'),
    errors: z.array(z.string()).describe('One sentence for each memory, link or record that was refused'),
  }),
  effect: 'write',
  overwrites: true,
  screens: 'rows',
  guards: { admin: true, attestation: 'by-name' },
  http: [{ method: 'POST', path: '/import', fields: 'body' }],
  run: async (call, { memories, links, records, ...asked }) => {
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
    const { trust_source: trusted, on_conflict: onConflict, dry_run: dryRun } = asked;
    const rows = await each(
      memories,
      passing(call, 'memories', (raw) => importMemory(call, raw, { trusted, onConflict, dryRun })),
    );
    const done = rows.flatMap((row) => (row.ok && row.value !== 'left out' ? [row.value] : []));
    const merged = new Map(done.flatMap((row) => (row.merged ? [row.merged] : [])));
    const ends = await each(
      dryRun ? [] : links,
      passing(call, 'links', (raw) => importLink(call, raw, trusted, merged)),
    );
    const others = await each(
      dryRun ? [] : records,
      passing(call, 'records', (raw) => importRecord(call, withMergedMemories(raw, merged), trusted)),
    );
    const leftOut = countsOf([
      ...rows.flatMap((row) => (row.ok && row.value === 'left out' ? ['message'] : [])),
      ...others.flatMap((other) => (other.ok && 'leftOut' in other.value ? [other.value.leftOut] : [])),
    ]);
    const here = others.filter((other) => other.ok && !('leftOut' in other.value));
    const errors = [
      ...errorsOf('memories', rows),
      ...errorsOf('links', ends),
      ...errorsOf('records', others),
    ];
    return ok({
      ...(dryRun ? { dry_run: true } : {}),
      ...countsOfMemories(done),
      ...(Object.keys(leftOut).length === 0 ? {} : { left_out: leftOut }),
      links: ends.filter((end) => end.ok).length,
      ...(dryRun || records.length === 0 ? {} : { records: here.length }),
      ...(merged.size === 0 ? {} : { merged: Object.fromEntries(merged) }),
      ...(asked.list_changes ? changesOf(done, ends, others) : {}),
      ...{ failed: errors.length, errors },
    });
  },
});

function countsOfMemories(done: readonly ImportedMemory[]) {
  const kept = done.filter(({ change }) => change === 'kept').map(({ id }) => id);
  return {
    imported: done.length - kept.length,
    unchanged: done.filter(({ change }) => change === 'unchanged').length,
    restamped: done.filter((row) => row.restamped).length,
    kept: kept.length,
    ...(kept.length === 0 ? {} : { kept_ids: kept }),
  };
}

/** The memories and links that are new or changed. A memory that two rows of the file changed has its last version. */
function changesOf(
  done: readonly ImportedMemory[],
  ends: readonly Result<ImportedLink>[],
  others: readonly Result<ImportedRecord | LeftOut>[],
) {
  const created = new Map<string, number>();
  const updated = new Map<string, number>();
  for (const { id, change, version } of done) {
    if (change === 'created' || (change === 'updated' && created.has(id))) created.set(id, version);
    else if (change === 'updated') updated.set(id, version);
  }
  return {
    created: Object.fromEntries(created),
    updated: Object.fromEntries(updated),
    new_links: ends.flatMap((end) => (end.ok && end.value.isNew ? [end.value.link] : [])),
    new_records: others.filter((one) => one.ok && 'change' in one.value && one.value.change !== 'unchanged')
      .length,
  };
}

function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** Runs in order, as many at a time as share a commit. */
async function each<T>(
  rows: readonly unknown[],
  run: (raw: unknown, index: number) => Promise<Result<T>>,
): Promise<Result<T>[]> {
  const results: Promise<Result<T>>[] = [];
  for (const [index, raw] of rows.entries()) {
    await results[index - BATCH_COMMANDS_MAX];
    results.push(run(raw, index));
  }
  return Promise.all(results);
}

/** Rows pass the screen for secrets first. */
const passing =
  <T>({ screenRow }: Call, list: string, run: (raw: unknown) => Promise<Result<T>>) =>
  async (raw: unknown, index: number): Promise<Result<T>> => {
    const passed = screenRow === undefined ? ok(raw) : await screenRow(raw, `${list}[${index}]`);
    return passed.ok ? run(passed.value) : failed(passed.error);
  };

/** What became of a memory of the file. */
interface ImportedMemory {
  readonly id: string;
  readonly merged: readonly [from: string, to: string] | null;
  readonly change: ImportMemoryOutcome['change'];
  readonly version: number;
  readonly restamped: boolean;
}

interface MemoryChoices {
  readonly trusted: boolean;
  readonly onConflict: 'error' | 'merge';
  readonly dryRun: boolean;
}

/** Messages of a source that is not trusted are left out: the caller would be their sender. */
async function importMemory(
  call: Call,
  raw: unknown,
  { trusted, onConflict, dryRun }: MemoryChoices,
): Promise<Result<ImportedMemory | 'left out'>> {
  const ready = await readyMemory(call, raw, trusted);
  if (!ready.ok) return failed<never>(ready.error);
  const { memory, restamped, dated } = ready.value;
  if (!trusted && isMail(memory.namespace)) return ok('left out' as const);
  if (!trusted && isReservedNamespace(memory.namespace)) {
    const message = `namespace "${memory.namespace}" begins with "_": only a trusted source brings such memories in`;
    return fail('VALIDATION_FAILED', message, { fields: ['namespace'] });
  }
  const ahead = dateProblem(call, memory);
  if (ahead !== null) return ahead;
  const archive = call.services.settings.archiveOnGc;
  const { viewer } = call.caller;
  const command = { kind: 'import-memory', memory, archive, dated, onConflict, dryRun, viewer } as const;
  const result = await call.services.store.execute(command);
  if (!result.ok) return failed<never>(result.error);
  const { id, change, version } = result.value;
  const merged = id === memory.id ? null : ([memory.id, id] as const);
  // A row that was here keeps its agent.
  return ok({ id, merged, change, version, restamped: restamped && change === 'created' });
}

/** What became of a link of the file. */
interface ImportedLink {
  readonly link: LinkKey;
  readonly isNew: boolean;
}

async function importLink(
  call: Call,
  raw: unknown,
  trusted: boolean,
  merged: ReadonlyMap<string, string>,
): Promise<Result<ImportedLink>> {
  const ready = readyLink(call, raw, trusted);
  if (!ready.ok) return failed<never>(ready.error);
  const ahead = dateProblem(call, ready.value);
  if (ahead !== null) return ahead;
  const source_id = merged.get(ready.value.source_id) ?? ready.value.source_id;
  const target_id = merged.get(ready.value.target_id) ?? ready.value.target_id;
  const link = { ...ready.value, source_id, target_id };
  // A signature does not cover a link that now leads elsewhere.
  const holds = await authorHolds(linkKind, linkKind.payload.text(link), call.services.crypto);
  const result = await call.services.store.execute({
    kind: 'import-link',
    link: holds ? link : unsigned(link),
    viewer: call.caller.viewer,
  });
  if (!result.ok) return failed(result.error);
  const { relation } = link;
  return ok({ link: { source_id, target_id, relation }, isNew: result.value.change === 'created' });
}

/** The kind of a record that only a trusted source brings in. */
interface LeftOut {
  readonly leftOut: string;
}

/** Records that decide what others may do, or what they see, come from a trusted source only. */
async function importRecord(
  call: Call,
  raw: unknown,
  trusted: boolean,
): Promise<Result<ImportedRecord | LeftOut>> {
  const kind = isObject(raw) ? KINDS.named(String(raw['kind'])) : null;
  if (kind?.decides === true && !trusted) return ok({ leftOut: kind.name });
  const ready = await readyRecord(call, raw, trusted);
  if (!ready.ok) return failed(ready.error);
  const ahead = dateProblem(call, ready.value.image);
  if (ahead !== null) return ahead;
  const { viewer } = call.caller;
  return call.services.store.execute({ kind: 'import-record', record: ready.value, revive: true, viewer });
}

function errorsOf(list: string, results: readonly Result<unknown>[]): string[] {
  return results.flatMap((result, index) =>
    result.ok ? [] : [`${list}[${index}]: ${result.error.message}`],
  );
}
