import {
  PAGE_BYTES_MAX,
  SYNC_ROWS_EXAMINED_MAX,
  SYNC_SINCE_LIMIT_MAX,
} from '../../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Clock } from '../../../protocol/base/seams.js';
import { canonicalInstant, instantFromMs } from '../../../protocol/base/time.js';
import { addresseeOf, ownerOf } from '../../../protocol/identity/owner.js';
import { mayHold } from '../../../protocol/log/scope.js';
import { type MemoryRow, memoryJson } from '../../../protocol/memory/memory.js';
import type { Peer } from '../../../protocol/peers/peer.js';
import type { Store } from '../../../storage/port.js';

/** Pages of memories by their last change, for peers without a cursor (interface §4.10, reference-federation §1.6). */
export class LegacySince {
  readonly #store: Store;
  readonly #clock: Clock;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * The memories that changed after an instant and that a peer may have, the oldest change first. A page does not end
   * between rows of one instant, because the next begins after it: so a small limit does not make it small, and one is
   * made at a time. VALIDATION_FAILED for a `since` that is not an instant.
   */
  page(peer: Peer, since: string, limit: number): Promise<Result<object>> {
    const made = this.#last.then(() => this.#page(peer, since, limit));
    this.#last = made.catch(() => undefined);
    return made;
  }

  async #page(peer: Peer, since: string, limit: number): Promise<Result<object>> {
    const updatedSince = since === '' ? null : canonicalInstant(since);
    if (since !== '' && updatedSince === null) {
      return fail('VALIDATION_FAILED', 'since must be an RFC 3339 instant', { fields: ['since'] });
    }
    const page = new Page(peer, limit);
    const denied = peer.pullDenied === true;
    let after = { updated_at: updatedSince ?? '', id: LAST };
    let more = !denied;
    // The rows of one instant are sorted for each look, so a small page takes more with each.
    let rows = Math.min(limit + 1, ROWS_AT_ONCE);
    while (more && !page.full && page.examined < SYNC_ROWS_EXAMINED_MAX) {
      const read = await this.#store.query({
        kind: 'memories-since',
        after,
        now: instantFromMs(this.#clock.nowMs()),
        limit: rows,
      });
      if (!read.ok) return failed(read.error);
      for (const row of read.value.memories) page.take(row);
      const { last } = read.value;
      more = read.value.more && last !== null;
      if (last !== null) after = last;
      rows = Math.min(4 * rows, ROWS_AT_ONCE);
    }
    const { memories } = page;
    return ok({
      count: memories.length,
      limit,
      updated_since: updatedSince,
      earliest_updated_at: memories[0]?.updated_at ?? null,
      latest_updated_at: memories.at(-1)?.updated_at ?? null,
      memories: memories.map((memory) => ({
        ...memoryJson(memory),
        ...(memory.write_signature === null ? {} : { write_signature: memory.write_signature }),
      })),
      excluded_for_scope: page.outOfScope,
      excluded_for_scope_private: page.hidden,
      scope_status: denied ? 'no_allowlist_default_deny' : 'scoped',
      next_since: page.examinedThrough ?? updatedSince,
    });
  }
}

const LAST = '\u007f';
const ROWS_AT_ONCE = 1000;

class Page {
  readonly memories: MemoryRow[] = [];
  examined = 0;
  outOfScope = 0;
  hidden = 0;
  full = false;
  /** Every row up to this instant was examined. */
  examinedThrough: string | null = null;
  #bytes = 0;
  readonly #peer: Peer;
  readonly #limit: number;

  constructor(peer: Peer, limit: number) {
    this.#peer = peer;
    this.#limit = limit;
  }

  take(row: MemoryRow): void {
    if (this.full) return;
    const atNewInstant = row.updated_at !== this.examinedThrough;
    const reached = this.memories.length >= this.#limit || this.#bytes > PAGE_BYTES_MAX;
    // The other rows of the last instant belong to the page, up to the largest page.
    if ((reached && atNewInstant) || this.memories.length >= SYNC_SINCE_LIMIT_MAX) {
      this.full = true;
      return;
    }
    this.examined += 1;
    this.examinedThrough = row.updated_at;
    if (!mayHold(this.#peer, row.namespace)) this.outOfScope += 1;
    else if (!isShared(row, this.#peer.peerId)) this.hidden += 1;
    else {
      this.memories.push(row);
      this.#bytes += row.content.length + row.title.length;
    }
  }
}

/** Private rows go to their owner, to the agent that they are addressed to, and where their owner shares them. */
function isShared(row: MemoryRow, peerId: string): boolean {
  const { scope, federation_share } = row.metadata;
  if (federation_share === true || scope === undefined || scope === null) return true;
  const open = ['collective', 'team', 'unit', 'org'];
  return open.includes(scope as string) || ownerOf(row) === peerId || addresseeOf(row) === peerId;
}
