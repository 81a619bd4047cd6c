import assert from 'node:assert/strict';
import { it } from 'node:test';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { homeNumberOf } from '../../protocol/kinds/home.js';
import { type Kind, wordsOf } from '../../protocol/kinds/kind.js';
import { NO_REST } from '../../protocol/kinds/payload.js';
import { editStamp, type Settled, type Version } from '../../protocol/kinds/version.js';
import { type MemoryImage, memoryKind, memoryPayload } from '../../protocol/memory/memory-kind.js';
import { KINDS } from '../../protocol/release.js';
import { removalPayload, versionOf } from '../../protocol/replication/payloads.js';
import { joinVersions, outOfScopeVersion, settle } from '../../protocol/replication/versions.js';
import { Dice } from '../sim/dice.js';
import { LEASE_FACTS, leaseKind } from '../sim/sim-kinds.js';
import { KIND_FACTS, type KindFacts, MEMORY } from '../support/kind-facts.js';
import { copyOf, type Meaning } from '../support/meaning.js';
import { meaningOf } from '../support/meaning-of.js';
import { aMemory } from '../support/memories.js';
import fc from '../support/properties.js';
import { MORE_KINDS, THROWAWAY_FACTS } from '../support/throwaway-kinds.js';
import { type Json, type Told, Undecided } from '../support/told.js';
import { histories } from '../support/version-sets.js';

const ID = 'm';
const SEEDS = 1500;
const instant = (hour: number) => `2026-11-21T${String(hour).padStart(2, '0')}:00:00.000Z`;

/** One node and the operations on the memory that it has, in the order in which they came. */
interface Replica {
  readonly origin: string;
  readonly told: Told[];
}

const versionTold = (kind: Kind, one: Told): Version => {
  if (one.away) return outOfScopeVersion(kind, one);
  const source = { ...one, kind: one.word, payload: canonicalJson(one.payload) };
  const version = versionOf(kind, kind.words[one.word]!, source);
  assert.ok(version !== null, `${one.word} is no version`);
  return version;
};

const versionsOf = (kind: Kind, told: readonly Told[]) =>
  told.reduce<readonly Version[]>((state, one) => joinVersions(kind, state, [versionTold(kind, one)]), []);

const stateOf = (told: readonly Told[]): Settled<MemoryImage> | null =>
  told.length === 0
    ? null
    : (settle<object>(memoryKind, versionsOf(memoryKind, told)) as Settled<MemoryImage>);

/** What a node writes next, on top of what it has. */
function write(dice: Dice, { origin, told }: Replica): Told {
  const state = stateOf(told);
  const seq = 1 + Math.max(0, ...told.filter((one) => one.origin === origin).map((one) => one.seq));
  const hlc = `${String(1_000_000 + dice.below(60)).padStart(13, '0')}-${String(seq).padStart(5, '0')}`;
  const dot = { hlc, origin, seq };
  const base = { ...dot, namespace: 'global', subject: ID, seen: state?.covers ?? {}, away: false };
  const says = (word: string, payload: string): Told => ({
    ...base,
    word,
    payload: JSON.parse(payload) as Json,
  });
  const edit = {
    content: `by ${origin} ${seq}`,
    edited: editStamp(dot),
    updated_at: instant(dice.below(24)),
    expires_at: dice.chance(0.3) ? null : instant(dice.below(24)),
  };
  if (state === null || state.image === null) {
    const { metadata, ...fresh } = aMemory({ id: ID, tier: dice.pick(['short', 'mid', 'long']), ...edit });
    const owned = dice.chance(0.8) ? { ...metadata, agent_id: dice.pick(['ai:a', 'ai:b']) } : metadata;
    const version = Number(state?.removal.facts['version'] ?? 0) + 1;
    const image = { ...fresh, metadata: owned, version, created_hlc: hlc, created_at: edit.updated_at };
    return says(state === null ? 'store' : 'restore', memoryPayload(image));
  }
  const { image } = state;
  const word = dice.pick(['update', 'update', 'life', 'promote', 'delete', 'expire', 'archive']);
  if (word === 'update') return says(word, memoryPayload({ ...image, ...edit, version: image.version + 1 }));
  if (word === 'life' || word === 'promote') {
    const moved: Partial<MemoryImage> = word === 'life' ? { expires_at: edit.expires_at } : { tier: 'long' };
    return says(word, memoryPayload({ ...image, ...moved }));
  }
  const { title, expires_at, version } = image;
  const facts = { title, expires_at, version, rest: NO_REST };
  const was = word === 'archive' ? image : null;
  return says(word, removalPayload(memoryKind as Kind, image, { reason: word, facts, was }));
}

/** The operations on one memory of nodes that hear of each other now and then. */
function history(seed: number): Told[] {
  const dice = new Dice(seed, 'meaning');
  const nodes: Replica[] = Array.from({ length: 2 + dice.below(3) }, (_, n) => ({
    origin: `p${n}/e`,
    told: [],
  }));
  const all: Told[] = [];
  for (let at = 0; at < 3 + dice.below(12); at += 1) {
    const node = dice.pick(nodes);
    if (dice.chance(0.4)) {
      const other = dice.pick(nodes);
      for (const one of other.told) if (!node.told.includes(one)) node.told.push(one);
    }
    const operation = write(dice, node);
    node.told.push(operation);
    all.push(operation);
  }
  const away = (one: Told): Told => (dice.chance(0.05) ? { ...one, away: true, payload: null } : one);
  return dice.shuffle(all).map(away);
}

