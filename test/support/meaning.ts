/**
 * What the operations of one subject mean, written from the design (mesh, "Merging") and docs/decisions.md without the
 * product's own merge, so that a wrong merge cannot agree with itself. It is slow and simple: all operations are looked at
 * together, whatever order they came in.
 */

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

/** What stands of a subject. */
export interface Meaning {
  /** The members of its row; null when there is to be none. */
  readonly image: Json | null;
  /** Why there is none; null for a row. */
  readonly removal: { readonly word: string; readonly reason: unknown; readonly version: number } | null;
  /** The copy of the row that the standing removal gives to every archive. */
  readonly copy: Json | null;
  readonly latest: Told;
  readonly seen: Vector;
}

/** One kind of replicated subject. */
export interface KindMeaning {
  readonly name: string;
  /** The words of its operations; what they mean follows from `mean`. */
  readonly words: ReadonlySet<string>;
  /** Words that change no row. */
  readonly notes: ReadonlySet<string>;
  /** Of one operation at least; throws `Unreadable` when what counts has no payload. */
  mean(operations: readonly Told[]): Meaning;
}

/** The log has lost what would say what a subject means. */
export class Unreadable extends Error {}

const nameOf = ({ origin, seq }: Told) => `${origin}/${seq}`;

/** What a version has seen, itself included. */
const covered = ({ seen, origin, seq }: Told): Vector => ({ ...seen, [origin]: seq });

const hasSeen = (vector: Vector, origin: string, seq: number) => (vector[origin] ?? 0) >= seq;

/** Later by clock, then by origin, then by number. */
const later = (a: Told, b: Told) => {
  if (a.hlc !== b.hlc) return a.hlc > b.hlc;
  return a.origin === b.origin ? a.seq > b.seq : a.origin > b.origin;
};

const latestOf = (operations: readonly Told[]) =>
  operations.reduce((best, one) => (later(one, best) ? one : best));

/** Those that none of the others has seen. */
export function maximalOf(operations: readonly Told[]): readonly Told[] {
  // The newest mostly has seen all the others, so they are asked first.
  const others = operations.map((one) => ({ one, sees: covered(one) })).reverse();
  return operations.filter(
    (one) => !others.some((other) => other.one !== one && hasSeen(other.sees, one.origin, one.seq)),
  );
}

function joinOf(vectors: readonly Vector[]): Vector {
  const join: Record<string, number> = {};
  for (const [origin, seq] of vectors.flatMap((vector) => Object.entries(vector)))
    if (seq > (join[origin] ?? 0)) join[origin] = seq;
  return join;
}

const MEMORY_REMOVALS: ReadonlySet<string> = new Set(['delete', 'expire', 'archive']);
const TIER_ORDER: readonly unknown[] = ['short', 'mid', 'long'];

/** The payload that says what a version is; a version that is away is as good as deleted. */
function toldBy(one: Told): Json {
  if (one.payload !== null) return one.payload;
  if (one.away) return { reason: 'elsewhere', version: 1 };
  throw new Unreadable(`${nameOf(one)} counts, and the log does not have its payload`);
}

const isRemoval = (one: Told) => one.away || MEMORY_REMOVALS.has(one.word);

/** Which write made a text: its member `edited`, or the version itself. */
function editOf(one: Told, image: Json): { origin: string; seq: number } {
  const [, origin, seq] = /^\S+ (\S+) (\d{12})$/.exec(String(image['edited'])) ?? [];
  return origin === undefined ? one : { origin, seq: Number(seq) };
}

/** A removal ends what it has seen, and an expiry only what is not to live longer than it knew. */
function ends(removal: Told, living: Told): boolean {
  const image = toldBy(living);
  const edit = editOf(living, image);
  if (!hasSeen(covered(removal), edit.origin, edit.seq)) return false;
  if (removal.away || removal.word !== 'expire') return true;
  const [lives, knew] = [image['expires_at'], toldBy(removal)['expires_at'] ?? ''];
  return lives !== null && String(lives) <= String(knew);
}

const greatest = (values: readonly unknown[]) => values.map(String).sort().at(-1)!;

/** The text of the latest edit, with what is joined from all of them. */
function mergeOf(images: readonly Json[]): Json {
  const text = (image: Json, member: string) => String(image[member]);
  const [winner] = [...images].sort((a, b) => (text(a, 'edited') < text(b, 'edited') ? 1 : -1));
  const [first] = [...images].sort((a, b) =>
    `${text(a, 'created_hlc')} ${text(a, 'edited')}` < `${text(b, 'created_hlc')} ${text(b, 'edited')}`
      ? -1
      : 1,
  );
  const expiries = images.map((image) => image['expires_at']);
  const merged: Record<string, unknown> = {
    ...winner,
    tier: TIER_ORDER[Math.max(...images.map((image) => TIER_ORDER.indexOf(image['tier'])))],
    expires_at: expiries.includes(null) ? null : greatest(expiries),
    updated_at: greatest(images.map((image) => image['updated_at'])),
    created_at: first!['created_at'],
    created_hlc: first!['created_hlc'],
  };
  const owner = (first!['metadata'] as Json)['agent_id'];
  const metadata: Record<string, unknown> = { ...(winner!['metadata'] as Json) };
  if (metadata['agent_id'] === owner) return merged;
  // A text that somebody else signed says nothing about who owns the row.
  for (const member of ['agent_id', 'attested_by']) delete metadata[member];
  if (owner !== undefined) metadata['agent_id'] = owner;
  metadata['attest_level'] = 'claimed';
  return { ...merged, metadata, write_signature: null };
}

/** Maximal versions, without those that a removal ends, merged. */
function memoryMeaning(operations: readonly Told[]): Meaning {
  const versions = maximalOf(operations);
  const removals = versions.filter(isRemoval);
  const living = versions.filter((one) => !isRemoval(one) && !removals.some((removal) => ends(removal, one)));
  const highest = Math.max(...versions.map((one) => Number(toldBy(one)['version'])));
  // What several versions came to was none of them, so it has a number that none of them had.
  const version = versions.length > 1 ? highest + 1 : highest;
  const stands = { latest: latestOf(versions), seen: joinOf(versions.map(covered)) };
  if (living.length > 0) {
    const images = living.map(toldBy);
    const image = images.length > 1 ? mergeOf(images) : images[0]!;
    return { ...stands, image: { ...image, version }, removal: null, copy: null };
  }
  const last = latestOf(removals);
  const { reason, was } = toldBy(last);
  const word = last.away ? 'delete' : last.word;
  return {
    ...stands,
    image: null,
    removal: { word, reason, version },
    copy: (was as Json | undefined) ?? null,
  };
}

/** Of the links between the same two with the same relation the later stands. */
function linkMeaning(operations: readonly Told[]): Meaning {
  const latest = latestOf(operations);
  return { image: toldBy(latest), removal: null, copy: null, latest, seen: covered(latest) };
}

const NONE: ReadonlySet<string> = new Set();

/** Every kind of subject that operations change. */
export const KIND_MEANINGS: readonly KindMeaning[] = [
  {
    name: 'memory',
    words: new Set(['store', 'update', 'promote', 'life', 'restore', ...MEMORY_REMOVALS]),
    notes: new Set(['purge']),
    mean: memoryMeaning,
  },
  { name: 'link', words: new Set(['link']), notes: NONE, mean: linkMeaning },
];
