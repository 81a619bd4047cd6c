import type { KindFacts } from './kind-facts.js';
import { imageOf, isRemoval, type Meaning, removalOf, standing } from './meaning.js';
import { covered, type Dot, hasSeen, isLater, type Json, latestOf, standingOf, type Told } from './told.js';

const TIER_ORDER: readonly unknown[] = ['short', 'mid', 'long'];

/** Which write made a text: its member `edited`, or the version itself. */
function editOf(one: Told, image: Json): Dot {
  const [, hlc, origin, seq] = /^(\S+) (\S+) (\d{12})$/.exec(String(image['edited'])) ?? [];
  return hlc === undefined || origin === undefined ? one : { hlc, origin, seq: Number(seq) };
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

interface Living {
  readonly one: Told;
  readonly image: Json;
}

/** Of several versions with one edit the latest has the text. */
function byEdit(a: Living, b: Living): Living {
  const [edit, other] = [editOf(a.one, a.image), editOf(b.one, b.image)];
  if (isLater(edit, other)) return a;
  return isLater(other, edit) || isLater(b.one, a.one) ? b : a;
}

/** Of several versions with one creation the earlier edit says it, of one edit the earlier version. */
function byCreation(a: Living, b: Living): Living {
  for (const member of ['created_hlc', 'edited']) {
    const [one, other] = [String(a.image[member]), String(b.image[member])];
    if (one !== other) return one < other ? a : b;
  }
  return isLater(b.one, a.one) ? a : b;
}

/** The text of the latest edit, with what is joined from all of them. */
function mergeOf(living: readonly Living[]): Json {
  const images = living.map(({ image }) => image);
  const winner = living.reduce(byEdit).image;
  const first = living.reduce(byCreation).image;
  const expiries = images.map((image) => image['expires_at']);
  const merged: Record<string, unknown> = {
    ...winner,
    tier: TIER_ORDER[Math.max(...images.map((image) => TIER_ORDER.indexOf(image['tier'])))],
    expires_at: expiries.includes(null) ? null : greatest(expiries),
    updated_at: greatest(images.map((image) => image['updated_at'])),
    created_at: first['created_at'],
    created_hlc: first['created_hlc'],
  };
  const owner = (first['metadata'] as Json)['agent_id'];
  const metadata: Record<string, unknown> = { ...(winner['metadata'] as Json) };
  if (metadata['agent_id'] === owner) return merged;
  // A text that another agent signed says nothing about who owns the row.
  for (const member of ['agent_id', 'attested_by']) delete metadata[member];
  if (owner !== undefined) metadata['agent_id'] = owner;
  metadata['attest_level'] = 'claimed';
  return { ...merged, metadata, write_signature: null };
}

/** Maximal versions, without those that a removal ends, merged member by member. */
export function memoryMeaning(kind: KindFacts, operations: readonly Told[]): Meaning {
  // An erasure ends its memory for good, also for those that came after it.
  const erasures = operations.filter(({ word, payload }) => payload !== null && kind.finals.includes(word));
  const versions = standingOf(erasures.length > 0 ? erasures : operations);
  const removals = versions.filter((one) => isRemoval(kind, one));
  const living = versions.filter(
    (one) => !isRemoval(kind, one) && !removals.some((removal) => ends(kind, removal, one)),
  );
  const numbers = versions.map((one) =>
    Number((isRemoval(kind, one) ? removalOf(kind, one).facts : imageOf(kind, one))['version']),
  );
  // What several versions came to was none of them, so it has a number that none of them had.
  const version = Math.max(...numbers) + (versions.length > 1 ? 1 : 0);
  const stands = standing(versions);
  if (living.length > 0) {
    const all = living.map((one) => ({ one, image: imageOf(kind, one) }));
    const image: Json = { ...(all.length > 1 ? mergeOf(all) : all[0]!.image), version };
    return { ...stands, image, removal: null, namespace: String(image['namespace']) };
  }
  const last = latestOf(removals);
  const removal = removalOf(kind, last);
  const facts = { ...removal.facts, version };
  return { ...stands, image: null, removal: { ...removal, facts }, namespace: last.namespace };
}
