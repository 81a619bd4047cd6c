import type { Memory } from './memory.js';
import { higherTier } from './memory.js';
import type { MemoryImage, Removal } from './operation-log.js';
import { includes, joined, type VersionVector } from './version-vector.js';

/**
 * How replicas agree (design: mesh, "Merging"). The state of a subject is the set of its maximal versions: those that
 * no other version has seen. Joining two states is the union without what is covered, so it is commutative,
 * associative and idempotent by construction; the row is a pure function of the set.
 */

/** Where a version stands in the log. */
export interface Dot {
  readonly hlc: string;
  readonly origin: string;
  readonly seq: number;
}

interface VersionBase extends Dot {
  /** What it has seen, itself included. */
  readonly covers: VersionVector;
}

/** A version in which the memory lives. */
export interface LiveVersion extends VersionBase {
  readonly image: MemoryImage;
  readonly removal: null;
}

/** A version in which it is gone. */
export interface RemovedVersion extends VersionBase {
  readonly image: null;
  readonly removal: Removal;
}

export type Version = LiveVersion | RemovedVersion;

/** What a set of versions means. */
export type Settled = Dot & { readonly covers: VersionVector } & (
    | { readonly image: MemoryImage; readonly removal: null }
    | { readonly image: null; readonly removal: Removal }
  );

/**
 * The stamp of an edit, which its memory keeps until the next one: `<hlc> <origin> <seq>`. Text order is stamp order.
 * Reads and promotions leave it, so they can neither win against an edit nor bring a deleted memory back.
 */
export function editStamp({ hlc, origin, seq }: Dot): string {
  return `${hlc} ${origin} ${String(seq).padStart(12, '0')}`;
}

/** The write that an edit stamp names; null for a text that is none. */
export function editDot(stamp: string): Dot | null {
  const [hlc, origin, seq, ...rest] = stamp.split(' ');
  if (hlc === undefined || origin === undefined || seq === undefined || rest.length > 0) return null;
  return /^\d{12}$/.test(seq) ? { hlc, origin, seq: Number(seq) } : null;
}

/** Why a memory is no row here: it moved to a namespace that this node may not hold. */
export const ELSEWHERE = 'elsewhere';

/**
 * What an operation means whose payload this node may not hold: the memory is elsewhere, so here it is as if it were
 * removed, until a version comes that brings it back.
 */
export function awayVersion(
  operation: Dot & { readonly namespace: string; readonly seen: VersionVector },
): RemovedVersion {
  const { hlc, origin, seq, seen, namespace } = operation;
  const removal: Removal = {
    kind: 'delete',
    namespace,
    title: '',
    reason: ELSEWHERE,
    expiresAt: null,
    version: 1,
    image: null,
  };
  return { hlc, origin, seq, covers: { ...seen, [origin]: seq }, image: null, removal };
}

const covers = (by: VersionBase, dot: Dot): boolean => includes(by.covers, dot.origin, dot.seq);

const same = (a: Dot, b: Dot): boolean => a.origin === b.origin && a.seq === b.seq;

/** Joins two states. */
export function joinVersions(a: readonly Version[], b: readonly Version[]): readonly Version[] {
  const all = [...a, ...b.filter((version) => !a.some((known) => same(known, version)))];
  return all.filter((version) => !all.some((other) => !same(other, version) && covers(other, version)));
}

/** True when a later stamp is on the left. */
export function isLater(a: Dot, b: Dot): boolean {
  if (a.hlc !== b.hlc) return a.hlc > b.hlc;
  if (a.origin !== b.origin) return a.origin > b.origin;
  return a.seq > b.seq;
}

const latest = <T extends Dot>(versions: readonly T[]): T =>
  versions.reduce((best, version) => (isLater(version, best) ? version : best));

/** A removal ends the versions whose last edit it has seen; an expiry only those that are not to live longer than it knew. */
function ends(by: RemovedVersion, version: LiveVersion): boolean {
  const edit = editDot(version.image.edited) ?? version;
  if (!covers(by, edit)) return false;
  if (by.removal.kind !== 'expire') return true;
  const { expires_at } = version.image;
  return expires_at !== null && expires_at <= (by.removal.expiresAt ?? '');
}

/** What a state (one version at least) means for the row. */
export function settle(versions: readonly Version[]): Settled {
  const seen = joined(versions.map((version) => version.covers));
  const { hlc, origin, seq } = latest(versions);
  const stamp = { hlc, origin, seq, covers: seen };
  const removed = versions.filter((version) => version.removal !== null);
  const living = versions
    .filter((version) => version.removal === null)
    .filter((version) => !removed.some((removal) => ends(removal, version)));
  const highest = Math.max(...versions.map((version) => (version.image ?? version.removal)!.version));
  // Alone a version means what it says; beside others the outcome is a version that none of them was. So it is for
  // removals: what one of them ended may have been shown beside the others under that number.
  const version = versions.length === 1 ? highest : highest + 1;
  if (living.length === 0) {
    return { ...stamp, image: null, removal: { ...latest(removed).removal, version } };
  }
  const image = living.length === 1 ? living[0]!.image : mergedImage(living.map((version) => version.image));
  return { ...stamp, image: image.version === version ? image : { ...image, version }, removal: null };
}

