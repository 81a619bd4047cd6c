import type { Origin } from '../base/meanings.js';
import { includes, joined, type VersionVector } from '../base/version-vector.js';
import { homeNumberOf } from '../kinds/home.js';
import { latestEdit } from '../kinds/joins.js';
import type { Kind } from '../kinds/kind.js';
import { NO_REST } from '../kinds/payload.js';
import {
  covers,
  type Dot,
  ERASED,
  isLater,
  type Removal,
  type RemovedVersion,
  type Settled,
  type Version,
  type VersionBase,
} from '../kinds/version.js';

/**
 * The namespace in which an operation placed its subject. The operation has an effect, or moved the subject out of this
 * node's scope.
 */
export interface SubjectPlace {
  readonly origin: Origin;
  readonly seq: number;
  readonly namespace: string;
  readonly seen: VersionVector;
}

/**
 * How replicas agree (design: mesh, "Merging"). The state of a subject is the set of its maximal versions: the versions
 * that no other version has seen. Joining two states is their union without versions that another has seen, so it is
 * commutative, associative and idempotent by construction. The row is a pure function of the set.
 */

/** The reason of a removal that represents a move to a namespace that this node may not hold. */
export const ELSEWHERE = 'elsewhere';

/**
 * The version of an operation whose payload this node may not hold. The subject is out of scope, so it counts as
 * removed here until a later version brings it back.
 */
export function outOfScopeVersion<I extends object>(
  kind: Kind<I>,
  operation: Dot & { readonly namespace: string; readonly seen: VersionVector },
): RemovedVersion<I> {
  const { hlc, origin, seq, seen, namespace } = operation;
  const word = Object.entries(kind.words).find(([, role]) => role === 'removal')?.[0] ?? '';
  const facts = kind.removal.parse({}) ?? { rest: NO_REST };
  const removal: Removal<I> = { word, reason: ELSEWHERE, facts, was: null };
  return { hlc, origin, seq, covers: { ...seen, [origin]: seq }, namespace, image: null, removal };
}

const same = (a: Dot, b: Dot): boolean => a.origin === b.origin && a.seq === b.seq;

/** Joins two states of a subject of a kind. */
export function joinVersions<V extends VersionBase & Pick<Version, 'removal'>>(
  kind: Pick<Kind, 'final'>,
  a: readonly V[],
  b: readonly V[],
): readonly V[] {
  const every = [...a, ...b.filter((version) => !a.some((known) => same(known, version)))];
  const ends = every.filter((version) => isFinal(kind, version));
  const all = ends.length > 0 ? ends : every;
  return all.filter((version) => !all.some((other) => !same(other, version) && covers(other, version)));
}

/** True for a version that ends its subject for good. */
export const isFinal = ({ final }: Pick<Kind, 'final'>, { removal }: Pick<Version, 'removal'>): boolean =>
  removal !== null && final.includes(removal.word);

/** True when no node may keep what another operation of the subject says, for the sake of a version. */
export const isEmptiedBy = (
  kind: Pick<Kind, 'final'>,
  version: VersionBase & Pick<Version, 'removal'>,
  operation: Pick<Dot, 'origin' | 'seq'>,
): boolean => isFinal(kind, version) || (version.removal?.reason === ERASED && covers(version, operation));

const latest = <T extends Dot>(versions: readonly T[]): T =>
  versions.reduce((best, version) => (isLater(version, best) ? version : best));

/** The outcome of a state, which has at least one version. */
export function settle<I extends object>(kind: Kind<I>, versions: readonly Version<I>[]): Settled<I> {
  const [only] = versions;
  if (versions.length === 1) return kind.settled(only!, versions);
  const seen = joined(versions.map((version) => version.covers));
  const { hlc, origin, seq } = latest(versions);
  const stamp = { hlc, origin, seq, covers: seen };
  const relevant = kind.writer === 'home' ? ofLatestHome(versions) : versions;
  const removed = relevant.filter((version) => version.removal !== null);
  const living = relevant
    .filter((version) => version.removal === null)
    .filter((version) => !removed.some((removal) => kind.ends(removal, version)));
  if (living.length === 0) {
    const { namespace, removal } = latest(removed);
    return kind.settled({ ...stamp, namespace, image: null, removal }, versions);
  }
  const winner = latestEdit(kind, living);
  const image = living.length === 1 ? winner.image : kind.merge(living, winner);
  const namespace = kind.namespaceOf(image) ?? winner.namespace;
  return kind.settled({ ...stamp, namespace, image, removal: null }, versions);
}

