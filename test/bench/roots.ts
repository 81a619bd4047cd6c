import type { AnswerOf, Query } from '../../protocol/release.js';
import { Reader } from '../../storage/sql/reader.js';
import { openReader } from '../../storage/sqlite/connection.js';

const POLL_MS = 5;

/** Looks into the databases of several nodes from outside, as any process may, so that no daemon has to answer. */
export class Roots {
  private readonly connections;
  private readonly readers;

  constructor(paths: readonly string[]) {
    this.connections = paths.map((path) => openReader(path, { mapped: false }));
    this.readers = this.connections.map((connection) => new Reader(connection));
  }

  ask<Q extends Query>(index: number, query: Q): AnswerOf<Q> {
    const answer = this.readers[index]!.run(query);
    if (!answer.ok) throw new Error(answer.error.message);
    return answer.value as AnswerOf<Q>;
  }

  /** Rows that each has. */
  rows(): number[] {
    return this.readers.map((_, index) => this.ask(index, { kind: 'read-digests' }).rows);
  }

  /** True when a node has a memory with this id. */
  has(index: number, id: string): boolean {
    const viewer = { all: true, agentId: null, asNamespace: null };
    const found = this.readers[index]!.run({ kind: 'get-memory', id, viewer, now: new Date().toISOString() });
    return found.ok && found.value.memory.id === id;
  }

  equal(): boolean {
    const states = this.readers.map((_, index) => {
      const { rows, digests } = this.ask(index, { kind: 'read-digests' });
      return `${rows} ${JSON.stringify(digests)}`;
    });
    return new Set(states).size === 1;
  }

  /** Waits until row counts and root digests are equal; calls `look` before each poll. Throws after `withinMs`. */
  async untilEqual(withinMs: number, look: () => void = () => {}): Promise<void> {
    const end = performance.now() + withinMs;
    for (;;) {
      look();
      if (this.equal()) return;
      if (performance.now() > end)
        throw new Error(`the nodes did not converge: ${this.rows().join(', ')} rows`);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  close(): void {
    for (const connection of this.connections) connection.close();
  }
}
