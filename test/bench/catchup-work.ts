import type { Command } from '../../protocol/release.js';
import { OPERATOR } from '../support/memories.js';
import { agentKey, signedStoreBody } from '../support/signing.js';
import { type BenchDatabase, storeCommand } from './database.js';
import { AGENT } from './load.js';

const NAMESPACES = 4;
const BATCH_ROWS = 500;

/** What a node does while another is away: of ten operations six store, two edit and two delete. */
export class CatchupWork {
  /** Rows that live and were made before the other node went away. */
  private readonly held: string[] = [];
  private readonly fresh: string[] = [];
  /** Deleted while the other node was away: those that it had seen, and those that it had not. */
  readonly deletedHeld: string[] = [];
  readonly deletedFresh: string[] = [];
  private made = 0;

  constructor(
    private readonly database: BenchDatabase,
    private readonly signed: boolean,
  ) {}

  /** Stores rows that both nodes are to have. */
  prepare(rows: number): void {
    this.inBatches(rows, () => this.store(this.held));
  }

  /** Makes so many operations. */
  away(operations: number, progressed: (done: number) => void): void {
    this.inBatches(
      operations,
      (index) => {
        const turn = index % 10;
        if (turn === 3 || turn === 8) return this.edit(index);
        if (turn === 4) return this.remove(this.held, this.deletedHeld);
        if (turn === 9) return this.remove(this.fresh, this.deletedFresh);
        return this.store(this.fresh);
      },
      progressed,
    );
  }

  private inBatches(
    count: number,
    command: (index: number) => Command,
    progressed: (done: number) => void = () => {},
  ): void {
    for (let done = 0; done < count; done += BATCH_ROWS) {
      const size = Math.min(BATCH_ROWS, count - done);
      this.database.write(Array.from({ length: size }, (_, at) => command(done + at)));
      progressed(done + size);
    }
  }

  private store(ids: string[]): Command {
    this.made += 1;
    const fields = {
      title: `away-${this.made}`,
      content: `operation ${this.made} of a node whose peer is away: envelope probe keyword token`.padEnd(
        120,
        'x',
      ),
      namespace: `bench/away-${this.made % NAMESPACES}`,
    };
    const command = storeCommand({ ...fields, ...(this.signed ? attested(fields) : {}) });
    if (command.kind === 'store-memory') ids.push(command.memory.id);
    return command;
  }

  /** Edits in turn what was there before and what is new. */
  private edit(index: number): Command {
    const ids = index % 20 < 10 ? this.held : this.fresh;
    const id = ids[(index * 7919) % ids.length]!;
    const patch = { content: `edited by operation ${index} while its peer is away`.padEnd(120, 'y') };
    return { kind: 'update-memory', id, patch, expectedVersion: null, viewer: OPERATOR, archive: false };
  }

  private remove(ids: string[], deleted: string[]): Command {
    const id = ids.shift();
    if (id === undefined) throw new Error('nothing is left to delete: prepare more rows');
    deleted.push(id);
    return { kind: 'delete-memory', id, archive: false, viewer: OPERATOR };
  }
}

/** What the daemon adds to a row whose author's signature it has verified. */
function attested(fields: { readonly title: string; readonly content: string; readonly namespace: string }) {
  const key = agentKey(AGENT);
  const { signature, created_at } = signedStoreBody(key, fields, new Date().toISOString());
  return {
    metadata: { agent_id: AGENT, attest_level: 'agent_attested' },
    write_signature: { public_key: key.publicKeyText, signature, created_at },
  };
}