/** The versions that the latest home wrote. Concurrent versions of a former home do not count. */
function ofLatestHome<I extends object>(versions: readonly Version<I>[]): readonly Version<I>[] {
  const number = Math.max(...versions.map(homeNumberOf));
  return versions.filter((version) => homeNumberOf(version) === number);
}

/** The parts of a subject's operation that decide conflicts. */
export interface HistoricEdit extends Dot {
  /** The word of the operation. */
  readonly kind: string;
  /** The operations that it had seen, without itself. */
  readonly seen: VersionVector;
}

type Seeing = Pick<HistoricEdit, 'origin' | 'seq' | 'seen'>;

/**
 * The operations of one subject that no other operation of the subject has seen, and that the same node did not follow
 * up. One pass: a subject may have thousands.
 */
export function maximal<T extends Seeing>(operations: readonly T[]): readonly T[] {
  const superseded = new Map<string, number>();
  const supersede = (origin: Origin, until: number) => {
    if ((superseded.get(origin) ?? 0) < until) superseded.set(origin, until);
  };
  for (const { origin, seq, seen } of operations) {
    // Everything of its own node before it, and nothing else of that node, whatever `seen` says.
    supersede(origin, seq - 1);
    for (const [other, until] of Object.entries(seen)) if (other !== origin) supersede(other, until);
  }
  return operations.filter(({ origin, seq }) => (superseded.get(origin) ?? 0) < seq);
}

/**
 * The losers and winners among one subject's operations. Of another node, only the operations between what this one has
 * seen and the first that has seen this one can be concurrent with it, so a history without conflicts costs almost
 * nothing.
 */
export function lossesAmong<T extends HistoricEdit>(
  kind: Pick<Kind, 'words' | 'contested' | 'prevailing'>,
  operations: readonly T[],
): readonly { readonly loser: T; readonly winner: T }[] {
  const lines = new Map<string, T[]>();
  for (const one of operations.toSorted((a, b) => a.seq - b.seq)) {
    const line = lines.get(one.origin);
    if (line === undefined) lines.set(one.origin, [one]);
    else line.push(one);
  }
  const losses: { loser: T; winner: T }[] = [];
  for (const one of operations) {
    for (const [origin, line] of lines) {
      for (let at = firstAfter(line, one.seen[origin] ?? 0); at < line.length; at += 1) {
        const other = line[at]!;
        if (includes(other.seen, one.origin, one.seq)) break;
        const lost = isLater(one, other) ? loserOf(kind, one, other) : null;
        if (lost !== null) losses.push(lost);
      }
    }
  }
  return losses;
}

/** The index of the first operation after a sequence, in one node's list. */
function firstAfter(line: readonly Dot[], seq: number): number {
  let [from, to] = [0, line.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (line[middle]!.seq > seq) to = middle;
    else from = middle + 1;
  }
  return from;
}

/**
 * The loser of two concurrent operations on one subject, or null. Of two edits the earlier loses, unless its word prevails
 * and that of the other does not; of a deletion and an edit the deletion loses. A pure function of the two, so every node lists the same losers in any order of arrival.
 */
export function loserOf<T extends HistoricEdit>(
  kind: Pick<Kind, 'words' | 'contested' | 'prevailing'>,
  a: T,
  b: T,
): { loser: T; winner: T } | null {
  if (!kind.contested.includes(a.kind) || !kind.contested.includes(b.kind)) return null;
  // Operations of one node are never concurrent, even when the later one had seen nothing of the subject.
  if (a.origin === b.origin) return null;
  if (includes(a.seen, b.origin, b.seq) || includes(b.seen, a.origin, a.seq)) return null;
  const [aRemoves, bRemoves] = [kind.words[a.kind] === 'removal', kind.words[b.kind] === 'removal'];
  if (aRemoves && bRemoves) return null;
  const [aPrevails, bPrevails] = [kind.prevailing.includes(a.kind), kind.prevailing.includes(b.kind)];
  const later = aPrevails === bPrevails ? isLater(b, a) : bPrevails;
  const aLoses = aRemoves === bRemoves ? later : aRemoves;
  return aLoses ? { loser: a, winner: b } : { loser: b, winner: a };
}
