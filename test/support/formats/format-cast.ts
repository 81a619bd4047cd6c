import { instantFromMs } from '../../../protocol/base/time.js';
import type { Memory } from '../../../protocol/memory/memory.js';
import { storing } from '../memories.js';
import { carry, type FormatNode, formatNode } from './format-node.js';

/** When every history begins: Wednesday, 25 February 2026. */
export const HISTORY_STARTS_MS = Date.UTC(2026, 1, 25, 9);
export const HOUR_MS = 3_600_000;

/** Standard base64. */
export const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** The id of a memory of the history. */
export const id = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** The nodes that write a history together; the database of the first is what is kept. */
export class FormatCast {
  readonly ash: FormatNode;
  readonly birch: FormatNode;
  cedar: FormatNode;
  readonly dogwood: FormatNode;
  nowMs = HISTORY_STARTS_MS;
  /** The last id that a memory got. */
  ids = 0;

  constructor(readonly folder: string) {
    const node = (name: 'ash' | 'birch' | 'cedar' | 'dogwood') =>
      formatNode(folder, `${name}.db`, name, this.nowMs);
    this.ash = node('ash');
    this.birch = node('birch');
    this.cedar = node('cedar');
    this.dogwood = node('dogwood');
  }

  /** A node runs a command, a second after the last one. */
  run(node: FormatNode, command: Parameters<FormatNode['run']>[0]): Promise<unknown> {
    this.tick(1000);
    return node.run(command);
  }

  /** Time passes, for all of them. */
  tick(ms: number): void {
    this.nowMs += ms;
    for (const node of this.nodes()) node.nowMs = this.nowMs;
  }

  /** Stores a memory with the next id; answers the id. */
  async store(node: FormatNode, fields: Partial<Memory>): Promise<string> {
    this.ids += 1;
    const at = instantFromMs(this.nowMs + 1000);
    const named = { id: id(this.ids), created_at: at, updated_at: at, ...fields };
    await this.run(node, storing(named));
    return named.id;
  }

  /** Brings each node what the others have. */
  async exchange(...nodes: readonly FormatNode[]): Promise<void> {
    for (let round = 0; round < 2; round += 1)
      for (const from of nodes) for (const to of nodes) if (from !== to) await carry(from, to);
  }

  /** Where the chains of all origins end at a node. */
  async origins(node: FormatNode) {
    const known = await node.store.query({ kind: 'known-origins' });
    if (!known.ok) throw new Error(known.error.message);
    return known.value;
  }

  async close(): Promise<void> {
    for (const node of this.nodes()) await node.store.close();
  }

  private nodes(): readonly FormatNode[] {
    return [this.ash, this.birch, this.cedar, this.dogwood];
  }
}
