import type { LinkRule } from './fault-proxy.js';
import type { ProcessMesh } from './process-mesh.js';
import { any } from './writers.js';

/** How often what was done to a mesh. */
export interface Faults {
  kills: number;
  stops: number;
  /** By the kind of the rule. */
  readonly partitions: Record<string, number>;
}

const pause = (ms: number) => new Promise((resume) => setTimeout(resume, ms));
const between = (from: number, to: number) => from + Math.random() * (to - from);

const CLOCK_OFFSETS_MS = [0, 20_000, -20_000] as const;
const RULES: readonly (() => LinkRule)[] = [
  () => ({ kind: 'hold' }),
  () => ({ kind: 'drop' }),
  () => ({ kind: 'deaf' }),
  () => ({ kind: 'half-open' }),
  () => ({ kind: 'reset' }),
  () => ({ kind: 'delay', ms: between(50, 900) }),
];

/** Does things to the nodes of a mesh while clients write to them. */
export class Nemesis {
  readonly faults: Faults = { kills: 0, stops: 0, partitions: {} };
  private partitions = 0;

  constructor(private readonly mesh: ProcessMesh) {}

  /** Kills a node at a random moment and starts it again; its clock may be another then. */
  async kill(): Promise<void> {
    await pause(between(50, 400));
    const node = any(this.mesh.live);
    await node.end('SIGKILL');
    this.faults.kills += 1;
    await pause(between(0, 300));
    if (node.name === 'n2') node.clockOffsetMs = any(CLOCK_OFFSETS_MS);
    await node.start();
  }

  /** Stops a node for a while: it is there, and does not answer. */
  async freeze(): Promise<void> {
    const node = any(this.mesh.live);
    node.freeze();
    this.faults.stops += 1;
    await pause(between(500, 3000));
    node.thaw();
    await pause(between(50, 300));
  }

  /** Cuts the network somewhere for a while, each kind of fault in its turn. */
  async partition(): Promise<void> {
    const rule = RULES[this.partitions % RULES.length]!();
    this.partitions += 1;
    const nodes = this.mesh.live;
    const node = any(nodes);
    const other = any(nodes.filter((each) => each !== node));
    const shape = Math.random();
    if (shape < 0.5) this.mesh.isolate(node, rule);
    else this.mesh.rule(node, other, rule);
    // Otherwise one way alone.
    if (shape >= 0.5 && shape < 0.75) this.mesh.rule(other, node, rule);
    this.faults.partitions[rule.kind] = (this.faults.partitions[rule.kind] ?? 0) + 1;
    await pause(between(400, 3500));
    this.mesh.heal();
    await pause(between(50, 300));
  }
}
