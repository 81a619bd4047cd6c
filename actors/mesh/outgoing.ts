import {
  LOG_TAIL_BYTES_MAX,
  LOG_TAIL_OPERATIONS_MAX,
  REQUEST_BODY_BYTES_MAX,
} from '../../protocol/base/limits.js';
import { ok, type Result } from '../../protocol/base/result.js';
import type { Clock } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { headBytes, type SignedHead, type WireOperation } from '../../protocol/log/wire-operation.js';
import { mayHave, type Peer } from '../../protocol/peers/peer.js';
import { KINDS } from '../../protocol/release.js';
import type { Store } from '../../storage/port.js';
import type { MeshSelf } from './parts.js';
import type { PeerClient, SignedBody } from './peer-client.js';

/** Own operations on their way to peers: `from` exclusive, `to` inclusive. */
export interface Batch {
  readonly origin: string;
  readonly from: number;
  readonly to: number;
  /** True when the limit of bytes, not the number of operations, ended the batch. */
  readonly full: boolean;
  /** `"operations":[…],"heads":[…]` of the body; serialised once. */
  readonly members: string;
}

/** Bytes of payload that one batch reads; with the escapes of JSON in JSON it stays below the limit of a body. */
const PAYLOAD_BYTES_TARGET = 1024 * 1024;
/** Bytes for the members of a body around the operations. */
const BODY_MARGIN_BYTES = 4096;
const CACHED_MAX = 32;

/**
 * Batches of own operations. Connections at the same sequence share one batch: it is read and serialised once.
 */
export class Outgoing {
  private readonly cache = new Map<string, Batch>();
  /** Reads under way, shared by connections that ask meanwhile. */
  private readonly reading = new Map<string, Promise<Result<Batch | null>>>();
  private head: SignedHead | null = null;

  constructor(
    private readonly self: MeshSelf,
    private readonly store: Store,
    private readonly client: PeerClient,
    private readonly clock: Clock,
  ) {}

  /** The batch that follows `from` for a peer, of at most `limit` operations; null when there is nothing. */
  async next(
    origin: string,
    from: number,
    end: number,
    peer: Peer,
    limit: number,
  ): Promise<Result<Batch | null>> {
    const key = `${origin} ${from} ${JSON.stringify(peer.allowedNamespaces)}`;
    const cached = this.cache.get(key);
    if (cached !== undefined && suits(cached, end, limit)) return ok(cached);
    const tail = end - from <= LOG_TAIL_OPERATIONS_MAX;
    const room = tail
      ? { limit: Math.min(limit, LOG_TAIL_OPERATIONS_MAX), bytesMax: LOG_TAIL_BYTES_MAX }
      : { limit, bytesMax: PAYLOAD_BYTES_TARGET };
    const readKey = `${key} ${room.limit}`;
    const under = this.reading.get(readKey);
    if (under !== undefined) return under;
    const read = this.read(key, origin, from, peer, room);
    this.reading.set(readKey, read);
    try {
      return await read;
    } finally {
      this.reading.delete(readKey);
    }
  }

  private async read(
    key: string,
    origin: string,
    from: number,
    peer: Peer,
    room: { readonly limit: number; readonly bytesMax: number },
  ): Promise<Result<Batch | null>> {
    const page = await this.store.query({
      kind: 'read-operations',
      have: { [origin]: from },
      origins: [origin],
      ...room,
    });
    if (!page.ok) return page;
    const operations = page.value.operations.filter((each) => each.origin === origin);
    const last = page.value.ends[origin];
    if (operations.length === 0 || last === undefined) return ok(null);
    const full = page.value.more && operations.length < room.limit;
    const batch = this.batchOf({ origin, from, full }, operations, last.hash, peer);
    this.cache.delete(key);
    this.cache.set(key, batch);
    for (const oldest of this.cache.keys()) {
      if (this.cache.size <= CACHED_MAX) break;
      this.cache.delete(oldest);
    }
    return ok(batch);
  }

  /** Drops a batch, so that the next request reads it again. */
  forget(batch: Batch): void {
    for (const [key, each] of this.cache) if (each === batch) this.cache.delete(key);
  }

  /** The message that carries a batch to a peer; its signature covers the name of the peer. */
  message(batch: Batch, peerId: string): SignedBody {
    return this.client.sign(new TextEncoder().encode(this.bodyOf(batch.members, peerId)));
  }

  private batchOf(
    start: Pick<Batch, 'origin' | 'from' | 'full'>,
    operations: readonly WireOperation[],
    lastHash: string,
    peer: Peer,
  ): Batch {
    const { origin } = start;
    let taken = operations.length;
    const texts = operations.map((operation) => JSON.stringify(scoped(operation, peer)));
    for (;;) {
      const last = operations[taken - 1]!;
      // The next header names the hash of this one.
      const hash = taken === operations.length ? lastHash : operations[taken]!.prevHash;
      const heads = JSON.stringify([this.signHead(origin, last.seq, hash)]);
      const members = `"operations":[${texts.slice(0, taken).join(',')}],"heads":${heads}`;
      // A UTF-16 unit is three bytes at most. This estimate makes most exact measurements unnecessary.
      const small = members.length * 3 < REQUEST_BODY_BYTES_MAX - BODY_MARGIN_BYTES;
      if (
        taken === 1 ||
        small ||
        new TextEncoder().encode(members).length < REQUEST_BODY_BYTES_MAX - BODY_MARGIN_BYTES
      )
        return {
          ...start,
          to: last.seq,
          full: start.full || taken < operations.length,
          members,
        };
      taken = Math.ceil(taken / 2);
    }
  }

  private signHead(origin: string, seq: number, hash: string): SignedHead {
    if (this.head === null || this.head.origin !== origin || this.head.hash !== hash) {
      const signature = base64(this.self.signer.sign(headBytes({ origin, seq, hash })));
      this.head = { origin, seq, hash, signature };
    }
    return this.head;
  }

  private bodyOf(members: string, peerId: string): string {
    const [sender, receiver] = [JSON.stringify(this.self.peerId), JSON.stringify(peerId)];
    const sentAt = instantFromMs(this.clock.nowMs());
    return `{"sender_agent_id":${sender},"sender_wall_clock":"${sentAt}","receiver":${receiver},"memories":[],${members}}`;
  }
}

/** A cached batch serves unless a new one would carry more, or the batch exceeds the limit. */
function suits(batch: Batch, end: number, limit: number): boolean {
  const size = batch.to - batch.from;
  if (size > limit) return false;
  return batch.full || size >= Math.min(limit, end - batch.from);
}

/** A peer that may not hold a namespace gets only the header, so that the chain still verifies. */
function scoped(operation: WireOperation, peer: Peer): WireOperation {
  return mayHave(peer, operation, KINDS) ? operation : { ...operation, payload: null };
}

function base64(bytes: Uint8Array): string {
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}
