import type { KindFacts } from './kind-facts.js';
import { imageOf, isRemoval, type Meaning, removalOf, standing } from './meaning.js';
import { covered, hasSeen, type Json, latestOf, maximalOf, type Told } from './told.js';

const TIER_ORDER: readonly unknown[] = ['short', 'mid', 'long'];

/** Which write made a text: its member `edited`, or the version itself. */
function editOf(one: Told, image: Json): { origin: string; seq: number } {
  const [, origin, seq] = /^\S+ (\S+) (\d{12})$/.exec(String(image['edited'])) ?? [];
  return origin === undefined ? one : { origin, seq: Number(seq) };
}

/** A removal ends the edits that it has seen, and an expiry only what is not to live longer than it knew. */
function ends(kind: KindFacts, removal: Told, living: Told): boolean {
  const image = imageOf(kind, living);
  const edit = editOf(living, image);
  if (!hasSeen(covered(removal), edit.origin, edit.seq)) return false;
  if (removal.away || removal.word !== 'expire') return true;
  const [lives, knew] = [image['expires_at'], removalOf(kind, removal).facts['expires_at'] ?? ''];
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
  // A text that another agent signed says nothing about who owns the row.
  for (const member of ['agent_id', 'attested_by']) delete metadata[member];
  if (owner !== undefined) metadata['agent_id'] = owner;
  metadata['attest_level'] = 'claimed';
  return { ...merged, metadata, write_signature: null };
}

/** Maximal versions, without those that a removal ends, merged member by member. */
export function memoryMeaning(kind: KindFacts, operations: readonly Told[]): Meaning {
  const versions = maximalOf(operations);
  const removals = versions.filter((one) => isRemoval(kind, one));
  const living = versions.filter(
    (one) => !isRemoval(kind, one) && !removals.some((removal) => ends(kind, removal, one)),
  );
  const numbers = versions.map((one) =>
    Number((isRemoval(kind, one) ? removalOf(kind, one).facts : imageOf(kind, one))['version']),
  );
  // What several versions came to was none of them, so it has a number that none of them had.
  const version = Math.max(...numbers) + (versions.length > 1 ? 1 : 0);
  const all = standing(versions);
  if (living.length > 0) {
    const images = living.map((one) => imageOf(kind, one));
    const image: Json = { ...(images.length > 1 ? mergeOf(images) : images[0]!), version };
    return { ...all, image, removal: null, namespace: String(image['namespace']) };
  }
  const last = latestOf(removals);
  const removal = removalOf(kind, last);
  const facts = { ...removal.facts, version };
  return { ...all, image: null, removal: { ...removal, facts }, namespace: last.namespace };
}
