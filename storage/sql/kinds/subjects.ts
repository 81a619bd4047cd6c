import type { DecisionContext } from '../../../protocol/decide/deciding.js';
import type { Rebuild, Remove, Settle, Write } from '../../../protocol/decide/mutations.js';
import type { RowStamp } from '../../../protocol/decide/rows.js';
import { wordsOf } from '../../../protocol/kinds/kind.js';
import type { Settled } from '../../../protocol/kinds/version.js';
import { removalPayload } from '../../../protocol/replication/payloads.js';
import type { Connection } from '../connection.js';
import { ErasedContent } from '../erased-content.js';
import type { OperationLog } from '../log.js';
import type { ReplicaRows } from '../replica-rows.js';
import { Statements } from '../statements.js';
import type { Written } from './subject-table.js';
import type { SubjectTables } from './tables.js';

/** Changes subjects of any kind: local writes, which append their operation, and changes by replication and repair. */
export class Subjects {
  private readonly statements: Statements;
  private readonly erased: ErasedContent;

  constructor(
    db: Connection,
    private readonly tables: SubjectTables,
    private readonly log: OperationLog,
    private readonly replicas: ReplicaRows,
  ) {
    this.statements = new Statements(db);
    this.erased = new ErasedContent(db, tables.memories, replicas);
  }

  /** Writes a row and its operation. */
  write(mutation: Write, { nowMs, now }: DecisionContext): Written {
    const { kind: name, word, id, namespace, seen, before, reembed, lifeAt } = mutation;
    const kind = this.tables.kinds.of(name);
    const table = this.tables.of(name);
    const stamp = this.log.stamp(seen, nowMs);
    const image = table.stamped(mutation.image, word, stamp);
    const written = { image, text: kind.payload.text(image), stamp };
    const place = { id, namespace };
    const how = {
      ...(kind.movable ? { reindex: word === 'update' } : {}),
      ...(reembed === undefined ? {} : { reembed }),
      ...(lifeAt === undefined ? {} : { lifeAt }),
    };
    const rid =
      before === null
        ? table.insert(place, written, now)
        : table.replace(this.rowOf(id, namespace, before, seen), place, written, how, now);
    // A subject that this node never knew has neither tombstone nor siblings.
    if (Object.keys(seen).length > 0) {
      if (before === null) this.tables.tombstones.drop(name, id);
      this.replicas.keepSiblings(name, id, []);
    }
    if (word === 'restore') table.takeBack(image, rid);
    this.log.append(stamp, { kind: word, namespace, subject: id, seen, payload: written.text, rid });
    return written;
  }

  /** Removes a row, leaves a tombstone and appends the operation. */
  remove(mutation: Remove, { nowMs, now }: DecisionContext): void {
    const { kind: name, word, id, namespace, seen, before, reason, facts, keepCopy } = mutation;
    const kind = this.tables.kinds.of(name);
    const table = this.tables.of(name);
    const stamp = this.log.stamp(seen, nowMs);
    // What is erased may have no row any more.
    const row = kind.final.includes(word) ? table.row(id) : this.rowOf(id, namespace, before!, seen);
    if (keepCopy && row !== null) table.keepCopy(row.image, reason, row.stamp, now);
    const rid = row === null ? null : table.remove(row, now);
    this.tables.tombstones.putStamped(kind, id, { namespace, word, reason, facts }, stamp, now);
    this.replicas.keepSiblings(name, id, []);
    const removal = { word, reason, facts, was: keepCopy ? before : null };
    this.erased.follow(kind, id, { namespace, covers: stamp.seen, removal }, now);
    const payload = removalPayload(kind, { id, namespace }, removal);
    this.log.append(stamp, { kind: word, namespace, subject: id, seen, payload, rid });
  }

  /** Makes a row match its versions from all nodes. */
  settle(mutation: Settle, { now }: Pick<DecisionContext, 'now'>): void {
    const { kind: name, id, before, settled, siblings, known, archive } = mutation;
    const kind = this.tables.kinds.of(name);
    const table = this.tables.of(name);
    const { namespace } = settled;
    const stamp = stampOf(settled);
    if (settled.image === null) {
      if (archive !== null) table.keepCopy(archive, settled.removal.reason, stamp, now);
      if (before !== null) table.remove(before, now);
      this.tables.tombstones.put(kind, id, settled, now);
      this.erased.follow(kind, id, settled, now);
    } else {
      const image = table.ofVersion(settled, before?.image ?? null);
      const written = { image, text: kind.payload.text(image), stamp };
      if (before !== null) table.replace(before, { id, namespace }, written, {}, now);
      else {
        const rid = table.insert({ id, namespace }, written, now);
        if (known) this.revive(name, id, image, rid);
      }
    }
    // Store the siblings after the row, which was compared with the old ones.
    if (known) this.replicas.keepSiblings(name, id, siblings);
  }

  /** Builds a row again, whatever it holds now. A memory gets a new row number; its vectors are computed again. */
  rebuild(mutation: Rebuild, { now }: Pick<DecisionContext, 'now'>): void {
    const { kind: name, id, settled, siblings, archive } = mutation;
    const kind = this.tables.kinds.of(name);
    const table = this.tables.of(name);
    const before = table.stored(id).row;
    if (archive !== null && settled !== null) {
      table.keepCopy(archive, settled.removal?.reason ?? '', stampOf(settled), now);
    }
    table.erase(id);
    this.replicas.keepSiblings(name, id, siblings);
    if (settled === null) this.tables.tombstones.drop(name, id);
    else if (settled.image === null) {
      const deletedAt = this.tables.tombstones.deletedAt({ kind: name, id });
      this.tables.tombstones.put(kind, id, settled, deletedAt ?? now);
      this.erased.follow(kind, id, settled, now);
    } else {
      const { namespace } = settled;
      const image = table.ofVersion(settled, before?.image ?? null);
      const written = { image, text: kind.payload.text(image), stamp: stampOf(settled) };
      const rid = table.insert({ id, namespace }, written, now);
      this.revive(name, id, image, rid);
      if (rid !== null) this.renumber(wordsOf(kind, 'image', 'removal', 'purge'), id, rid);
    }
  }

  private revive(kind: string, id: string, image: object, rid: number | null): void {
    this.tables.of(kind).takeBack(image, rid);
    this.tables.tombstones.drop(kind, id);
  }

  /** Writes the new row number into the log, so that followers of the log find the row. */
  private renumber(words: readonly string[], id: string, rid: number): void {
    this.statements
      .get('UPDATE operations SET rid = ? WHERE subject = ? AND kind IN (SELECT value FROM json_each(?))')
      .run(rid, id, JSON.stringify(words));
  }

  /** The row that the caller passed, with its present stamps. */
  private rowOf(id: string, namespace: string, image: object, seen: RowStamp['seen']) {
    const { hlc = '', origin = '', origin_seq = 0 } = image as Partial<RowStamp>;
    return { id, namespace, image, stamp: { hlc, origin, origin_seq, seen } };
  }
}

const stampOf = ({ hlc, origin, seq, covers }: Settled): RowStamp => ({
  hlc,
  origin,
  origin_seq: seq,
  seen: covers,
});
