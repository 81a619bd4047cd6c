import type { Hlc, Origin } from '../base/meanings.js';
import { includes, type VersionVector } from '../base/version-vector.js';
import type { Rest } from './payload.js';

/** The stamp and log position of a version. */
export interface Dot {
  readonly hlc: Hlc;
  readonly origin: Origin;
  readonly seq: number;
}

export interface VersionBase extends Dot {
  /** The operations that it has seen, itself included. */
  readonly covers: VersionVector;
  readonly namespace: string;
}

/** A version in which the subject is alive. */
export interface LiveVersion<I extends object = object> extends VersionBase {
  readonly image: I;
  readonly removal: null;
}

/** The facts of a removal, without subject, namespace and reason; its kind declares the members. */
export type Facts = { readonly [member: string]: unknown } & { readonly rest: Rest };

/** The contents of a removal: enough to leave a tombstone, and to compare it with versions that it has not seen. */
export interface Removal<I extends object = object> {
  /** The word of its operation. */
  readonly word: string;
  readonly reason: string;
  readonly facts: Facts;
  /** The removed image, for the archives of all nodes; null keeps no copy. */
  readonly was: I | null;
}

/** A version in which the subject is removed. */
export interface RemovedVersion<I extends object = object> extends VersionBase {
  readonly image: null;
  readonly removal: Removal<I>;
}

export type Version<I extends object = object> = LiveVersion<I> | RemovedVersion<I>;

/**
 * The outcome of a set of versions: the row or the tombstone, with the stamp of the latest and the operations that all
 * of them have seen.
 */
export type Settled<I extends object = object> = Version<I>;

/**
 * The stamp of an edit, which its memory keeps until the next edit: `<hlc> <origin> <seq>`. Text order is stamp order.
 * Reads and promotions keep it, so they can neither win against an edit nor bring a deleted memory back.
 */
export function editStamp({ hlc, origin, seq }: Dot): string {
  return `${hlc} ${origin} ${String(seq).padStart(12, '0')}`;
}

/** The write that an edit stamp names; null for another text. */
export function editDot(stamp: string): Dot | null {
  const [hlc, origin, seq, ...rest] = stamp.split(' ');
  if (hlc === undefined || origin === undefined || seq === undefined || rest.length > 0) return null;
  return /^\d{12}$/.test(seq) ? { hlc, origin, seq: Number(seq) } : null;
}

/** The reason of a removal of which the log keeps nothing that the removal has seen: a memory was erased. */
export const ERASED = 'erased';

/** True when a version has seen an operation. */
export const covers = (
  by: { readonly covers: VersionVector },
  { origin, seq }: Pick<Dot, 'origin' | 'seq'>,
): boolean => includes(by.covers, origin, seq);

/** True when the stamp on the left is later. */
export function isLater(a: Dot, b: Dot): boolean {
  if (a.hlc !== b.hlc) return a.hlc > b.hlc;
  if (a.origin !== b.origin) return a.origin > b.origin;
  return a.seq > b.seq;
}
