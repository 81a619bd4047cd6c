import { Dice } from '../../sim/dice.js';
import type { PostgresServer } from '../../support/postgres-server.js';
import type { LinkRule } from './fault-proxy.js';
import type { ProcessMesh } from './process-mesh.js';

/** How often what was done to a mesh. */
export interface Faults {
  kills: number;
  stops: number;
  /** Of the server that holds the database of a node. */
  serverKills: number;
  /** By the kind of the rule. */
  readonly partitions: Record<string, number>;
}

const pause = (ms: number) => new Promise((resume) => setTimeout(resume, ms));

const CLOCK_OFFSETS_MS = [0, 20_000, -20_000] as const;
const RULES: readonly ((dice: Dice) => LinkRule)[] = [
  () => ({ kind: 'hold' }),
  () => ({ kind: 'drop' }),
  () => ({ kind: 'deaf' }),
  () => ({ kind: 'half-open' }),
  () => ({ kind: 'reset' }),
  (dice) => ({ kind: 'delay', ms: dice.between(50, 900) }),
];

/**
 * Does things to the nodes of a mesh while clients write to them. Which nodes, how and for how long follows from a seed;
 * what the nodes are at in that moment does not.
 */
export class Nemesis {
  readonly faults: Faults = { kills: 0, stops: 0, serverKills: 0, partitions: {} };
  private partitions = 0;

  private readonly dice: Dice;

  constructor(
    private readonly mesh: ProcessMesh,
    seed: number,
    private readonly server?: PostgresServer,
  ) {
    this.dice = new Dice(seed, 'nemesis');
  }

  /** Kills a node at a drawn moment and starts it again; its clock may be another then. */
  async kill(): Promise<void> {
    await pause(this.dice.between(50, 400));
    const node = this.dice.pick(this.mesh.live);
    await node.end('SIGKILL');
    this.faults.kills += 1;
    await pause(this.dice.between(0, 300));
    if (node.name === 'n2') node.clockOffsetMs = this.dice.pick(CLOCK_OFFSETS_MS);
    await node.start();
  }

  /** Kills the server of a node's database, and starts it again. */
  async killServer(): Promise<void> {
    await pause(this.dice.between(50, 400));
    await this.server!.kill();
    this.faults.serverKills += 1;
    await pause(this.dice.between(50, 1500));
    await this.server!.restart();
  }

  /** Stops a node for a while: it is there, and does not answer. */
  async freeze(): Promise<void> {
    const node = this.dice.pick(this.mesh.live);
    node.freeze();
    this.faults.stops += 1;
    await pause(this.dice.between(500, 3000));
    node.thaw();
    await pause(this.dice.between(50, 300));
  }

  /** Cuts the network somewhere for a while, each kind of fault in its turn. */
  async partition(): Promise<void> {
    const rule = RULES[this.partitions % RULES.length]!(this.dice);
    this.partitions += 1;
    const nodes = this.mesh.live;
    const node = this.dice.pick(nodes);
    const other = this.dice.pick(nodes.filter((each) => each !== node));
    const shape = this.dice.unit();
    if (shape < 0.5) this.mesh.isolate(node, rule);
    else this.mesh.rule(node, other, rule);
    // Otherwise one way alone.
    if (shape >= 0.5 && shape < 0.75) this.mesh.rule(other, node, rule);
    this.faults.partitions[rule.kind] = (this.faults.partitions[rule.kind] ?? 0) + 1;
    await pause(this.dice.between(400, 3500));
    this.mesh.heal();
    await pause(this.dice.between(50, 300));
  }
}
