import assert from 'node:assert/strict';
import { EDGE_TYPES } from '../../../protocol/coordination/edge-kind.js';
import { Dice } from '../../sim/dice.js';
import { underSeed } from '../../support/seed.js';
import { openBeside } from '../../support/test-store.js';
import { ProcessMesh } from './process-mesh.js';
import { type Fields, type Held, SHORT_LEASE_SECS, WorkingAgent } from './working-agent.js';

const NAMESPACE = 'team/backlog';
const AGENTS = ['ai:ann', 'ai:ben', 'ai:cem'] as const;
const DRAIN_WITHIN_MS = 60_000;

export interface WorkPlan {
  readonly actions: number;
  /** Agents that are killed while they hold a lease: in which state of the action, and after how many that they ended. */
  readonly deaths: readonly { readonly agent: number; readonly after: number; readonly state: string }[];
}

export interface WorkReport {
  readonly done: Readonly<Record<string, number>>;
  readonly refusals: Readonly<Record<string, number>>;
  readonly edges: number;
  readonly formedMs: number;
  readonly tookMs: number;
}

/** An action, by its place, that must come before another one. */
interface DrawnEdge {
  readonly early: number;
  readonly late: number;
  readonly type: (typeof EDGE_TYPES)[number];
}

/**
 * Lets three agents, each at a node of its own, work through a backlog with an order, kills some of them over their work,
 * and holds what was done against what the agents were told, against the order, and the boards against each other.
 */
export const letAgentsWork = (plan: WorkPlan): Promise<WorkReport> =>
  underSeed((seed) => workUnder(new Dice(seed, 'backlog'), plan));

async function workUnder(dice: Dice, plan: WorkPlan): Promise<WorkReport> {
  const formingMs = performance.now();
  const mesh = await ProcessMesh.form(AGENTS.length);
  const formedMs = Math.round(performance.now() - formingMs);
  const agents = AGENTS.map((id, index) => new WorkingAgent(id, mesh.nodes[index]!, NAMESPACE));
  const ghosts: WorkingAgent[] = [];
  try {
    await Promise.all(agents.map((agent) => agent.start()));
    const { ids, edges } = await makeBacklog(mesh, agents, dice, plan.actions);
    const beganMs = performance.now();
    await workOff(mesh, agents, plan, ghosts);
    const tookMs = Math.round(performance.now() - beganMs);
    assertLogs(agents, ids, edges);
    await mesh.drain(DRAIN_WITHIN_MS);
    await assertBoards(agents, ids, mesh);
    for (const agent of agents) if (agent.died === null) await agent.end();
    await mesh.end();
    for (const { db } of mesh.nodes) assertHistory(db, ids, edges);
    return { ...reportOf(agents), edges: edges.length, formedMs, tookMs };
  } catch (error) {
    (error as Error).message += `\n${mesh.errors()}`;
    throw error;
  } finally {
    for (const agent of [...agents, ...ghosts]) agent.close();
    await mesh.close();
  }
}

/** Actions of drawn priorities, each made by one of the agents, and edges between them that form no cycle. */
async function makeBacklog(
  mesh: ProcessMesh,
  agents: readonly WorkingAgent[],
  dice: Dice,
  count: number,
): Promise<{ readonly ids: readonly string[]; readonly edges: readonly DrawnEdge[] }> {
  const ids: string[] = [];
  for (let place = 0; place < count; place += 1) {
    const made = await dice.pick(agents).run('memory_action_create', {
      ...{ namespace: NAMESPACE, kind: 'build', title: `part ${place}`, priority: dice.below(5) },
      payload: { place },
    });
    ids.push(String(made['id']));
  }
  await mesh.drain(DRAIN_WITHIN_MS);
  const edges: DrawnEdge[] = [];
  for (let late = 1; late < count; late += 1) {
    for (const early of new Set([late - 1 - dice.below(Math.min(late, 12)), dice.below(late)]))
      if (dice.chance(0.5)) edges.push({ early, late, type: dice.pick(EDGE_TYPES) });
  }
  for (const { early, late, type } of edges) {
    const isBackward = type === 'requires' || type === 'gated_by';
    const [from, to] = isBackward ? [late, early] : [early, late];
    await dice.pick(agents).run('memory_action_add_edge', {
      ...{ from_action: ids[from], to_action: ids[to], edge_type: type },
    });
  }
  await mesh.drain(DRAIN_WITHIN_MS);
  return { ids, edges: edges.filter(({ type }) => type !== 'sibling') };
}

async function workOff(
  mesh: ProcessMesh,
  agents: readonly WorkingAgent[],
  { deaths }: WorkPlan,
  ghosts: WorkingAgent[],
): Promise<void> {
  const mayDie = (agent: WorkingAgent, state: string): boolean => {
    const death = deaths.find((each) => agents[each.agent] === agent);
    if (death === undefined || doneBy(agent).length < death.after) return false;
    return state === 'pending' || state === death.state;
  };
  const tookOver = async (agent: WorkingAgent, held: Held): Promise<void> => {
    const index = agents.findIndex(({ last }) => last?.action === held.action);
    const before = agents[index]?.last ?? assert.fail(`${agent.id} took ${held.action} that nobody left`);
    assertLater(held, before);
    const ghost = new WorkingAgent(AGENTS[index]!, mesh.nodes[index]!, NAMESPACE);
    ghosts.push(ghost);
    await assertFenced(ghost, before);
  };
  await Promise.all(agents.map((agent) => agent.work(mayDie, tookOver)));
  for (const { agent } of deaths) {
    const died = agents[agent]!.died ?? assert.fail(`${AGENTS[agent]} never died`);
    const line = agents.flatMap(doneBy).find(({ action }) => action === died.action);
    if (line !== undefined) assertLater(line, died);
  }
}

