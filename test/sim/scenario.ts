import { hasActions } from './action-calls.js';
import { Checks } from './checks.js';
import { DAMAGES, type Damage } from './damage.js';
import { checkPromises, differences } from './end-checks.js';
import { chooseFaults, type Fault, Faults } from './faults.js';
import { checkHomes } from './home-checks.js';
import { checkLeases } from './lease-checks.js';
import { Ledger } from './ledger.js';
import type { Mutant } from './mutant.js';
import { SimNetwork } from './network.js';
import { type JoinMesh, SimNode } from './sim-node.js';
import { SimKeys, WallClock } from './sim-seams.js';
import { Workload } from './workload.js';
import { type Violation, World } from './world.js';

/** What a seed is asked for; everything else follows from it. */
export interface Scenario {
  readonly seed: number | string;
  readonly join: JoinMesh;
  readonly mutant?: Mutant | null;
  readonly keepNotes?: boolean;
  /** Instead of what the seed chooses. */
  readonly faults?: readonly Fault[];
  /** Instead of all kinds of damage; nobody scrubs then, so that only what nodes find in each other's rows is repaired. */
  readonly damages?: readonly Damage[];
  readonly nodes?: number;
  /** Virtual milliseconds under faults. */
  readonly faultyMs?: number;
  /** Leaves out healing and what is demanded after it. */
  readonly safetyOnly?: boolean;
}

export interface Outcome {
  readonly seed: number | string;
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly notes: readonly string[];
  readonly nodes: number;
  readonly faults: readonly Fault[];
  readonly struck: Readonly<Record<string, number>>;
  readonly virtualMs: number;
  readonly events: number;
  readonly messages: number;
  readonly calls: number;
  readonly answered: number;
  readonly quorumAnswers: number;
  readonly operations: number;
}

/** What a node with a scope may hold, of the namespaces that clients write to. */
const NARROW_SCOPE = ['alpha/**'];
const FAULTY_MS = 45_000;
/** How long after the last fault a mesh may take to become one. */
const CONVERGE_WITHIN_MS = 90_000;
const SCRUB_AFTER_MS = 4000;
const LOOK_EVERY_MS = 500;
const AT_LEAST_MS = 60_000;
/** 2026-03-01, so that no day or month is special. */
const EPOCH_MS = 1_772_323_200_000;

