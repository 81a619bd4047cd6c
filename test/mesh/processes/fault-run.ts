import assert from 'node:assert/strict';
import { Dice } from '../../sim/dice.js';
import type { PostgresServer } from '../../support/postgres-server.js';
import { underSeed } from '../../support/seed.js';
import { checkHistory } from './check-history.js';
import { ClientHistory } from './client-history.js';
import { type Faults, Nemesis } from './nemesis.js';
import { type Databases, ProcessMesh } from './process-mesh.js';
import { Writers } from './writers.js';

export interface FaultPlan {
  readonly nodes: number;
  readonly databases?: Databases;
  /** The server of such a database, and how often it is killed. */
  readonly server?: { readonly process: PostgresServer; readonly kills: number };
  readonly kills: number;
  readonly partitions: number;
  readonly stops: number;
  /** The faults after which everything is drained and checked. */
  readonly drainEvery: number;
  readonly drainWithinMs: number;
  /** No fault begins after this. */
  readonly withinMs: number;
}

export interface FaultReport extends Faults {
  readonly drains: number;
  readonly slowestDrainMs: number;
  readonly replicated: number;
  readonly local: number;
  readonly unknown: number;
  readonly refused: number;
  readonly deleted: number;
  readonly conflicts: number;
  readonly revived: number;
}

/**
 * Runs clients against a mesh while nodes are killed, stopped and cut off, and after every few faults drains it and holds
 * every node against what the clients were told; at the end every database against its log. The faults, their order and
 * their lengths follow from a seed.
 */
export const runFaults = (plan: FaultPlan, say: (text: string) => void): Promise<FaultReport> =>
  underSeed((seed) => faultsUnder(seed, plan, say));

async function faultsUnder(seed: number, plan: FaultPlan, say: (text: string) => void): Promise<FaultReport> {
  const mesh = await ProcessMesh.form(plan.nodes, plan.databases);
  try {
    const history = new ClientHistory();
    const writers = new Writers(mesh, history, seed);
    const nemesis = new Nemesis(mesh, seed, plan.server?.process);
    const untilMs = Date.now() + plan.withinMs;
    const todo = new Dice(seed, 'faults').shuffle([
      ...Array.from({ length: plan.kills }, () => 'kill' as const),
      ...Array.from({ length: plan.partitions }, () => 'partition' as const),
      ...Array.from({ length: plan.stops }, () => 'freeze' as const),
      ...Array.from({ length: plan.server?.kills ?? 0 }, () => 'killServer' as const),
    ]);
    let drains = 0;
    let conflicts = 0;
    let revived = 0;
    for (const [index, fault] of todo.entries()) {
      writers.start();
      await nemesis[fault]();
      const last = index === todo.length - 1 || Date.now() > untilMs;
      if (!last && (index + 1) % plan.drainEvery !== 0) continue;
      await writers.stop();
      const tookMs = await mesh.drain(plan.drainWithinMs);
      drains += 1;
      ({ conflicts, revived } = assertKept(mesh, history));
      say(`${index + 1} faults, drained in ${tookMs} ms: ${JSON.stringify(history.tally)}`);
      if (last) break;
    }
    await mesh.end();
    const { replicated, local, unknown, refused } = history.tally;
    const { slowestDrainMs } = mesh;
    const counts = { replicated, local, unknown, refused, deleted: history.deleted, conflicts, revived };
    return { ...nemesis.faults, drains, slowestDrainMs, ...counts };
  } catch (error) {
    (error as Error).message += `\n${mesh.errors()}`;
    throw error;
  } finally {
    await mesh.close();
  }
}

/** Every node has kept what was promised, and all list the same losers. */
export function assertKept(
  mesh: ProcessMesh,
  history: ClientHistory,
): { conflicts: number; revived: number } {
  assert.deepEqual(history.violations, []);
  const found = mesh.nodes.map((node) => checkHistory(node, history));
  assert.deepEqual(
    found.flatMap(({ problems }) => problems.slice(0, 5)),
    [],
  );
  const [first] = found;
  for (const each of found) assert.deepEqual(each.losers, first!.losers);
  return { conflicts: first!.losers.length, revived: first!.kept.revived };
}
