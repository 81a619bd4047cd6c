import { fail, type Result } from '../../protocol/base/result.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { DatabasePlace } from '../open/open.js';
import type { Connection } from '../sql/connection.js';
import { openReader } from '../sqlite/connection.js';
import { VectorFollower, type VectorRequest } from './vector-follower.js';
import type { VectorThreadData } from './vector-messages.js';

/**
 * A database with its vector index, opened read-only at the first call. It answers DATABASE_ERROR when the database cannot
 * be opened or read, and tries again at the next call.
 */
export class FollowedDatabase {
  #follower: VectorFollower | null = null;
  #database: Connection | null = null;

  private constructor(
    private readonly data: VectorThreadData,
    private readonly connect: () => Connection,
  ) {}

  static async of(data: VectorThreadData): Promise<FollowedDatabase> {
    return new FollowedDatabase(data, await connectorTo(data.place));
  }

  /** See `VectorFollower.search`. */
  search(request: VectorRequest): Result<VectorEvidence> {
    return this.#attempt((follower) => follower.search(request));
  }

  /** Updates the index, so that the next search finds it loaded. */
  refresh(): Result<unknown> {
    return this.#attempt((follower) => follower.refresh());
  }

  close(): void {
    this.#database?.close();
    this.#database = null;
    this.#follower = null;
  }

  #attempt<T>(act: (follower: VectorFollower) => Result<T>): Result<T> {
    try {
      return act(this.#open());
    } catch (error) {
      if (this.#database?.faultOf(error) === null) throw error;
      this.close();
      return fail(
        'DATABASE_ERROR',
        `vector search cannot read the database: ${(error as { code?: string }).code}`,
      );
    }
  }

  #open(): VectorFollower {
    if (this.#follower !== null) return this.#follower;
    const { model, dim, bytesMax } = this.data;
    this.#database = this.connect();
    const source = { model, dim };
    this.#follower = new VectorFollower(
      this.#database,
      bytesMax === undefined ? source : { ...source, bytesMax },
    );
    return this.#follower;
  }
}

/** What opens a place. Most of what serves a server is of no use for a file, and loading it takes longer than all else here. */
async function connectorTo(place: DatabasePlace): Promise<() => Connection> {
  if (place.engine === 'sqlite') return () => openReader(place.path);
  const { openForReading } = await import('../open/open.js');
  return () => openForReading(place);
}
