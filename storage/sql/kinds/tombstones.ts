import type { Hlc, Instant, Origin } from '../../../protocol/base/meanings.js';
import type { RowStamp } from '../../../protocol/decide/rows.js';
import type { Kind, Subject } from '../../../protocol/kinds/kind.js';
import { parsedObject } from '../../../protocol/kinds/payload.js';
import type { Facts, RemovedVersion, Version } from '../../../protocol/kinds/version.js';
import type { StoredTombstone } from '../../../protocol/replication/reads.js';
import type { Connection } from '../connection.js';
import { DamagedRowError } from '../damage.js';
import { vectorOf } from '../operation-rows.js';
import type { Stamps } from '../stamps.js';
import { upsert } from '../upsert.js';

/** A row of `tombstones`. */
export interface TombstoneRow {
  readonly kind: string;
  readonly id: string;
  readonly namespace: string;
  readonly deleted_at: Instant;
  readonly hlc: Hlc;
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly seen: string;
  readonly word: string;
  readonly reason: string;
  readonly facts: string;
}

/** The tombstones of all kinds: a removed subject with the contents of its removal. */
export class Tombstones {
  private readonly one;
  private readonly write;
  private readonly remove;

  constructor(
    db: Connection,
    private readonly stamps: Stamps,
  ) {
    this.one = db.prepare<[string, string], TombstoneRow>(
      'SELECT * FROM tombstones WHERE kind = ? AND id = ?',
    );
    this.write = db.prepare(
      upsert(
        'tombstones',
        ['kind', 'id'],
        [
          'kind',
          'id',
          'namespace',
          'deleted_at',
          'hlc',
          'origin',
          'origin_seq',
          'seen',
          'word',
          'reason',
          'facts',
        ],
      ),
    );
    this.remove = db.prepare('DELETE FROM tombstones WHERE kind = ? AND id = ?');
  }

  /** The tombstone as it was written, because a command builds on its version vector. Throws DamagedRowError. */
  whole({ kind, id }: Subject): TombstoneRow | null {
    const row = this.one.get(kind, id);
    if (row === undefined) return null;
    if (this.stamps.hold(kind, id, { ...row, seen: vectorOf(row.seen) })) return row;
    throw new DamagedRowError(kind, id);
  }

  /** The tombstone in any state, also damaged. */
  stored(kind: Kind, id: string): StoredTombstone | null {
    const row = this.one.get(kind.name, id);
    if (row === undefined) return null;
    const { hlc, origin, origin_seq: seq, namespace, word, reason } = row;
    return { hlc, origin, seq, namespace, seen: vectorOf(row.seen), word, reason, facts: factsOf(kind, row) };
  }

  /** The version that a tombstone represents; its copy, if there is one, is already in the archive. */
  version(kind: Kind, id: string): Version | null {
    const row = this.whole({ kind: kind.name, id });
    if (row === null) return null;
    const facts = factsOf(kind, row);
    if (facts === null) throw new DamagedRowError(kind.name, id);
    const { hlc, origin, origin_seq: seq, namespace, word, reason } = row;
    const removal = { word, reason, facts, was: null };
    return { hlc, origin, seq, covers: vectorOf(row.seen), namespace, image: null, removal };
  }

  deletedAt({ kind, id }: Subject): string | null {
    return this.one.get(kind, id)?.deleted_at ?? null;
  }

  put(kind: Kind, id: string, version: RemovedVersion, deletedAt: string): void {
    const { hlc, origin, seq: origin_seq, covers: seen, namespace, removal } = version;
    this.putStamped(kind, id, { namespace, ...removal }, { hlc, origin, origin_seq, seen }, deletedAt);
  }

  putStamped(
    kind: Kind,
    id: string,
    said: {
      readonly namespace: string;
      readonly word: string;
      readonly reason: string;
      readonly facts: Facts;
    },
    { hlc, origin, origin_seq, seen }: RowStamp,
    deletedAt: string,
  ): void {
    const { namespace, word, reason, facts } = said;
    const text = kind.removal.text(facts);
    this.write.run(
      ...[kind.name, id, namespace, deletedAt, hlc, origin, origin_seq],
      ...[JSON.stringify(seen), word, reason, text],
    );
  }

  drop(kind: string, id: string): void {
    this.remove.run(kind, id);
  }
}

/** The facts of a removal; null for a text that cannot be read. */
export function factsOf(kind: Kind, { facts }: Pick<TombstoneRow, 'facts'>): Facts | null {
  const value = parsedObject(String(facts));
  return value === null ? null : kind.removal.parse(value);
}
