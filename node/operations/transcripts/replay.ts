import { z } from 'zod';
import { LINEAGE_MEMORIES_MAX, PAGE_SIZE_MAX, READ_RECORDS_MAX } from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { rowsOf } from '../../../protocol/kinds/find.js';
import type { MemoryRow } from '../../../protocol/memory/memory.js';
import { ruleDecision } from '../../../protocol/rules/permission-rules.js';
import { type Blob, blobId, blobKind } from '../../../protocol/transcripts/blob-kind.js';
import {
  REPLAY_BYTES_MAX,
  REPLAY_LIMIT,
  REPLAY_TEXT_BYTES_MAX,
} from '../../../protocol/transcripts/limits.js';
import {
  type Transcript,
  transcriptId,
  transcriptKind,
} from '../../../protocol/transcripts/transcript-kind.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { afterMark, markOf, pageEnd } from '../coordination/list-page.js';
import { boundedAnswer } from '../shared/traversal.js';
import { unpacked } from './texts.js';

const entry = z.object({
  id: z.string(),
  created_at: z.string(),
  compressed_size: z.int(),
  original_size: z.int(),
  span_start: z.int(),
  span_end: z.int(),
  source_memory_id: z.string(),
  role: z.string(),
  host_session_id: z.string(),
  host_turn_index: z.int(),
  attest_level: z.string(),
  content: z.string().optional(),
  truncated: z.literal(true).describe('The text is left out because of its size').optional(),
});

const input = z.object({
  memory_id: fields.memoryId,
  verbose: z.boolean().default(false).describe('Show texts beyond 100 KiB too'),
  depth: z
    .int()
    .nullable()
    .default(null)
    .describe('Links of reflection to follow: 0 for the memory alone, null for all of them'),
  agent_id: fields.agentId.describe('The caller').optional(),
  limit: fields.listLimit(REPLAY_LIMIT, PAGE_SIZE_MAX, 'transcripts'),
  after: afterMark.optional(),
});

const output = z.object({
  memory_id: z.string(),
  transcripts: z.array(entry),
  count: z.int(),
  ...pageEnd,
});

type Input = z.output<typeof input>;

/** Shows the turns that a memory tells, and those on which it reflects, in their order (reference-mcp-cli §6.7). */
export const memoryReplay = defineOperation({
  name: 'memory_replay',
  family: 'graph',
  summary: 'Show the turns that a memory tells or reflects on, in their order.',
  input,
  output,
  effect: 'read',
  guards: {},
  http: [{ method: 'POST', path: '/memory_replay', fields: 'body', agentId: 'claim' }],
  mcp: { description: 'Show the conversation (turns) from which a memory came.' },
  cli: {
    command: 'replay',
    positionals: ['memory_id'],
    view: 'object',
    table: {
      created_at: 'AT',
      role: 'ROLE',
      host_session_id: 'SESSION',
      host_turn_index: 'TURN',
      content: 'TEXT',
    },
    examples: ['replay 3f2a', 'replay 3f2a --depth 1 --verbose'],
  },
  run: replay,
});

type Answer = Result<z.input<typeof output>>;

async function replay(call: ReadCall, asked: Input): Promise<Answer> {
  const { viewer } = call.caller;
  if (asked.agent_id !== undefined && !viewer.all && asked.agent_id !== viewer.agentId)
    return fail('FORBIDDEN', 'agent_id does not match the caller');
  const nothing = { memory_id: asked.memory_id, transcripts: [], count: 0 };
  const root = await call.services.store.query({
    ...{ kind: 'get-memory', id: asked.memory_id, linksMax: 0, viewer, now: call.now },
  });
  if (!root.ok) return root.error.code === 'NOT_FOUND' ? ok(nothing) : failed(root.error);
  const anchors = await anchorsOf(call, root.value.memory, asked.depth);
  if (!anchors.ok) return failed(anchors.error);
  if (anchors.value === null) return ok(nothing);
  const refusal = refusalOf(call, [...anchors.value.values()]);
  if (refusal !== null) return fail('GOVERNANCE_REFUSED', refusal.message, refusal.details);
  const found = await transcriptsOf(call, anchors.value);
  if (!found.ok) return failed(found.error);
  const begin = found.value.findIndex((row) => asked.after === undefined || isAfter(row, asked.after));
  const left = begin < 0 ? [] : found.value.slice(begin);
  const page = left.slice(0, asked.limit);
  const shown = await shownTurns(call, page, asked.verbose);
  if (!shown.ok) return failed(shown.error);
  const last = page.at(-1);
  const more = last !== undefined && left.length > page.length;
  return ok({
    ...{ memory_id: root.value.memory.id, transcripts: shown.value, count: shown.value.length },
    ...(more ? { next: markOf([last.created_at, transcriptId(last)]) } : {}),
  });
}

const isAfter = (row: Transcript, [at, id]: readonly [string, string]): boolean =>
  row.created_at > at || (row.created_at === at && transcriptId(row) > id);

