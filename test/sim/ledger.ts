import { EPOCH_KIND, epochNoticeOf } from '../../protocol/log/epoch-notice.js';
import { operationId } from '../../protocol/log/operation-log.js';
import { SIM_KINDS } from './sim-kinds.js';
import type { SimNode } from './sim-node.js';

/** An operation as it stood in its origin's log when it became durable there. */
export interface BornOperation {
  readonly id: string;
  readonly origin: string;
  readonly seq: number;
  readonly hlc: string;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly seen: Readonly<Record<string, number>>;
  readonly payload: string;
  /** Name of the node that made it. */
  readonly node: string;
  readonly atMs: number;
  /** What it is called since its numbers turned out to be given twice. */
  renamed: { readonly origin: string; readonly seq: number } | null;
}

const sees = ({ seen }: BornOperation, { origin, seq }: { readonly origin: string; readonly seq: number }) =>
  (seen[origin] ?? 0) >= seq;

/** Names the subject of an operation among those of all kinds. */
export function subjectOf({ kind: word, subject }: Pick<BornOperation, 'kind' | 'subject'>): string {
  return `${SIM_KINDS.ofWord(word)?.kind.name ?? word} ${subject}`;
}

/** A number can be given twice, and with a clock that was set back at one time, but not to one thing. */
export const nameOf = ({ id, hlc, kind, subject }: Pick<BornOperation, 'id' | 'hlc' | 'kind' | 'subject'>) =>
  `${id} ${hlc} ${kind} ${subject}`;

interface Row {
  readonly commit_sequence: number;
  readonly origin: string;
  readonly origin_seq: number;
  readonly hlc: string;
  readonly kind: string;
  readonly namespace: string;
  readonly subject: string;
  readonly seen: string;
  readonly payload: string | null;
}

/** Every operation that became durable at its origin, as an omniscient observer writes it down. */
export class Ledger {
  /** By id; of two under one number, which a disk that was put back can bring about, the later. */
  readonly operations = new Map<string, BornOperation>();
  private readonly known = new Map<string, BornOperation>();
  readonly bySubject = new Map<string, BornOperation[]>();
  private readonly read = new Map<string, number>();

  /** Takes down what a node has committed since the last time; answers its own new operations. */
  record(node: SimNode, nowMs: number): BornOperation[] {
    const after = this.read.get(node.name) ?? 0;
    const rows = node.disk.db
      .prepare(
        `SELECT commit_sequence, origin, origin_seq, hlc, kind, namespace, subject, seen, payload
         FROM operations WHERE commit_sequence > ? ORDER BY commit_sequence`,
      )
      .all(after) as Row[];
    const last = rows.at(-1);
    if (last === undefined) return [];
    this.read.set(node.name, last.commit_sequence);
    const own = rows.filter((row) => row.origin.startsWith(`${node.peerId}/`) && row.payload !== null);
    const born = own.map((row) => ({
      id: `${row.origin}/${row.origin_seq}`,
      origin: row.origin,
      seq: row.origin_seq,
      hlc: row.hlc,
      kind: row.kind,
      namespace: row.namespace,
      subject: row.subject,
      seen: JSON.parse(row.seen) as Record<string, number>,
      payload: row.payload!,
      node: node.name,
      atMs: nowMs,
      renamed: null,
    }));
    const fresh = born.filter((operation) => !this.known.has(nameOf(operation)));
    for (const operation of fresh) {
      this.known.set(nameOf(operation), operation);
      this.operations.set(operation.id, operation);
      const key = subjectOf(operation);
      this.bySubject.set(key, [...(this.bySubject.get(key) ?? []), operation]);
    }
    for (const operation of fresh) if (operation.kind === EPOCH_KIND) this.rename(node, operation);
    return fresh;
  }

  /** Numbers were given twice, and what was written the second time goes on under others. */
  private rename(node: SimNode, told: BornOperation): void {
    const { from, keep } = epochNoticeOf(told)!;
    const renamed = node.disk.db
      .prepare(
        'SELECT origin_seq AS seq, hlc, kind, subject FROM operations WHERE origin = ? AND origin_seq < ?',
      )
      .all(told.origin, told.seq) as { seq: number; hlc: string; kind: string; subject: string }[];
    for (const { seq, ...row } of renamed) {
      const operation = this.known.get(nameOf({ id: operationId(from, keep + seq), ...row }));
      if (operation !== undefined) operation.renamed = { origin: told.origin, seq };
    }
  }

  /** The disk of a node was put back: its numbers begin anew. */
  rewind(node: SimNode): void {
    const last = node.disk.db.prepare('SELECT commit_sequence FROM log_state').pluck().get() as number;
    this.read.set(node.name, last);
  }

  /** True when an operation had seen another. */
  hasSeen(later: BornOperation, earlier: BornOperation): boolean {
    const { renamed } = earlier;
    // A number that was given twice may stand for what came later.
    if (later.atMs < earlier.atMs) return false;
    return sees(later, earlier) || (renamed !== null && sees(later, renamed));
  }

  /**
   * True when an operation of another node had seen one under a number that was given twice. Its vector cannot say so
   * (docs/decisions/operation-log.md, "Vectors that name the second history").
   */
  hasSeenOldNameOnly(later: BornOperation, { node, renamed }: BornOperation): boolean {
    return renamed !== null && later.node !== node && !sees(later, renamed);
  }
}
