import assert from 'node:assert/strict';
import { it } from 'node:test';
import { canonicalJson } from '../../protocol/canonical-json.js';
import { type MemoryImage, memoryPayload, removalPayload } from '../../protocol/operation-log.js';
import { versionOf } from '../../protocol/parse-payload.js';
import { editStamp, joinVersions, type Settled, settle, type Version } from '../../protocol/replica.js';
import { Dice } from '../sim/dice.js';
import { type Json, KIND_MEANINGS, type Told } from '../support/meaning.js';
import { aMemory } from '../support/memories.js';

const ID = 'm';
const SEEDS = 1500;
const memory = KIND_MEANINGS.find(({ name }) => name === 'memory')!;
const instant = (hour: number) => `2026-11-21T${String(hour).padStart(2, '0')}:00:00.000Z`;

/** One node and the operations on the memory that it has, in the order in which they came. */
interface Replica {
  readonly origin: string;
  readonly told: Told[];
}

const versionsOf = (told: readonly Told[]) =>
  told.reduce<readonly Version[]>((state, one) => {
    const version = versionOf({ ...one, kind: one.word, payload: canonicalJson(one.payload) });
    assert.ok(version !== null, `${one.word} is no version`);
    return joinVersions(state, [version]);
  }, []);

/** What a node writes next, on top of what it has. */
function write(dice: Dice, { origin, told }: Replica): Told {
  const state: Settled | null = told.length === 0 ? null : settle(versionsOf(told));
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
    const version = (state?.removal.version ?? 0) + 1;
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
  return says(word, removalPayload({ ...aMemory(), ...image }, word, word === 'archive'));
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
  return dice.shuffle(all);
}

it('the meaning by which logs are audited is that of the merge, over drawn histories', () => {
  const met = { merged: 0, removed: 0, revived: 0, expired: 0 };
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const told = history(seed);
    const settled = settle(versionsOf(told));
    const meant = memory.mean(told);
    const { image, removal, hlc, origin, seq, covers } = settled;
    assert.deepEqual(
      [meant.image && canonicalJson(meant.image), meant.removal, meant.copy && canonicalJson(meant.copy)],
      [
        image && memoryPayload(image),
        removal && { word: removal.kind, reason: removal.reason, version: removal.version },
        removal?.image ? memoryPayload(removal.image) : null,
      ],
      `seed ${seed}`,
    );
    assert.deepEqual([meant.latest.hlc, meant.latest.origin, meant.latest.seq], [hlc, origin, seq]);
    assert.equal(canonicalJson(meant.seen), canonicalJson(covers), `seed ${seed}`);
    const versions = versionsOf(told);
    const removals = versions.filter((version) => version.removal !== null);
    if (image === null) met.removed += 1;
    else if (removals.length > 0) met.revived += 1;
    if (versions.length - removals.length > 1) met.merged += 1;
    if (removals.some((version) => version.removal!.kind === 'expire') && versions.length > 1)
      met.expired += 1;
  }
  for (const [what, count] of Object.entries(met)) assert.ok(count > 50, `${what}: only ${count} histories`);
});
