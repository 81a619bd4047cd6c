import type { ChildStatus } from '../../actors/core/child.js';
import type { Condition } from '../pipeline/call.js';
import type { DatabaseDamage } from './database-damage.js';

/** A supervisor whose children can be listed. */
type Watched = { children(): readonly ChildStatus[] };

/** The live state of a daemon. Its parts push into it when they start; health and capabilities read it. */
export class DaemonCondition {
  /** True once every part has started. */
  isUp = false;
  /** Memories that wait for their vectors; null before the first count. */
  pendingEmbeddings: number | null = null;
  readonly #damage: DatabaseDamage;
  #root: Watched | null = null;
  #storage: Watched | null = null;

  constructor(damage: DatabaseDamage) {
    this.#damage = damage;
  }

  /** The top of the supervision tree has started. */
  watch(root: Watched): void {
    this.#root = root;
  }

  /** The supervisor of the storage threads has started. */
  watchStorage(storage: Watched): void {
    this.#storage = storage;
  }

  /** The parts of the node, then the storage threads. */
  children(): readonly ChildStatus[] {
    return [...(this.#root?.children() ?? []), ...(this.#storage?.children() ?? [])];
  }

  read(): Condition {
    const threads = this.#storage?.children() ?? [];
    return {
      ready:
        this.isUp &&
        this.#damage.takesWrites &&
        threads.some((child) => child.id === 'writer' && child.state === 'running'),
      degraded: [
        ...this.#damage.degraded(),
        ...this.children()
          .filter((child) => child.state === 'degraded' || child.state === 'backing-off')
          .map((child) => ({ part: child.id, reason: child.lastError ?? child.state })),
      ],
      pendingEmbeddings: this.pendingEmbeddings,
      writer: 'daemon',
    };
  }
}
