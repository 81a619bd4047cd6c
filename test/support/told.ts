export type Json = Readonly<Record<string, unknown>>;
/** The highest number of each origin that was seen. */
export type Vector = Readonly<Record<string, number>>;

/** An operation as the log tells it. */
export interface Told {
  readonly hlc: string;
  readonly origin: string;
  readonly seq: number;
  readonly word: string;
  readonly namespace: string;
  readonly subject: string;
  readonly seen: Vector;
  /** Null when the log no longer has it. */
  readonly payload: Json | null;
  /** True where the payload lies in a namespace that this node may not hold. */
  readonly away: boolean;
}

/** The log has lost what would say what a subject means. */
export class Unreadable extends Error {}

/**
 * Each version is one that another says it has seen, so arrival decides what stands. Only a member that lies leaves a log
 * so; the beginning of an honest log may be so where an old backup was restored.
 */
export class Undecided extends Error {}

/** The payload of an operation that counts. */
export function payloadOf({ payload, origin, seq }: Told): Json {
  if (payload === null)
    throw new Unreadable(`${origin}/${seq} counts, and the log does not have its payload`);
  return payload;
}

/** What a version has seen, itself included. */
export const covered = ({ seen, origin, seq }: Told): Vector => ({ ...seen, [origin]: seq });

/** True for a vector that has seen the operation of an origin with a number. */
export const hasSeen = (vector: Vector, origin: string, seq: number): boolean => (vector[origin] ?? 0) >= seq;

/** Where an operation stands. */
export type Dot = Pick<Told, 'hlc' | 'origin' | 'seq'>;

/** Later by clock, then by origin, then by number. */
export function isLater(a: Dot, b: Dot): boolean {
  if (a.hlc !== b.hlc) return a.hlc > b.hlc;
  return a.origin === b.origin ? a.seq > b.seq : a.origin > b.origin;
}

/** The latest of operations, one at least. */
export const latestOf = (operations: readonly Told[]): Told =>
  operations.reduce((best, one) => (isLater(one, best) ? one : best));

/** Those that none of the others has seen. */
export function maximalOf(operations: readonly Told[]): readonly Told[] {
  // The newest mostly has seen all the others, so they are asked first.
  const others = operations.map((one) => ({ one, sees: covered(one) })).reverse();
  return operations.filter(
    (one) => !others.some((other) => other.one !== one && hasSeen(other.sees, one.origin, one.seq)),
  );
}

/** The same for operations that mean something; throws `Undecided` when there is none. */
export function standingOf(operations: readonly Told[]): readonly Told[] {
  const maximal = maximalOf(operations);
  if (maximal.length === 0) throw new Undecided('every version is one that another says it has seen');
  return maximal;
}

/** What several have seen together. */
export function joinOf(vectors: readonly Vector[]): Vector {
  const join: Record<string, number> = {};
  for (const [origin, seq] of vectors.flatMap((vector) => Object.entries(vector)))
    if (seq > (join[origin] ?? 0)) join[origin] = seq;
  return join;
}
