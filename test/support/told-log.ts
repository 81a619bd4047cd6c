import type { OperationRow } from './chain-audit.js';
import { idOf, type KindFacts } from './kind-facts.js';
import type { Json, Told } from './told.js';

/** What a log says of the subjects of each kind, and what is wrong with it. */
export class ToldLog {
  readonly problems: string[] = [];
  /** The operations that have an effect, by kind and subject, in the order in which they came. */
  private readonly told: ReadonlyMap<string, Map<string, Told[]>>;
  private readonly byWord: ReadonlyMap<string, KindFacts>;

  constructor(kinds: readonly KindFacts[], operations: readonly OperationRow[]) {
    this.told = new Map(kinds.map(({ name }) => [name, new Map()]));
    this.byWord = new Map(
      kinds.flatMap((kind) => [...kind.puts, ...kind.drops, ...kind.notes].map((word) => [word, kind])),
    );
    for (const row of operations) this.take(row);
  }

  ofKind({ name }: KindFacts): ReadonlyMap<string, readonly Told[]> {
    return this.told.get(name)!;
  }

  private take(row: OperationRow): void {
    const away = row.parked === 'elsewhere';
    if (row.kind === 'epoch' || (row.parked !== null && !away)) return;
    const name = `${row.origin}/${row.origin_seq}`;
    const kind = this.byWord.get(row.kind);
    if (kind === undefined) {
      this.problems.push(`${name} is a ${row.kind}, which means nothing`);
      return;
    }
    const payload = row.payload === null || away ? null : readObject(row.payload);
    if (payload === undefined || (payload !== null && !isOf(kind, row, payload))) {
      this.problems.push(`the payload of ${name} is no ${row.kind}`);
      return;
    }
    const bySubject = this.told.get(kind.name)!;
    const { kind: word, origin_seq: seq, subject } = row;
    const one: Told = { ...row, seq, word, seen: JSON.parse(row.seen), payload, away };
    const before = bySubject.get(subject);
    if (before === undefined) bySubject.set(subject, [one]);
    else before.push(one);
  }
}

/** The object that a text holds; undefined for another text. */
function readObject(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
  } catch {
    return undefined;
  }
}

/** True for a payload that speaks of the subject of its operation. */
function isOf(kind: KindFacts, { kind: word, subject, namespace }: OperationRow, payload: Json): boolean {
  if (kind.notes.includes(word)) return true;
  if (kind.drops.includes(word)) {
    const { id, namespace: of, reason } = payload;
    return id === subject && of === namespace && typeof reason === 'string';
  }
  if (kind.rows === 'memories' && payload['namespace'] !== namespace) return false;
  return kind.id === null || idOf(kind.id, { ...kind.image, ...payload }) === subject;
}