/** Nobody goes on with an action of an agent that is gone before its lease has ended. */
function assertLater(next: Pick<Held, 'token' | 'answeredMs'>, before: Held): void {
  assert.ok(next.answeredMs - before.sentMs >= SHORT_LEASE_SECS * 1000, 'the lease ended too early');
  assert.ok(next.token > before.token, 'the token did not grow');
}

/** What comes back of an agent that is gone is refused, whoever holds the lease now. */
async function assertFenced(ghost: WorkingAgent, { action: id, token }: Held): Promise<void> {
  await ghost.start();
  for (const fencing of [{ fencing_token: token }, {}]) {
    const { code } = await ghost.call('memory_action_transition', { id, to: 'done', ...fencing });
    assert.equal(code, 'fencing_token' in fencing ? 'LEASE_LOST' : 'NOT_LEASE_HOLDER');
  }
  await ghost.end();
}

const doneBy = ({ log }: WorkingAgent) => log.filter(({ to }) => to === 'done');
const endsAs = (type: DrawnEdge['type']) => (type === 'blocks' ? 'ended' : 'done');

/** Each action is done once, and was claimed when what it waits for was on its way to be done. */
function assertLogs(
  agents: readonly WorkingAgent[],
  ids: readonly string[],
  edges: readonly DrawnEdge[],
): void {
  const done = agents.flatMap(doneBy);
  assert.deepEqual(done.map(({ action }) => action).sort(), [...ids].sort());
  const sentMs = new Map(done.map((line) => [line.action, line.sentMs]));
  const claims = agents.flatMap(({ log }) => log.filter(({ to }) => to === 'claimed'));
  for (const { early, late, type } of edges) {
    const first = sentMs.get(ids[early]!)!;
    for (const { answeredMs } of claims.filter(({ action }) => action === ids[late]))
      assert.ok(answeredMs > first, `part ${late} was claimed before part ${early} had ${endsAs(type)}`);
  }
}

/** The boards of all nodes are equal, all done, and without a lease. */
async function assertBoards(
  agents: readonly WorkingAgent[],
  ids: readonly string[],
  mesh: ProcessMesh,
): Promise<void> {
  const boards: unknown[] = [];
  for (const [index, agent] of agents.entries()) {
    const reader = agent.died === null ? agent : new WorkingAgent('ai:reader', mesh.nodes[index]!, NAMESPACE);
    if (reader !== agent) await reader.start();
    const actions = await allActions(reader);
    const edges: unknown[] = [];
    for (const id of ids) {
      edges.push((await reader.run('memory_action_edges', { id }))['edges']);
      assert.deepEqual(await reader.run('memory_lease_get', { action_id: id }), { lease: null });
    }
    boards.push({ actions, edges });
    if (reader !== agent) await reader.end();
  }
  const [first, ...others] = boards as { actions: readonly Fields[] }[];
  for (const other of others) assert.deepEqual(other, first);
  assert.deepEqual(first!.actions.map(({ id }) => id).sort(), [...ids].sort());
  assert.ok(first!.actions.every(({ state }) => state === 'done'));
}

async function allActions(agent: WorkingAgent): Promise<readonly Fields[]> {
  const actions: Fields[] = [];
  for (let page: Fields = {}; ; ) {
    const listed = await agent.run('memory_action_list', { namespace: NAMESPACE, limit: 50, ...page });
    actions.push(...(listed['actions'] as readonly Fields[]));
    if (listed['next'] === undefined) return actions;
    page = { after: listed['next'] };
  }
}

/** In the log each action has one operation that ends it, and is claimed after all that it waits for, by cause and effect. */
function assertHistory(path: string, ids: readonly string[], edges: readonly DrawnEdge[]): void {
  const db = openBeside({ path });
  const rows = db
    .prepare("SELECT hlc, payload FROM operations WHERE kind = 'action.put' ORDER BY hlc")
    .all() as {
    hlc: string;
    payload: string;
  }[];
  db.close();
  const moves = new Map<string, string[]>();
  for (const { hlc, payload } of rows) {
    const { action_id, state } = JSON.parse(payload) as { action_id: string; state: string };
    const key = `${action_id} ${state}`;
    moves.set(key, [...(moves.get(key) ?? []), hlc]);
  }
  for (const id of ids) assert.equal(moves.get(`${id} done`)?.length, 1, `operations that end ${id}`);
  for (const { early, late } of edges) {
    const [done] = moves.get(`${ids[early]} done`)!;
    for (const claim of moves.get(`${ids[late]} claimed`)!)
      assert.ok(claim > done!, `part ${late} was claimed before part ${early} was done`);
  }
}

function reportOf(agents: readonly WorkingAgent[]): Pick<WorkReport, 'done' | 'refusals'> {
  const refusals: Record<string, number> = {};
  for (const agent of agents)
    for (const [code, count] of agent.refusals) refusals[code] = (refusals[code] ?? 0) + count;
  return { done: Object.fromEntries(agents.map((agent) => [agent.id, doneBy(agent).length])), refusals };
}
