import type { Crypto } from '../../protocol/base/seams.js';
import type { Connection } from './connection.js';
import { upsert } from './upsert.js';

const DIGEST_BYTES = 32;

/** True for a value that can be the digest of a row. */
export const isReadable = (stored: unknown): stored is Uint8Array =>
  stored instanceof Uint8Array && stored.length === DIGEST_BYTES;

/** True when the stored value is this digest. After disk damage it may have any type. */
export const isDigest = (stored: unknown, digest: Uint8Array): boolean =>
  stored instanceof Uint8Array && Buffer.compare(stored, digest) === 0;

/** The rows of each kind; null for a kind that this release does not know. */
export interface DigestSource {
  of(kind: string): { readonly digestsSql: string } | null;
}

interface Sum {
  readonly kind: string;
  readonly namespace: string;
  readonly digest: Uint8Array;
  entries: number;
  changed: boolean;
}

/**
 * Digests of the replicated state, kept in the write transaction: for each kind and namespace the sum (exclusive or)
 * over its rows of SHA-256(subject, image hash). Order does not matter, so replicas with the same rows have the same
 * digest.
 */
export class Digests {
  private readonly sums = new Map<string, Sum>();
  private readonly load;
  private readonly save;
  private readonly drop;

  constructor(
    private readonly db: Connection,
    private readonly crypto: Crypto,
    private readonly pages: DigestSource,
  ) {
    this.load = db.prepare<[string, string], { digest: Uint8Array; entries: number }>(
      'SELECT digest, entries FROM namespace_digests WHERE kind = ? AND namespace = ?',
    );
    this.save = db.prepare(
      upsert('namespace_digests', ['kind', 'namespace'], ['kind', 'namespace', 'digest', 'entries']),
    );
    this.drop = db.prepare('DELETE FROM namespace_digests WHERE kind = ? AND namespace = ?');
  }

  /** The digest of one subject in a state whose image has this text. */
  of(subject: string, payload: string): Uint8Array {
    return this.crypto.sha256(`${subject}\n${payload}`);
  }

  /** Removes a subject's old digest from its namespace. */
  leave(kind: string, namespace: string, digest: Uint8Array | null): void {
    if (isReadable(digest)) this.add(kind, namespace, digest, -1);
  }

  join(kind: string, namespace: string, digest: Uint8Array): void {
    this.add(kind, namespace, digest, 1);
  }

  /** True when the digest of a namespace is the sum over its rows of a kind. */
  holds(kind: string, namespace: string): boolean {
    const counted = this.count(kind, namespace);
    const kept = this.sum(kind, namespace);
    return counted.entries === kept.entries && Buffer.compare(counted.digest, kept.digest) === 0;
  }

  /** Counts the digest of a namespace again from its rows of a kind. */
  recount(kind: string, namespace: string): void {
    this.sums.set(keyOf(kind, namespace), { kind, namespace, ...this.count(kind, namespace), changed: true });
  }

  private count(kind: string, namespace: string): { digest: Uint8Array; entries: number } {
    const digest = new Uint8Array(DIGEST_BYTES);
    let entries = 0;
    const pages = this.pages.of(kind);
    if (pages === null) return { digest, entries };
    const rows = this.db
      .prepare<[{ namespace: string }], { digest: Uint8Array | null }>(pages.digestsSql)
      .iterate({ namespace });
    for (const row of rows) {
      if (!isReadable(row.digest)) continue;
      for (let i = 0; i < DIGEST_BYTES; i += 1) digest[i] = digest[i]! ^ row.digest[i]!;
      entries += 1;
    }
    return { digest, entries };
  }

  /** Writes the changed digests; call before a commit or a savepoint. */
  flush(): void {
    for (const sum of this.sums.values()) {
      if (!sum.changed) continue;
      sum.changed = false;
      if (sum.entries === 0) this.drop.run(sum.kind, sum.namespace);
      else this.save.run(sum.kind, sum.namespace, sum.digest, sum.entries);
    }
  }

  /** Clears the cache: at the start of a transaction, and after a rollback. */
  clear(): void {
    this.sums.clear();
  }

  private sum(kind: string, namespace: string): Sum {
    const key = keyOf(kind, namespace);
    const known = this.sums.get(key);
    if (known !== undefined) return known;
    const row = this.load.get(kind, namespace);
    const digest = row === undefined ? new Uint8Array(DIGEST_BYTES) : Uint8Array.from(row.digest);
    const sum: Sum = { kind, namespace, digest, entries: row?.entries ?? 0, changed: false };
    this.sums.set(key, sum);
    return sum;
  }

  private add(kind: string, namespace: string, digest: Uint8Array, entries: number): void {
    const sum = this.sum(kind, namespace);
    for (let i = 0; i < DIGEST_BYTES; i += 1) sum.digest[i] = sum.digest[i]! ^ digest[i]!;
    sum.entries += entries;
    sum.changed = true;
  }
}

const keyOf = (kind: string, namespace: string): string => `${kind}\n${namespace}`;
