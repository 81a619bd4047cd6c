import type { Caller } from '../../node/identity/caller.js';
import { type Damage, spoil, Wounds } from './damage.js';
import type { Dice } from './dice.js';
import { FAIR, type SimNetwork } from './network.js';
import type { SimNode } from './sim-node.js';
import type { World } from './world.js';

/** What can go wrong in a run. Each seed has some of them, so that no fault hides another for ever. */
export const FAULTS = [
  'loss',
  'lost-answers',
  'duplicates',
  'replays',
  'slow-messages',
  'partition',
  'one-way',
  'clog',
  'crash',
  'crash-at-sync',
  'freeze',
  'slow-sync',
  'full-disk',
  'failed-sync',
  'clock-jump',
  'old-backup',
  'lost-disk',
  'damage',
  'join',
  'leave',
  'adopt',
] as const;
export type Fault = (typeof FAULTS)[number];

/** Faults that lose what was durable; a run has at most one of them, because W disks must not be lost. */
export const LOSING: ReadonlySet<Fault> = new Set(['old-backup', 'lost-disk', 'damage', 'leave']);

export interface FaultsParts {
  readonly world: World;
  readonly network: SimNetwork;
  /** Founders and those who may join. */
  readonly nodes: readonly SimNode[];
  readonly enabled: readonly Fault[];
  /** Mean time between two faults. */
  readonly everyMs: number;
  /** Disks that may be lost or put back in this run. */
  readonly disksLostMax: number;
  /** A node's disk is no longer what it was. */
  readonly onDiskLost: (node: SimNode) => void;
  /** A node is no member any more. */
  readonly onLeft: (node: SimNode) => void;
  /** Kinds of damage. */
  readonly damages: readonly Damage[];
  /** Something on a node's disk is not what was written. */
  readonly onDamaged: (node: SimNode) => void;
  /** True for an operation that is durable on another node as well. */
  readonly hasSpare: (node: SimNode, operation: string) => boolean;
}

/** A choice of faults for a seed. */
export function chooseFaults(dice: Dice): Fault[] {
  if (dice.chance(0.05)) return [];
  const chance = dice.between(0.2, 0.7);
  const chosen = FAULTS.filter((fault) => dice.chance(LOSING.has(fault) ? 0.12 : chance));
  const losing = chosen.filter((fault) => LOSING.has(fault));
  return chosen.filter((fault) => !LOSING.has(fault) || fault === losing[0]);
}

const OPERATOR: Caller = {
  agentId: 'operator',
  claimed: 'explicit',
  viewer: { all: true, agentId: 'operator', asNamespace: null },
  admin: true,
  local: true,
};

/** Makes faults happen until it is told to heal. */
export class Faults {
  private readonly dice: Dice;
  private readonly backups = new Map<string, Buffer>();
  private healed = false;
  private disksLost = 0;
  private damaged: SimNode | null = null;
  private readonly wounds = new Wounds();
  /** How often each happened. */
  readonly counts: Partial<Record<Fault, number>> = {};

  constructor(readonly parts: FaultsParts) {
    this.dice = parts.world.dice('faults');
  }

  start(): void {
    this.weather();
    this.next();
  }

  /** Everything is repaired: the network, the clocks, the disks, and every node runs. */
  async heal(): Promise<void> {
    this.healed = true;
    const { network, nodes, world } = this.parts;
    network.calm();
    for (const node of nodes) {
      world.thaw(node.name);
      node.nextCrash = null;
      node.disk.failNextCommit = false;
      node.disk.empty();
      Object.assign(node.pace, { syncMinMs: 0.2, syncMaxMs: 3 });
      node.parts.wall.correct();
    }
    if (this.damaged !== null && this.parts.damages.includes('row changed'))
      this.spoil(this.damaged, 'row changed');
    for (const node of nodes) if (node.standing === 'member') await node.start();
  }

  private weather(): void {
    const { network, enabled } = this.parts;
    const { dice } = this;
    const has = (fault: Fault) => enabled.includes(fault);
    Object.assign(network.weather, FAIR, {
      loss: has('loss') ? dice.between(0, 0.15) : 0,
      lostAnswers: has('lost-answers') ? dice.between(0, 0.15) : 0,
      duplicates: has('duplicates') ? dice.between(0, 0.1) : 0,
      replays: has('replays') ? dice.between(0, 0.05) : 0,
      slow: has('slow-messages') ? dice.between(0, 0.1) : 0,
      slowMs: dice.between(100, 4000),
      delayMaxMs: dice.between(2, 60),
    });
  }

  private next(): void {
    const pauseMs = -Math.log(1 - this.dice.unit()) * this.parts.everyMs;
    this.parts.world.after(pauseMs, null, 'fault', () => {
      if (this.healed) return;
      this.strike();
      this.next();
    });
  }

  private strike(): void {
    const { enabled, nodes, world } = this.parts;
    if (enabled.length === 0) return;
    const fault = this.dice.pick(enabled);
    const node = this.dice.pick(nodes.filter(({ standing }) => standing === 'member'));
    this.counts[fault] = (this.counts[fault] ?? 0) + 1;
    world.note(node.name, `fault ${fault}`);
    this.happen(fault, node);
  }

