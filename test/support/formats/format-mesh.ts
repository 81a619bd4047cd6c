import assert from 'node:assert/strict';
import { ProcessMesh } from '../../mesh/processes/process-mesh.js';
import type { ProcessNode } from '../../mesh/processes/process-node.js';
import { replicaOver } from '../replicas.js';
import { type DatabaseFacts, databaseFacts } from './database-facts.js';
import { HISTORY_STARTS_MS } from './format-cast.js';
import type { ExpectedMesh } from './format-folders.js';
import { openAs } from './format-node.js';

const NODES = 3;
const EQUAL_WITHIN_MS = 30_000;

/** A node answered a request. */
export interface NodeAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/** Asks a running node as a client does; fails unless it does what is asked. */
export async function asked(
  node: ProcessNode,
  method: string,
  path: string,
  body?: object,
): Promise<NodeAnswer> {
  const response = await fetch(`${node.base}${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-agent-id': 'ai:client' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = { status: response.status, body: (await response.json()) as Record<string, unknown> };
  assert.ok(response.ok, `${method} ${path} at ${node.name}: ${JSON.stringify(answer)}`);
  return answer;
}

/** Stores a memory that does not expire; answers its id. */
export async function stored(node: ProcessNode, title: string, namespace: string): Promise<string> {
  const memory = { title, namespace, tier: 'long', content: `${title}, written at ${node.name}` };
  return (await asked(node, 'POST', '/memories', memory)).body['id'] as string;
}

/** What the database of a node holds that does not run. */
export async function heldBy(node: ProcessNode): Promise<DatabaseFacts> {
  const nowMs = Date.now() + node.clockOffsetMs;
  const db = openAs(node.db, node.peerId, nowMs, '00000000feedfeed');
  const { store } = replicaOver(db, nowMs);
  const facts = await databaseFacts(store, db);
  await store.close();
  return JSON.parse(JSON.stringify(facts)) as DatabaseFacts;
}

/**
 * Forms a mesh of real daemons at the time of the histories, writes on every node, also while the others are away, and
 * ends it when all are equal.
 */
export async function writeMesh(): Promise<{ readonly mesh: ProcessMesh; readonly expected: ExpectedMesh }> {
  const mesh = new ProcessMesh();
  try {
    await form(mesh);
    const [first] = mesh.nodes as [ProcessNode];
    const status = JSON.parse(await first.must(['mesh', 'status', '--json'])) as Record<string, string>;
    await write(mesh.nodes as [ProcessNode, ProcessNode, ProcessNode], mesh);
    await mesh.drain(EQUAL_WITHIN_MS);
    await mesh.end();
    const held = await Promise.all(mesh.nodes.map(heldBy));
    const [facts, ...others] = held.map(({ memories, links, tombstones, conflicts, log }) => {
      return { memories, links, tombstones, conflicts, log };
    });
    for (const other of others) assert.deepEqual(sorted(other), sorted(facts!));
    const { mesh_id, certificate_expires } = status as { mesh_id: string; certificate_expires: string };
    const peer_ids = mesh.nodes.map(({ peerId }) => peerId);
    return { mesh, expected: { mesh_id, peer_ids, certificates_expire: certificate_expires, facts: facts! } };
  } finally {
    await mesh.close();
  }
}

const sorted = (facts: Pick<DatabaseFacts, 'memories' | 'links'>) => [facts.memories, facts.links];

async function form(mesh: ProcessMesh): Promise<void> {
  const clockOffsetMs = HISTORY_STARTS_MS - Date.now();
  for (let number = 0; number < NODES; number += 1) {
    const node = await mesh.make();
    node.clockOffsetMs = clockOffsetMs;
    await mesh.join(node);
    await node.start();
  }
}

async function write(nodes: readonly [ProcessNode, ProcessNode, ProcessNode], mesh: ProcessMesh) {
  const [one, two, three] = nodes;
  const ids: string[] = [];
  for (const node of nodes)
    for (const title of ['first', 'second', 'third'])
      ids.push(await stored(node, `${title} of ${node.name}`, `team/${node.name}`));
  const shared = await stored(one, 'Edited on all sides', 'team');
  await importLinks(two, [ids[0]!, ids[3]!], [ids[4]!, ids[8]!]);
  await mesh.drain(EQUAL_WITHIN_MS);
  await asked(two, 'PUT', `/memories/${ids[0]}`, { content: 'edited at another node' });
  await asked(three, 'DELETE', `/memories/${ids[1]}`);
  await mesh.drain(EQUAL_WITHIN_MS);
  // Each writes while the others are away.
  for (const node of nodes) await node.end('SIGTERM');
  for (const node of nodes) {
    await node.start();
    await asked(node, 'PUT', `/memories/${shared}`, { content: `edited at ${node.name}` });
    await stored(node, 'One title', 'team');
    await stored(node, `Alone at ${node.name}`, 'team');
    await node.end('SIGTERM');
  }
  await two.start();
  await asked(two, 'DELETE', `/memories/${ids[6]}`);
  await two.end('SIGTERM');
}

/** Imports links between memories that a node has. */
async function importLinks(node: ProcessNode, ...pairs: readonly (readonly [string, string])[]) {
  const links = pairs.map(([source_id, target_id]) => ({ source_id, target_id, relation: 'depends_on' }));
  await node.must(['import', '-', '--trust-source'], JSON.stringify({ memories: [], links }));
}
