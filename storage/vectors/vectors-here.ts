import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { VectorEvidence } from '../../protocol/memory/recall-request.js';
import type { FollowedDatabase } from './followed-database.js';
import type { VectorRequest } from './vector-follower.js';
import type { VectorThreadData } from './vector-messages.js';
import type { VectorSearch } from './vector-search.js';

/** Vector search in this thread, for a process that has nothing to do until it has the answer (compare `VectorClient`). */
export class VectorsHere implements VectorSearch {
  #database: Promise<FollowedDatabase> | null = null;
  #closed = false;

  constructor(private readonly data: VectorThreadData) {}

  async search(request: VectorRequest): Promise<Result<VectorEvidence>> {
    this.#database ??= loaded(this.data);
    const database = await this.#database;
    if (this.#closed) return fail('SHUTTING_DOWN', 'vector search is shutting down');
    try {
      return database.search(request);
    } catch (error) {
      // A thread would have ended with it; the next call begins anew.
      database.close();
      return fail('INTERNAL', `vector search failed: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Nothing could be done meanwhile: the first search loads the index. */
  warm(): Promise<Result<void>> {
    return Promise.resolve(ok(undefined));
  }

  async close(): Promise<void> {
    this.#closed = true;
    (await this.#database)?.close();
  }
}

/** Most processes do not need the module. */
async function loaded(data: VectorThreadData): Promise<FollowedDatabase> {
  const { FollowedDatabase } = await import('./followed-database.js');
  return FollowedDatabase.of(data);
}