/** The content of the latest edit; tier, expiry and origin of the row from all of them. */
function mergedImage(images: readonly MemoryImage[]): MemoryImage {
  // Images of one edit differ in tier and expiry alone.
  const winner = images.reduce((best, image) => (image.edited > best.edited ? image : best));
  const first = images.reduce((best, image) =>
    image.created_hlc < best.created_hlc ||
    (image.created_hlc === best.created_hlc && image.edited < best.edited)
      ? image
      : best,
  );
  const tier = images.map((image) => image.tier).reduce(higherTier);
  const expiries = images.map((image) => image.expires_at);
  const merged: MemoryImage = {
    ...winner,
    tier,
    expires_at: expiries.includes(null) ? null : expiries.toSorted().at(-1)!,
    updated_at: images
      .map((image) => image.updated_at)
      .toSorted()
      .at(-1)!,
    created_at: first.created_at,
    created_hlc: first.created_hlc,
  };
  return withOwner(merged, first.metadata['agent_id']);
}

/** The row belongs to who made it first; a signature of somebody else's text does not attest that. */
function withOwner(image: MemoryImage, owner: unknown): MemoryImage {
  if (image.metadata['agent_id'] === owner) return image;
  const { agent_id: _agent, attested_by: _by, ...metadata } = image.metadata;
  return {
    ...image,
    metadata: {
      ...metadata,
      ...(owner === undefined ? {} : { agent_id: owner }),
      attest_level: 'claimed',
    },
    write_signature: null,
  };
}

/** An operation of a subject, as far as losing goes. */
export interface HistoricEdit extends Dot {
  readonly kind: string;
  /** What it had seen, itself not included. */
  readonly seen: VersionVector;
}

type Seeing = Pick<HistoricEdit, 'origin' | 'seq' | 'seen'>;

/**
 * Those of one subject's operations that none of the others has seen, nor the same node followed up. One pass: a subject may
 * have thousands.
 */
export function maximal<T extends Seeing>(operations: readonly T[]): readonly T[] {
  const superseded = new Map<string, number>();
  const supersede = (origin: string, until: number) => {
    if ((superseded.get(origin) ?? 0) < until) superseded.set(origin, until);
  };
  for (const { origin, seq, seen } of operations) {
    // Everything before it, and nothing else of its own node, whatever it says.
    supersede(origin, seq - 1);
    for (const [other, until] of Object.entries(seen)) if (other !== origin) supersede(other, until);
  }
  return operations.filter(({ origin, seq }) => (superseded.get(origin) ?? 0) < seq);
}

/**
 * Who lost against whom among one subject's operations. Of another node's operations those may be concurrent with one that
 * lie between what it has seen and the first that has seen it, so a history without conflicts costs next to nothing.
 */
export function lossesAmong<T extends HistoricEdit>(
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
        const lost = isLater(one, other) ? loserOf(one, other) : null;
        if (lost !== null) losses.push(lost);
      }
    }
  }
  return losses;
}

/** The index of the first operation of a node, in their order, that is beyond a sequence. */
function firstAfter(line: readonly Dot[], seq: number): number {
  let [from, to] = [0, line.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (line[middle]!.seq > seq) to = middle;
    else from = middle + 1;
  }
  return from;
}

const EDITS = new Set(['store', 'update', 'restore']);
const DELETIONS = new Set(['delete', 'archive']);

/** True for operations whose effect somebody asked for and may lose. */
export const isContested = (kind: string): boolean => EDITS.has(kind) || DELETIONS.has(kind);

/**
 * Who of two concurrent operations on one subject lost, or null: of two edits the earlier, of a deletion and an edit
 * the deletion. A pure function of the two, so every node lists the same losers in whatever order they came.
 */
export function loserOf<T extends HistoricEdit>(a: T, b: T): { loser: T; winner: T } | null {
  if (!isContested(a.kind) || !isContested(b.kind)) return null;
  // What one node wrote one after the other is never concurrent, also where the later write began anew.
  if (a.origin === b.origin) return null;
  if (includes(a.seen, b.origin, b.seq) || includes(b.seen, a.origin, a.seq)) return null;
  const [aDeletes, bDeletes] = [DELETIONS.has(a.kind), DELETIONS.has(b.kind)];
  if (aDeletes && bDeletes) return null;
  const aLoses = aDeletes !== bDeletes ? aDeletes : isLater(b, a);
  return aLoses ? { loser: a, winner: b } : { loser: b, winner: a };
}

/** The memory of a state in which it lives; what is local comes from the row as it was, if there was one. */
export function memoryOf(settled: Settled & { readonly image: MemoryImage }, before: Memory | null): Memory {
  return {
    ...settled.image,
    access_count: before?.access_count ?? 0,
    last_accessed_at: before?.last_accessed_at ?? null,
    hlc: settled.hlc,
    origin: settled.origin,
    origin_seq: settled.seq,
    seen: settled.covers,
  };
}