/** What a meaning and the product's outcome say, in one form. */
const saidOf = (facts: KindFacts, { image, removal, namespace, latest, seen, versions }: Meaning) => ({
  image: image && canonicalJson(image),
  removal: removal && [removal.word, removal.reason, canonicalJson(removal.facts)],
  copy: removal && canonicalJson(copyOf(facts, removal.by)),
  stamp: [namespace, latest.hlc, latest.origin, latest.seq, canonicalJson(seen)],
  versions: versions.map(({ origin, seq }) => `${origin}/${seq}`).sort(),
});

function settledOf(kind: Kind, versions: readonly Version[]): ReturnType<typeof saidOf> {
  const { image, removal, namespace, hlc, origin, seq, covers } = settle(kind, versions);
  return {
    image: image && kind.payload.text(image),
    removal: removal && [removal.word, removal.reason, kind.removal.text(removal.facts)],
    copy: removal && (removal.was === null ? 'null' : kind.payload.text(removal.was)),
    stamp: [namespace, hlc, origin, seq, canonicalJson(covers)],
    versions: versions.map((version) => `${version.origin}/${version.seq}`).sort(),
  };
}

const allMet = (met: Readonly<Record<string, number>>) => {
  for (const [what, count] of Object.entries(met)) assert.ok(count > 50, `${what}: only ${count} histories`);
};

it('the meaning by which logs are audited is that of the merge of memories as nodes write them', () => {
  const kind = memoryKind as Kind;
  const met = { merged: 0, removed: 0, revived: 0, expired: 0, away: 0 };
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const told = history(seed);
    const versions = versionsOf(kind, told);
    const meant = meaningOf(MEMORY, told);
    assert.deepEqual(saidOf(MEMORY, meant), settledOf(kind, versions), `seed ${seed}`);
    const removals = versions.filter((version) => version.removal !== null);
    if (meant.image === null) met.removed += 1;
    else if (removals.length > 0) met.revived += 1;
    if (versions.length - removals.length > 1) met.merged += 1;
    if (removals.some((version) => version.removal!.word === 'expire') && versions.length > 1)
      met.expired += 1;
    if (meant.versions.some(({ away }) => away)) met.away += 1;
  }
  allMet(met);
});

/** Versions of one subject as operations; of some the payload is not for this node. */
function toldOf(kind: Kind, versions: readonly Version[], isAway: readonly boolean[]): readonly Told[] {
  const images = versions.flatMap(({ image, removal }) => image ?? removal.was ?? []);
  const subject = images.map((image) => kind.idOf(image)).find((id) => id !== null) ?? 'subject';
  return versions.map((version, at) => {
    const { hlc, origin, seq, covers: seen, image, removal } = version;
    const namespace = kind.namespaceOfId(subject) ?? version.namespace;
    const said = { id: subject, namespace };
    const text = image === null ? removalPayload(kind, said, removal) : kind.payload.text(image);
    const word = removal?.word ?? wordsOf(kind, 'image')[0]!;
    const away = isAway[at]!;
    const payload = away ? null : (JSON.parse(text) as Json);
    return { hlc, origin, seq, seen, namespace, subject, word, payload, away };
  });
}

const DRAWN: readonly (readonly [Kind, KindFacts])[] = [
  ...[...KIND_FACTS, ...THROWAWAY_FACTS].map((facts) => [MORE_KINDS.of(facts.name), facts] as const),
  [leaseKind as unknown as Kind, LEASE_FACTS],
];

it('the audit knows every kind of the release', () => {
  assert.deepEqual(
    KIND_FACTS.map(({ name }) => name),
    KINDS.all.map(({ name }) => name),
  );
  for (const facts of KIND_FACTS) {
    const words = [...facts.puts, ...facts.drops, ...facts.notes];
    assert.deepEqual(words.sort(), Object.keys(KINDS.of(facts.name).words).sort());
  }
});

for (const [kind, facts] of DRAWN) {
  it(`the meaning by which logs are audited is that of the merge of the kind "${kind.name}"`, () => {
    const met = { several: 0, removed: 0, revived: 0, away: 0, ...(facts.home ? { homes: 0 } : {}) };
    const drawn = fc.tuple(histories(kind), fc.infiniteStream(fc.nat(9)));
    const agrees = fc.property(drawn, ([history, stream]) => {
      const away = [...stream.take(history.length)].map((roll) => roll === 0);
      const told = toldOf(kind, history, away);
      const versions = versionsOf(kind, told);
      const meant = meaningOf(facts, told);
      assert.deepEqual(saidOf(facts, meant), settledOf(kind, versions));
      const removals = versions.filter((version) => version.removal !== null);
      if (meant.image === null) met.removed += 1;
      else if (removals.length > 0) met.revived += 1;
      if (versions.length - removals.length > 1) met.several += 1;
      if (meant.versions.some((one) => one.away)) met.away += 1;
      if (met.homes !== undefined && new Set(versions.map(homeNumberOf)).size > 1) met.homes += 1;
    });
    fc.assert(agrees, { numRuns: 1000, seed: 1 });
    allMet(met);
  });
}

it('two versions that each claim to have seen the other mean nothing that the audit could know', () => {
  const [first, second] = history(1).filter(({ word }) => word !== 'expire') as [Told, Told];
  const claims = (one: Told, other: Told): Told => ({ ...one, seen: { [other.origin]: other.seq } });
  const other = { ...second, origin: 'liar/e' };
  assert.throws(() => meaningOf(MEMORY, [claims(first, other), claims(other, first)]), Undecided);
});
