import type { Crypto } from '../../protocol/seams.js';
import type { Connection } from './connection.js';

const DIGEST_BYTES = 32;

/** True for what can be the digest of a row. */
export const isReadable = (stored: unknown): stored is Uint8Array =>
  stored instanceof Uint8Array && stored.length === DIGEST_BYTES;

/** True for the digest of a row that is this one. What a disk made of it may be of any type. */
export const isDigest = (stored: unknown, digest: Uint8Array): boolean =>
  stored instanceof Uint8Array && Buffer.compare(stored, digest) === 0;

/**
 * Digests of the replicated state, kept in the write transaction: for each namespace the sum (exclusive or) over its
 * live memories and links of SHA-256(subject, post-image hash). Order does not matter, so replicas that hold the same rows
 * have the same digest however they came by them.
 */
export class Digests {
  private readonly sums = new Map<string, { digest: Uint8Array; entries: number; changed: boolean }>();
  private readonly load;
  private readonly save;
  private readonly drop;
  private readonly rows;

  constructor(
    db: Connection,
    private readonly crypto: Crypto,
  ) {
    this.load = db.prepare<[string], { digest: Uint8Array; entries: number }>(
      'SELECT digest, entries FROM namespace_digests WHERE namespace = ?',
    );
    this.save = db.prepare(
      'INSERT OR REPLACE INTO namespace_digests (namespace, digest, entries) VALUES (?, ?, ?)',
    );
    this.drop = db.prepare('DELETE FROM namespace_digests WHERE namespace = ?');
    this.rows = db.prepare<[{ namespace: string }], { digest: Uint8Array | null }>(
      `SELECT digest FROM memories WHERE ns_id = (SELECT ns_id FROM namespaces WHERE name = @namespace)
       UNION ALL SELECT digest FROM memory_links WHERE namespace = @namespace`,
    );
  }

  /** The digest of one subject in a state whose post-image has this text. */
  of(subject: string, payload: string): Uint8Array {
    return this.crypto.sha256(`${subject}\n${payload}`);
  }

  /** Takes a subject's old digest out of its namespace. */
  leave(namespace: string, digest: Uint8Array | null): void {
    if (isReadable(digest)) this.add(namespace, digest, -1);
  }

  join(namespace: string, digest: Uint8Array): void {
    this.add(namespace, digest, 1);
  }

  /** True when a namespace's digest is the sum over its rows. */
  holds(namespace: string): boolean {
    const counted = this.count(namespace);
    const kept = this.sum(namespace);
    return counted.entries === kept.entries && Buffer.compare(counted.digest, kept.digest) === 0;
  }

  /** Counts a namespace's digest anew from its rows. */
  recount(namespace: string): void {
    this.sums.set(namespace, { ...this.count(namespace), changed: true });
  }

  private count(namespace: string): { digest: Uint8Array; entries: number } {
    const digest = new Uint8Array(DIGEST_BYTES);
    let entries = 0;
    for (const row of this.rows.iterate({ namespace })) {
      if (!isReadable(row.digest)) continue;
      for (let i = 0; i < DIGEST_BYTES; i += 1) digest[i] = digest[i]! ^ row.digest[i]!;
      entries += 1;
    }
    return { digest, entries };
  }

  /** Writes what changed; before a commit or a savepoint. */
  flush(): void {
    for (const [namespace, sum] of this.sums) {
      if (!sum.changed) continue;
      sum.changed = false;
      if (sum.entries === 0) this.drop.run(namespace);
      else this.save.run(namespace, sum.digest, sum.entries);
    }
  }

  /** Forgets what it holds: at the start of a transaction, and when something was rolled back. */
  clear(): void {
    this.sums.clear();
  }

  private sum(namespace: string): { digest: Uint8Array; entries: number; changed: boolean } {
    const known = this.sums.get(namespace);
    if (known !== undefined) return known;
    const row = this.load.get(namespace);
    const sum = {
      digest: row === undefined ? new Uint8Array(DIGEST_BYTES) : Uint8Array.from(row.digest),
      entries: row?.entries ?? 0,
      changed: false,
    };
    this.sums.set(namespace, sum);
    return sum;
  }

  private add(namespace: string, digest: Uint8Array, entries: number): void {
    const sum = this.sum(namespace);
    for (let i = 0; i < DIGEST_BYTES; i += 1) sum.digest[i] = sum.digest[i]! ^ digest[i]!;
    sum.entries += entries;
    sum.changed = true;
  }
}