/** The memories whose turns are shown, with their namespaces; null where one of them was removed. */
async function anchorsOf(
  call: ReadCall,
  root: Pick<MemoryRow, 'id' | 'namespace' | 'kind'>,
  depth: number | null,
): Promise<Result<ReadonlyMap<string, string> | null>> {
  const anchors = new Map([[root.id, root.namespace]]);
  const maxDepth = depth === null ? LINEAGE_MEMORIES_MAX : depth;
  if (root.kind !== 'reflection' || maxDepth <= 0) return ok(anchors);
  const { viewer } = call.caller;
  const walked = await call.services.store.query({
    ...{ kind: 'memory-lineage', id: root.id, direction: 'ancestors', maxDepth, relation: 'reflects_on' },
    ...{ viewer, now: call.now },
  });
  if (!walked.ok) return failed(walked.error);
  const whole = boundedAnswer(walked.value, { memory_id: root.id, transcripts: [], count: 0 });
  if (!whole.ok) return failed(whole.error);
  for (const { id, namespace } of walked.value.nodes) {
    if (namespace === null) return ok(null);
    anchors.set(id, namespace);
  }
  return ok(anchors);
}

/** Why a permission rule of the operator keeps a replay from the caller; null where none does. */
function refusalOf({ services: { settings }, caller: { viewer } }: ReadCall, namespaces: readonly string[]) {
  if (settings.permissionsMode !== 'enforce') return null;
  for (const namespace of new Set(namespaces)) {
    const rule = ruleDecision(settings.permissionRules, { op: 'memory_replay', viewer }, namespace);
    if (rule === null || rule.decision === 'allow') continue;
    const reason =
      rule.reason ??
      (rule.decision === 'deny' ? 'a permission rule denies it' : 'a read cannot wait for an approval');
    const details = { action: 'memory_replay', namespace, reason };
    return { message: `memory_replay in "${namespace}" is refused: ${reason}`, details };
  }
  return null;
}

/** The turns of memories, by their instant and then by their id. One of another namespace than its memory does not count: a peer with a scope can write it. */
async function transcriptsOf(
  call: ReadCall,
  anchors: ReadonlyMap<string, string>,
): Promise<Result<readonly Transcript[]>> {
  const ids = [...anchors.keys()];
  const all = new Map<string, Transcript>();
  for (let at = 0; at < ids.length; at += READ_RECORDS_MAX) {
    const found = await call.services.store.query({
      ...{ kind: 'find-records', of: transcriptKind.name, viewer: null, now: call.now, skipDamaged: true },
      ...{ where: { memory_id: { in: ids.slice(at, at + READ_RECORDS_MAX) } }, limit: LINEAGE_MEMORIES_MAX },
    });
    if (!found.ok) return failed(found.error);
    for (const row of rowsOf(transcriptKind, found.value))
      if (row.namespace === anchors.get(row.memory_id)) all.set(transcriptId(row), row);
  }
  const order = (a: Transcript, b: Transcript) => (isAfter(a, [b.created_at, transcriptId(b)]) ? 1 : -1);
  return ok([...all.values()].sort(order));
}

/** The entries of a page. Texts are left out beyond the size of one, or of all of them together. */
async function shownTurns(
  call: ReadCall,
  page: readonly Transcript[],
  verbose: boolean,
): Promise<Result<z.input<typeof entry>[]>> {
  const { settings, crypto } = call.services;
  const bytesMax = settings.transcriptDecompressedMax;
  let room = REPLAY_BYTES_MAX;
  const whole = page.filter(({ original_size: size }) => {
    const fits = size <= Math.min(room, bytesMax, verbose ? bytesMax : REPLAY_TEXT_BYTES_MAX);
    if (fits) room -= size;
    return fits;
  });
  const blobs = await blobsOf(call, whole);
  if (!blobs.ok) return failed(blobs.error);
  const entries: z.input<typeof entry>[] = [];
  for (const row of page) {
    if (!whole.includes(row)) {
      entries.push({ ...shownTurn(row), truncated: true });
      continue;
    }
    // What a peer says of a size is not sure, so the text itself is bounded too.
    const blob = blobs.value.get(idOfBlob(row)) ?? null;
    const text = unpacked(blob, row.content_sha256, { crypto, bytesMax });
    if (!text.ok) return failed(text.error);
    entries.push({ ...shownTurn(row), content: text.value });
  }
  return ok(entries);
}

const shownTurn = (row: Transcript) => ({
  id: transcriptId(row),
  created_at: row.created_at,
  compressed_size: row.compressed_size,
  original_size: row.original_size,
  // The memory tells the whole turn.
  span_start: 0,
  span_end: row.original_size,
  source_memory_id: row.memory_id,
  role: row.role,
  host_session_id: row.host_session_id,
  host_turn_index: row.host_turn_index,
  attest_level: row.attest_level,
});

/** The texts of turns, by the ids of their blobs. */
async function blobsOf(
  call: ReadCall,
  rows: readonly Transcript[],
): Promise<Result<ReadonlyMap<string, Blob>>> {
  const ids = [...new Set(rows.map(idOfBlob))];
  if (ids.length === 0) return ok(new Map());
  const found = await call.services.store.query({ kind: 'read-records', of: blobKind.name, ids });
  if (!found.ok) return failed(found.error);
  return ok(new Map(found.value.records.map(({ id, image }) => [id, image as unknown as Blob])));
}

const idOfBlob = (row: Transcript): string => blobId(row.namespace, row.content_sha256);
