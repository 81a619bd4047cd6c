import assert from 'node:assert/strict';
import type { SettingFlags } from '../../node/config/load-settings.js';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { type HttpNode, openHttpNode } from '../surface/http/http-node.js';

export type Row = Record<string, unknown>;

export const WORD = 'kestrel';
const idOf = (n: number) => `00000000-0000-4000-8000-0000000000${String(n).padStart(2, '0')}`;
export const [OPEN, HIDDEN, GONE] = [idOf(1), idOf(2), idOf(3)];
export const OPERATOR: Caller = {
  ...{ agentId: 'ai:operator', claimed: 'explicit', admin: true, local: true },
  viewer: { all: true, agentId: null, asNamespace: null },
};
export const callerOf = (agentId: string, all = false): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: all, local: false },
  viewer: { all, agentId, asNamespace: null },
});
export const [ONE, TWO, ADMIN] = [callerOf('ai:one'), callerOf('ai:two'), callerOf('ai:admin', true)];

export async function call(node: Pick<HttpNode, 'services'>, name: string, input: Row, caller = TWO) {
  const operation = OPERATIONS.find((known) => known.name === name)!;
  return runOperation(operation, { surface: 'http', caller, input, unknownFields: 'refuse' }, node.services);
}

export async function open(settings: SettingFlags, withHidden = true): Promise<HttpNode> {
  const node = await openHttpNode(settings);
  const row = (id: string, namespace: string, n: number) => ({
    ...{ id, namespace, title: `${WORD} ${n}`, content: `the ${WORD} nests in tower ${n}`, tags: ['bird'] },
    metadata: { agent_id: 'ai:one' },
  });
  const hidden = withHidden ? [row(HIDDEN, 'hidden/a', 2), row(GONE, 'hidden/b', 3)] : [];
  const memories = [row(OPEN, 'open', 1), ...hidden];
  const links = withHidden ? [{ source_id: OPEN, target_id: HIDDEN, relation: 'related_to' }] : [];
  const imported = await call(node, 'memory_import', { memories, links, trust_source: true }, OPERATOR);
  assert.ok(imported.ok && imported.value['failed'] === 0, JSON.stringify(imported));
  if (withHidden) assert.ok((await call(node, 'memory_archive', { ids: [GONE] }, ONE)).ok);
  return node;
}

/** Every read of memories, as the agent asks it. */
export const READS: readonly (readonly [string, Row])[] = [
  ['memory_recall', { context: WORD }],
  ['memory_recall', { context: WORD, namespace: 'hidden/a' }],
  ['memory_recall', { context: WORD, namespace: 'hidden/**', include_archived: true }],
  ['memory_search', { query: WORD, include_archived: true }],
  ['memory_list', {}],
  ['memory_list', { namespace: 'hidden/**' }],
  ['memory_list', { limit: 1 }],
  ['memory_get', { id: OPEN }],
  ['memory_get', { id: HIDDEN }],
  ['memory_get', { id: GONE }],
  ['memory_history', { id: HIDDEN }],
  ['memory_get_links', { id: OPEN }],
  ['memory_get_links', { id: HIDDEN }],
  ['memory_kg_query', { source_id: OPEN, max_depth: 3 }],
  ['memory_kg_timeline', { source_id: OPEN }],
  ['memory_find_paths', { source_id: OPEN, target_id: HIDDEN }],
  ['memory_lineage', { id: HIDDEN }],
  ['memory_dependents_of_invalidated', { memory_id: HIDDEN }],
  ['memory_get_taxonomy', {}],
  ['memory_namespaces', {}],
  ['memory_stats', {}],
  ['memory_session_start', {}],
  ['memory_archive_list', {}],
  ['memory_archive_stats', {}],
  ['memory_check_duplicate', { title: `${WORD} 2`, content: `the ${WORD} nests in tower 2` }],
  ['memory_contradictions', { topic: WORD }],
  ['memory_export', {}],
  ['memory_replay', { memory_id: HIDDEN }],
  ['memory_reflection_origin', { memory_id: HIDDEN }],
  ['memory_load_family', { family: 'core' }],
];

/** What may differ between two nodes: moments, sizes of files, scores that follow from how many rows there are, names of calls. */
const VARYING =
  /^(?:.*_at|score|recall_id|db_size_bytes|.*_ms|as_of|.*bytes.*|rank|age.*|attested_by|meta|tokens_used|confidence.*|cursor|next_cursor|similarity|session_id)$/;
export function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, member]) => (VARYING.test(key) ? [] : [[key, plain(member)]])),
  );
}
