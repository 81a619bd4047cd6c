import { includes, type VersionVector } from '../../../protocol/base/version-vector.js';
import type { Connection } from '../../../storage/sql/connection.js';
import { type ClientHistory, type ClientRow, type Edit, isPlain, isPromised } from './client-history.js';
import type { ProcessNode } from './process-node.js';

interface Logged {
  readonly origin: string;
  readonly seq: number;
  readonly kind: string;
  readonly seen: VersionVector;
  readonly content: string | null;
  readonly parked: string | null;
}

/** What became of the promises, beside those that the present rows keep. */
export interface Kept {
  /** Listed as losers of a conflict. */
  listed: number;
  /** Replaced by a later write of a client that had seen them. */
  replaced: number;
  /** Rows that stand although their deletion was promised, because an edit came that the deletion had not seen. */
  revived: number;
}

export interface Checked {
  readonly problems: readonly string[];
  readonly kept: Kept;
  /** Operations that lost against another, sorted. */
  readonly losers: readonly string[];
}

const REMOVALS: ReadonlySet<string> = new Set(['delete', 'archive', 'forget', 'expire']);

/**
 * Holds a node's database against what the clients were told; the node may run. Answers what is wrong, one line each.
 */
export function checkHistory(node: ProcessNode, history: ClientHistory): Checked {
  const db = node.openBeside();
  try {
    return new Check(db, node.name).run(history);
  } finally {
    db.close();
  }
}

class Check {
  private readonly problems: string[] = [];
  private readonly kept: Kept = { listed: 0, replaced: 0, revived: 0 };
  private readonly contents: ReadonlyMap<string, string>;
  private readonly losers: ReadonlySet<string>;

  constructor(
    private readonly db: Connection,
    private readonly name: string,
  ) {
    const rows = db.prepare('SELECT id, content FROM memories').all() as { id: string; content: string }[];
    this.contents = new Map(rows.map(({ id, content }) => [id, content]));
    const lost = db.prepare('SELECT origin, origin_seq FROM conflicts').all();
    this.losers = new Set(
      (lost as { origin: string; origin_seq: number }[]).map(
        ({ origin, origin_seq }) => `${origin}/${origin_seq}`,
      ),
    );
  }

  run(history: ClientHistory): Checked {
    for (const row of history.rows) {
      if (row.id === null) continue;
      const present = this.contents.get(row.id);
      if (isPlain(row)) this.checkPlain(row, present);
      for (const edit of row.edits)
        if (isPromised(edit) && present !== edit.content) this.checkEdit(row, edit);
      if (present !== undefined) {
        this.checkPresent(row, present);
        if (row.deletes.some(isPromised)) this.checkRevived(row);
      }
    }
    return { problems: this.problems, kept: this.kept, losers: [...this.losers].sort() };
  }

  /** Nobody else had a hand in it: it must be exactly what the client was told last. */
  private checkPlain(row: ClientRow, present: string | undefined): void {
    const last = row.edits.filter(({ outcome }) => outcome !== 'refused').at(-1);
    const gone = row.deletes.some(({ outcome }) => outcome !== 'refused');
    const expected = gone ? undefined : last?.content;
    if (present !== expected) this.wrong(row, `has ${present}, the client was told ${expected}`);
  }

  private checkEdit(row: ClientRow, edit: Edit): void {
    const log = this.logOf(row.id!);
    const own = log.find(({ kind, content }) => content === edit.content && !REMOVALS.has(kind));
    if (own === undefined || own.parked !== null) {
      const why = own === undefined ? 'not in the log' : `parked: ${own.parked}`;
      this.wrong(row, `${edit.content} (${edit.outcome}) is ${why}`);
      return;
    }
    if (this.losers.has(`${own.origin}/${own.seq}`)) {
      this.kept.listed += 1;
      return;
    }
    const replaced = log.some(
      ({ kind, seen, content, parked }) =>
        parked === null &&
        includes(seen, own.origin, own.seq) &&
        (REMOVALS.has(kind) ? row.deletes.length > 0 : row.edits.some((other) => other.content === content)),
    );
    if (replaced) this.kept.replaced += 1;
    else this.wrong(row, `${edit.content} (${edit.outcome}) is neither present nor listed nor replaced`);
  }

  private checkPresent(row: ClientRow, present: string): void {
    if (!row.edits.some(({ content }) => content === present))
      this.wrong(row, `has ${present}, which no client wrote`);
  }

  /** A row whose deletion was promised may stand for an edit alone that the deletion had not seen. */
  private checkRevived(row: ClientRow): void {
    const log = this.logOf(row.id!);
    const removals = log.filter(({ kind, parked }) => REMOVALS.has(kind) && parked === null);
    const edits = log.filter(({ kind, parked }) => !REMOVALS.has(kind) && parked === null);
    const unseen = edits.some(({ origin, seq }) =>
      removals.every(({ seen }) => !includes(seen, origin, seq)),
    );
    if (removals.length > 0 && unseen) this.kept.revived += 1;
    else this.wrong(row, 'was deleted, and is back');
  }

  private logOf(id: string): Logged[] {
    const rows = this.db
      .prepare('SELECT origin, origin_seq, kind, seen, payload, parked FROM operations WHERE subject = ?')
      .all(id) as {
      origin: string;
      origin_seq: number;
      kind: string;
      seen: string;
      payload: string | null;
      parked: string | null;
    }[];
    return rows.map(({ origin, origin_seq, kind, seen, payload, parked }) => ({
      origin,
      seq: origin_seq,
      kind,
      seen: JSON.parse(seen) as VersionVector,
      content: payload === null ? null : ((JSON.parse(payload) as { content?: string }).content ?? null),
      parked,
    }));
  }

  private wrong(row: ClientRow, what: string): void {
    const attempts = [
      ...row.edits.map(({ node, outcome, content }) => `${content} at ${node.name}: ${outcome}`),
      ...row.deletes.map(({ node, outcome }) => `delete at ${node.name}: ${outcome}`),
    ];
    this.problems.push(`${this.name}: ${row.title} (${row.id}) ${what}; tried: ${attempts.join('; ')}`);
  }
}
