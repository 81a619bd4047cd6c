import { Dice } from '../../sim/dice.js';
import type { ClientHistory, ClientRow } from './client-history.js';
import type { ProcessMesh } from './process-mesh.js';
import type { ProcessNode } from './process-node.js';

export const WRITERS = 8;
const SHARED_ROWS = 12;
const OWN_ROWS_MAX = 40;
const BULK_ROWS = 5;
/** Between two writes of one client, so that the faults and not the machine decide what happens. */
const PAUSE_MS = 15;

/** A row of one client, and the node that it came from. */
interface OwnRow {
  readonly row: ClientRow;
  readonly node: ProcessNode;
}

/**
 * Clients that write through all nodes at once: rows of their own, and rows that they share. What each of them draws
 * follows from a seed; how many writes it comes to does not.
 */
export class Writers {
  private running = false;
  private ended: Promise<unknown> = Promise.resolve();
  private readonly shared: ClientRow[] = [];
  private titles = 0;
  /** The writes of each client so far. */
  private readonly written = Array.from({ length: WRITERS }, () => 0);

  constructor(
    private readonly mesh: ProcessMesh,
    private readonly history: ClientHistory,
    private readonly seed: number,
  ) {}

  start(): void {
    if (this.running) return;
    this.running = true;
    this.ended = Promise.all(Array.from({ length: WRITERS }, (_, writer) => this.write(writer)));
  }

  /** Resolves when the last answer has come. */
  async stop(): Promise<void> {
    this.running = false;
    await this.ended;
  }

  /** One client, until all are to end. */
  private async write(writer: number): Promise<void> {
    const own: OwnRow[] = [];
    while (this.running) {
      this.written[writer]! += 1;
      // Of each write, so that no answer shifts what is drawn later.
      const dice = new Dice(this.seed, `writer ${writer} write ${this.written[writer]}`);
      const { nodes } = this.mesh;
      // Each client has a node that it mostly talks to.
      const node = dice.chance(0.6) ? nodes[writer % nodes.length]! : dice.pick(nodes);
      await this.one(node, own, dice);
      await new Promise((resume) => setTimeout(resume, PAUSE_MS));
    }
  }

  private async one(node: ProcessNode, own: OwnRow[], dice: Dice): Promise<void> {
    const { history } = this;
    const draw = dice.unit();
    if (draw < 0.1) return this.writeShared(node, dice);
    if (draw < 0.18) {
      const titles = Array.from({ length: BULK_ROWS }, () => this.freshTitle());
      return history.bulk(node, titles);
    }
    const index = dice.below(own.length);
    const known = own[index];
    if (known === undefined || draw < 0.6) {
      const row = await history.store(node, this.freshTitle());
      if (row.id !== null) own.push({ row, node });
      if (own.length > OWN_ROWS_MAX) own.shift();
      return;
    }
    // Its own rows are written through the node that they came from, one after the other.
    const outcome = draw < 0.85 ? await history.update(known.node, known.row) : 'deleting';
    if (outcome === 'deleting') await history.remove(known.node, known.row);
    if (outcome === 'deleting' || outcome === 'unknown') own.splice(own.indexOf(known), 1);
  }

  /** Everybody writes these, through any node, and now and then somebody deletes one while others write it. */
  private async writeShared(node: ProcessNode, dice: Dice): Promise<void> {
    if (this.shared.length < SHARED_ROWS) {
      const row = await this.history.store(node, this.freshTitle());
      if (row.id !== null) this.shared.push(row);
      return;
    }
    const row = dice.pick(this.shared);
    if (dice.chance(0.05)) {
      await this.history.remove(node, row);
      const index = this.shared.indexOf(row);
      if (index >= 0) this.shared.splice(index, 1);
    } else await this.history.update(node, row);
  }

  private freshTitle(): string {
    this.titles += 1;
    return `row ${this.titles}`;
  }
}