/** Runs one seed: a mesh under faults, then its healing, with every check on the way. */
export async function runScenario(scenario: Scenario): Promise<Outcome> {
  const { seed, join } = scenario;
  const mutant = scenario.mutant ?? null;
  const damages = scenario.damages ?? mutant?.damages ?? null;
  const world = new World(seed, scenario.keepNotes ?? false);
  const dice = world.dice('scenario');
  const network = new SimNetwork(world);
  const keys = new SimKeys();
  const ledger = new Ledger();
  const count = scenario.nodes ?? 3 + Math.floor(dice.unit() ** 2 * 5);
  const skewed = dice.chance(0.7);
  const quota = dice.chance(0.2) ? { maxMemoriesPerDay: 25 } : {};
  const late = dice.chance(0.25) ? 1 : 0;
  const narrow = dice.chance(0.15);
  const nodes: SimNode[] = [];
  const checks = new Checks({ world, nodes, ledger });
  for (let index = 0; index < count + late; index += 1) {
    const offsetMs = skewed ? dice.between(-15_000, 15_000) : 0;
    const drift = skewed ? dice.between(-20, 20) : 0;
    nodes.push(
      new SimNode({
        world,
        network,
        keys,
        name: `n${index}`,
        join,
        mutant,
        scope: narrow && index === count - 1 ? NARROW_SCOPE : null,
        wall: new WallClock(world, EPOCH_MS, offsetMs, drift),
        settings: {
          maxMemoriesPerDay: 1e9,
          maxStorageBytes: 1e12,
          maxLinksPerDay: 1e9,
          maxRegistrationsPerDay: 1e9,
          ...quota,
        },
        quorumWrites: 1 + dice.below(count),
        onCommit: (node, batch, results) => checks.onCommit(node, batch, results),
        onBug: (node, stack) => checks.onBug(node, stack),
      }),
    );
  }
  for (const node of nodes.slice(count)) node.standing = 'outside';
  for (const node of nodes)
    for (const other of nodes.slice(0, count))
      if (other !== node && node.standing === 'member') node.roster.set(other.peer);
  const workload = new Workload({
    world,
    nodes,
    ledger,
    clients: 1 + dice.below(4),
    thinkMs: dice.between(200, 900),
    titles: 4 + dice.below(16),
    hasActions: hasActions(world, mutant),
    onAnswer: (invocation) => checks.onAnswer(invocation),
  });
  const faults = new Faults({
    world,
    network,
    nodes,
    enabled: scenario.faults ?? mutant?.faults ?? chooseFaults(dice),
    everyMs: dice.between(400, 3000),
    disksLostMax: 1,
    onDiskLost: (node) => checks.forget(node),
    damages: damages ?? DAMAGES,
    onLeft: (node) => checks.left.add(node.name),
    onDamaged: (node) => checks.damaged.add(node.name),
    hasSpare: (node, id) => {
      const operation = ledger.operations.get(id);
      return operation !== undefined && checks.copiesOf(operation).some((name) => name !== node.name);
    },
  });
  network.onDelivery = (delivery) => checks.onDelivery(delivery);
  const enabled = faults.parts.enabled;

  world.after(0, null, 'begin', () => {
    for (const node of nodes.slice(0, count)) void node.start();
    workload.start();
    faults.start();
  });
  await world.run(scenario.faultyMs ?? FAULTY_MS);
  if (world.violations.length === 0 && scenario.safetyOnly !== true) await converge();
  if (world.violations.length === 0 && scenario.safetyOnly !== true) await finish();
  for (const node of nodes) node.disk.close();
  return {
    seed,
    digest: world.digest(),
    violations: world.violations,
    notes: world.notes,
    nodes: nodes.filter(({ standing }) => standing !== 'outside').length,
    faults: enabled,
    struck: faults.counts,
    virtualMs: world.nowMs,
    events: world.events,
    messages: network.delivered,
    calls: workload.history.length,
    answered: workload.history.filter(({ answer }) => answer !== null).length,
    quorumAnswers: checks.quorumAnswers,
    operations: ledger.operations.size,
  };

  function members(): SimNode[] {
    return nodes.filter(({ standing }) => standing === 'member');
  }

  /** Damaged disks are scrubbed until nothing is lost, as long as the mesh has time to heal. */
  function scrubbing(): void {
    world.after(SCRUB_AFTER_MS, null, 'scrub', () => {
      for (const node of nodes.filter(({ name }) => checks.damaged.has(name))) {
        void node.scrub().then((lost) => {
          world.note(node.name, `scrubbed, lost ${lost.join(' ')}`);
          if (lost.length === 0) checks.damaged.delete(node.name);
          else scrubbing();
        });
      }
    });
  }

  async function converge(): Promise<void> {
    workload.stop();
    world.after(0, null, 'heal', () => {
      void faults.heal().then(() => (damages === null ? scrubbing() : undefined));
    });
    const untilMs = world.nowMs + CONVERGE_WITHIN_MS;
    let left: string[] = ['not looked yet'];
    while (left.length > 0 && world.nowMs < untilMs && world.violations.length === 0) {
      left = ['the look was not answered'];
      world.after(LOOK_EVERY_MS, null, 'look', () => {
        void differences(members()).then((found) => {
          const unscrubbed = damages === null ? [...checks.damaged] : [];
          left = [...found, ...unscrubbed.map((name) => `${name} is not scrubbed`)];
        });
      });
      await world.run(world.nowMs + LOOK_EVERY_MS + 50);
    }
    if (damages !== null) checks.damaged.clear();
    for (const difference of left) world.violate(null, 'liveness', difference);
    if (left.length === 0) await world.run(Math.max(AT_LEAST_MS, world.nowMs));
  }

  async function finish(): Promise<void> {
    let done = false;
    world.after(0, null, 'judge', () => {
      void (async () => {
        const again = await differences(members());
        for (const difference of again) world.violate(null, 'stability', difference);
        const whole = members().filter(({ parts }) => parts.scope === null);
        await checkPromises({ world, nodes: whole, ledger, history: workload.history, checks });
        checkHomes({ world, nodes: whole, ledger, history: workload.history, checks });
        checkLeases({ world, nodes: whole, ledger, history: workload.history, checks });
        for (const node of members()) checks.audit(node);
        for (const node of nodes) {
          for (const left of await node.stop()) world.violate(node.name, 'left after stop', left);
        }
      })().then(
        () => {
          done = true;
        },
        (error: unknown) => {
          done = true;
          world.violate(null, 'exception', error instanceof Error ? (error.stack ?? '') : String(error));
        },
      );
    });
    await world.run(world.nowMs + 30_000, () => done);
    if (!done) world.violate(null, 'stop', 'the mesh did not stop within 30 s');
  }
}
