import { isMail } from '../../protocol/namespaces/mail.js';
import type { Connection } from './connection.js';

interface Holder {
  rid: number;
  id: string;
  conflict_of: string | null;
}

/**
 * Decides which row holds a (title, namespace) when replicas made several rows with it: the row created first, then by
 * id. The others carry its id in `conflict_of` and take its place when it is removed (design: mesh, "Merging").
 * Computed only from the rows, so every node gets the same result.
 *
 * Messages and shared copies may share a title: each of them names itself in `conflict_of`, and none holds the title.
 */
export class TitleSlots {
  private readonly statements;
  /** As JSON: titles, each with its namespace, that this transaction will ask for; null where asking ahead saves nothing. */
  private expected: string | null = null;
  /** Those of them that no row holds. */
  private free: Set<string> | null = null;

  constructor(private readonly db: Connection) {
    this.statements = {
      held: db.prepare<[string], { title: string; namespace: string }>(
        `SELECT m.title, m.namespace FROM json_each(?) AS listed CROSS JOIN memories AS m
           ON m.title = listed.value ->> '$[0]' AND m.namespace = listed.value ->> '$[1]'
         WHERE m.conflict_of IS NULL`,
      ),
      current: db.prepare<[string, string], Holder>(
        'SELECT rid, id, conflict_of FROM memories WHERE title = ? AND namespace = ? AND conflict_of IS NULL',
      ),
      others: db.prepare<[string, string], { n: number }>(
        'SELECT 1 AS n FROM memories WHERE title = ? AND namespace = ? AND conflict_of IS NOT NULL LIMIT 1',
      ),
      all: db.prepare<[string, string, string, string], Holder>(
        `SELECT rid, id, conflict_of, created_hlc FROM memories
         WHERE title = ? AND namespace = ? AND conflict_of IS NULL
         UNION ALL
         SELECT rid, id, conflict_of, created_hlc FROM memories
         WHERE title = ? AND namespace = ? AND conflict_of IS NOT NULL
         ORDER BY created_hlc, id`,
      ),
      set: db.prepare('UPDATE memories SET conflict_of = ? WHERE rid = ?'),
    };
  }

  /** At the beginning of a transaction: asks together who holds the titles of its memories. */
  expect(memories: readonly { readonly title: string; readonly namespace: string }[]): void {
    this.free = null;
    this.expected = null;
    if (this.db.engine === 'sqlite' || memories.length === 0) return;
    this.expected = JSON.stringify(memories.map(({ title, namespace }) => [title, namespace]));
    this.db.ahead(this.statements.held, this.expected);
  }

  /** True when it is known that no row holds a title, so it need not be read. */
  isFree(title: string, namespace: string): boolean {
    if (this.expected !== null) {
      const taken = new Set(this.statements.held.all(this.expected).map(keyOf));
      const asked = (JSON.parse(this.expected) as [string, string][]).map(([t, n]) =>
        keyOf({ title: t, namespace: n }),
      );
      this.free = new Set(asked.filter((key) => !taken.has(key)));
      this.expected = null;
    }
    return this.free?.has(keyOf({ title, namespace })) ?? false;
  }

  /** A row takes a title. */
  private take(title: string, namespace: string): void {
    this.free?.delete(keyOf({ title, namespace }));
  }

  /**
   * The value of `conflict_of` for a row that takes a title, until `settle` runs: the id of another holder, or null.
   */
  rivalOf(id: string, title: string, namespace: string): string | null {
    if (isMail(namespace)) return id;
    const isFree = this.isFree(title, namespace);
    this.take(title, namespace);
    if (isFree) return null;
    const holder = this.statements.current.get(title, namespace);
    return holder === undefined || holder.id === id ? null : holder.id;
  }

  /** Assigns a title to its holder, after rows with it were added, changed or removed. */
  settle(title: string, namespace: string): void {
    if (isMail(namespace)) return;
    if (this.statements.others.get(title, namespace) === undefined) return;
    this.take(title, namespace);
    const holders = this.statements.all.all(title, namespace, title, namespace);
    const winner = holders[0]!;
    // The title is unique among holders, so free it before it is assigned.
    for (const { rid, conflict_of } of holders.slice(1)) {
      if (conflict_of !== winner.id) this.statements.set.run(winner.id, rid);
    }
    if (winner.conflict_of !== null) this.statements.set.run(null, winner.rid);
  }
}

const keyOf = ({ title, namespace }: { readonly title: string; readonly namespace: string }): string =>
  `${namespace}\n${title}`;