  private happen(fault: Fault, node: SimNode): void {
    const { dice } = this;
    const { network } = this.parts;
    switch (fault) {
      case 'loss':
      case 'lost-answers':
      case 'duplicates':
      case 'replays':
      case 'slow-messages':
        this.weather();
        break;
      case 'partition':
        this.partition();
        break;
      case 'one-way': {
        const to = dice.pick(this.parts.nodes);
        network.cut(node.name, to.name);
        this.later(dice.between(500, 8000), () => network.mend());
        break;
      }
      case 'clog':
        network.clog(node.name, dice.pick(this.parts.nodes).name, dice.between(200, 6000));
        break;
      case 'crash':
        node.crash();
        this.restart(node);
        break;
      case 'crash-at-sync':
        node.nextCrash = dice.pick(['before', 'after']);
        this.restart(node);
        break;
      case 'freeze': {
        this.parts.world.freeze(node.name);
        this.later(dice.between(100, 9000), () => this.parts.world.thaw(node.name));
        break;
      }
      case 'slow-sync':
        Object.assign(node.pace, { syncMinMs: 20, syncMaxMs: dice.between(50, 1500) });
        this.later(dice.between(500, 8000), () => Object.assign(node.pace, { syncMinMs: 0.2, syncMaxMs: 3 }));
        break;
      case 'full-disk':
        node.disk.fill();
        this.later(dice.between(500, 8000), () => node.disk.empty());
        break;
      case 'failed-sync':
        node.disk.failNextCommit = true;
        break;
      case 'clock-jump':
        // With the offsets of both, two clocks differ by less than what peers refuse.
        node.parts.wall.jump(dice.between(-12_000, 12_000));
        break;
      case 'old-backup':
        this.oldBackup(node);
        break;
      case 'lost-disk':
        this.lostDisk(node);
        break;
      case 'damage':
        if (this.damaged === null && !this.mayLose()) break;
        this.damaged ??= node;
        this.spoil(this.damaged, dice.pick(this.parts.damages));
        break;
      case 'join':
        this.join();
        break;
      case 'leave':
        this.leave(node);
        break;
      case 'adopt':
        this.adopt(node);
        break;
    }
  }

  private spoil(node: SimNode, damage: Damage): void {
    if (node.disk.held) return;
    const spare = (operation: string) => this.parts.hasSpare(node, operation);
    const what = spoil(node.disk.db, this.dice, damage, this.wounds, spare);
    if (what === null) return;
    this.parts.world.note(node.name, `${damage}: ${what}`);
    this.parts.onDamaged(node);
  }

  /** Somebody new comes; each of the others hears of it in its own time. */
  private join(): void {
    const { nodes } = this.parts;
    const fresh = nodes.find(({ standing }) => standing === 'outside');
    if (fresh === undefined) return;
    fresh.standing = 'member';
    for (const other of nodes)
      if (other !== fresh && other.standing !== 'outside') fresh.roster.set(other.peer);
    this.tell(fresh);
    void fresh.start();
  }

  /** A node is removed. It is not told, and goes on for a while. */
  private leave(node: SimNode): void {
    const members = this.parts.nodes.filter(({ standing }) => standing === 'member');
    if (members.length < 3 || !this.mayLose()) return;
    node.standing = 'departed';
    this.parts.onLeft(node);
    this.tell(node);
    this.later(this.dice.between(0, 10_000), () => node.crash());
  }

  /** An operator gives up a node, rightly or not: another one becomes the home of its subjects. */
  private adopt(home: SimNode): void {
    const lost = this.dice.pick(this.parts.nodes.filter((node) => node !== home));
    if (!home.up || home.parts.scope !== null || lost.standing === 'outside') return;
    void home.operate('sim_adopt', { peer: lost.peerId }, OPERATOR);
  }

  private tell(about: SimNode): void {
    for (const other of this.parts.nodes) {
      if (other === about) continue;
      this.later(this.dice.between(0, 3000), () => other.roster.set(about.peer));
    }
  }

  private partition(): void {
    const { nodes, network } = this.parts;
    const order = this.dice.shuffle(nodes);
    const size = 1 + this.dice.below(Math.max(1, nodes.length - 1));
    for (const left of order.slice(0, size)) {
      for (const right of order.slice(size)) {
        network.cut(left.name, right.name);
        network.cut(right.name, left.name);
      }
    }
    this.later(this.dice.between(500, 10_000), () => network.mend());
  }

  private restart(node: SimNode): void {
    this.later(this.dice.between(50, 6000), () => {
      if (node.standing === 'member') void node.start();
    });
  }

  /** Today's backup is taken now and put back later, with everything since then lost on this disk. */
  private oldBackup(node: SimNode): void {
    const image = this.backups.get(node.name);
    if (image === undefined) {
      if (!node.disk.held) this.backups.set(node.name, node.disk.backup());
      return;
    }
    if (!this.mayLose()) return;
    node.crash();
    node.disk.restore(image);
    this.parts.onDiskLost(node);
    this.restart(node);
  }

  private lostDisk(node: SimNode): void {
    if (!this.mayLose()) return;
    node.crash();
    node.disk.replace(node.freshEpoch(), node.parts.wall.nowMs());
    this.parts.onDiskLost(node);
    this.restart(node);
  }

  private mayLose(): boolean {
    if (this.disksLost >= this.parts.disksLostMax) return false;
    this.disksLost += 1;
    return true;
  }

  private later(delayMs: number, run: () => void): void {
    this.parts.world.after(delayMs, null, 'fault-ends', run);
  }
}
