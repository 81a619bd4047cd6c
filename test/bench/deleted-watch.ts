import { MnemeshError } from '../../node/client/client-error.js';
import { createClient } from '../../node/client/index.js';
import type { MeshProcess } from './mesh-processes.js';

const PAUSE_MS = 4;

/**
 * Asks two nodes over HTTP for deleted rows that both had, in turn and again, while one of them catches up. The first has deleted them,
 * so it must never serve one; the other may serve one until it has heard of the deletion, and never afterwards.
 */
export class DeletedWatch {
  asked = 0;
  /** Rows that were served when they could not be. */
  readonly servedAgain: string[] = [];
  private readonly goneAt = new Set<string>();
  private stopped = false;
  private done: Promise<void> = Promise.resolve();

  constructor(
    private readonly deletedAt: MeshProcess,
    private readonly catchingUp: MeshProcess,
    private readonly ids: readonly string[],
  ) {}

  start(): void {
    this.done = this.watch();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.done;
  }

  /** Asks both for each row once more, and for others; now none may be served. */
  async atTheEnd(others: readonly string[]): Promise<void> {
    for (const id of [...this.ids, ...others]) {
      this.goneAt.add(id);
      await this.look(id);
    }
  }

  private async watch(): Promise<void> {
    for (let turn = 0; !this.stopped && this.ids.length > 0; turn += 1) {
      await this.look(this.ids[turn % this.ids.length]!);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  private async look(id: string): Promise<void> {
    if (await this.serves(this.deletedAt, id)) this.servedAgain.push(id);
    const knownGone = this.goneAt.has(id);
    if (!(await this.serves(this.catchingUp, id))) this.goneAt.add(id);
    else if (knownGone) this.servedAgain.push(id);
  }

  private async serves({ api }: MeshProcess, id: string): Promise<boolean> {
    this.asked += 1;
    try {
      await createClient({ url: api, retries: 0 }).call('memory_get', { id });
      return true;
    } catch (error) {
      if (error instanceof MnemeshError && error.status === 404) return false;
      throw error;
    }
  }
}
