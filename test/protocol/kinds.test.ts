import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalJson } from '../../protocol/base/canonical-json.js';
import { type Kind, wordsOf } from '../../protocol/kinds/kind.js';
import { Kinds } from '../../protocol/kinds/kinds.js';
import type { Payload } from '../../protocol/kinds/payload.js';
import {
  editStamp,
  type Facts,
  type LiveVersion,
  type RemovedVersion,
  type Version,
} from '../../protocol/kinds/version.js';
import { type MemoryImage, memoryKind } from '../../protocol/memory/memory-kind.js';
import { KINDS } from '../../protocol/release.js';
import { sameDots } from '../../protocol/replication/derive.js';
import { removalPayload, versionOf } from '../../protocol/replication/payloads.js';
import { joinVersions, outOfScopeVersion, settle } from '../../protocol/replication/versions.js';
import fc from '../support/properties.js';
import { lampKind, MORE_KINDS, stickerKind } from '../support/throwaway-kinds.js';
import { histories, shapeOf, valuesOf } from '../support/version-sets.js';

/** Members that came after the first format of their kind. */
const LATER: Readonly<Record<string, readonly string[]>> = {
  memory: ['conversation', 'turn', 'valid_from', 'valid_until'],
  link: ['believed_from', 'believed_until', 'earlier', 'public_key', 'retired_at'],
  standard: ['governance', 'operator_set'],
  adoption: [],
  alias: ['digest'],
  pending: ['asked', 'becomes', 'home_number', 'reads', 'written_as'],
  vote: [],
  remembered: ['approver', 'gate'],
  rule: [],
  receipt: [],
  action: ['home_number'],
  action_edge: [],
  lease: ['home_number'],
  signal: [],
  signal_receipt: [],
  blob: [],
  transcript: [],
  erasure_done: [],
  offload: [],
  checkpoint: ['home_number'],
  routine: ['home_number'],
  routine_run: ['home_number'],
  skill: [],
  skill_content: [],
  skill_resource: [],
  token_root: [],
  token_revocation: [],
  sticker: ['colour'],
  lamp: ['home_number'],
};

/** Members without which a text is no image, because they say what it is of. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = { memory: ['id', 'namespace'] };

const joinOf =
  (kind: Kind) =>
  (...states: readonly (readonly Version[])[]) =>
    states.reduce<readonly Version[]>((all, state) => joinVersions(kind, all, state), []);

/** A history with three states of nodes that each hold a part of it. */
const parts = (kind: Kind) =>
  fc.tuple(histories(kind), fc.infiniteStream(fc.integer({ min: 1, max: 7 }))).map(([versions, stream]) => {
    const within = [...stream.take(versions.length)];
    return [1, 2, 4].map((bit) => joinOf(kind)(versions.filter((_, at) => (within[at]! & bit) !== 0)));
  });

for (const kind of MORE_KINDS.all) {
  describe(`the kind "${kind.name}"`, () => {
    const join = joinOf(kind);
    it('joins states in whatever order and number', () => {
      const together = fc.property(parts(kind), ([a = [], b = [], c = []]) => {
        assert.ok(sameDots(join(a, b), join(b, a)));
        assert.ok(sameDots(join(join(a, b), c), join(a, join(b, c))));
        assert.ok(sameDots(join(a, a), a));
        assert.ok(sameDots(join(a, b, b, a), join(a, b)));
      });
      fc.assert(together);
    });

    it('settles every set of versions, in whatever order they came, as the same', () => {
      const orders = fc.tuple(parts(kind), fc.infiniteStream(fc.nat()));
      const settles = fc.property(orders, ([[a = [], b = [], c = []], stream]) => {
        const all = join(a, b, c);
        if (all.length === 0) return;
        const settled = settle(kind, all);
        assert.equal(settled.image === null, settled.removal !== null);
        const keys = [...stream.take(all.length)];
        const shuffled = [...all.keys()].sort((x, y) => keys[x]! - keys[y]!).map((at) => all[at]!);
        assert.deepEqual(settle(kind, shuffled), settled);
        assert.deepEqual(settle(kind, join(c, b, a, b)), settled);
        // The outcome is a version that stands for them all, and a row can hold it.
        assert.deepEqual(settle(kind, [settled]), settled);
        const payload = (settled.image === null ? kind.removal : kind.payload) as Payload<object>;
        const text = payload.text(settled.image ?? settled.removal.facts);
        const held = payload.parse(JSON.parse(text));
        assert.ok(held !== null);
        assert.equal(payload.text(held), text);
      });
      fc.assert(settles, { numRuns: 400 });
    });

    it('lets a version live that its removal has not seen, and ends one that it has', () => {
      const [word = ''] = wordsOf(kind, 'removal');
      const { required } = shapeOf(kind.payload);
      const image = kind.payload.parse(required)!;
      const removal = { word, reason: 'test', facts: kind.removal.parse({}) as Facts, was: null };
      const at = { namespace: 'team' };
      const written: LiveVersion = {
        ...{ ...at, hlc: '1', origin: 'peer-a/e', seq: 1, covers: { 'peer-a/e': 1 } },
        ...{ image, removal: null },
      };
      const beside: RemovedVersion = {
        ...{ ...at, hlc: '2', origin: 'peer-b/e', seq: 1, covers: { 'peer-b/e': 1 } },
        ...{ image: null, removal },
      };
      const both = settle(kind, [written, beside]);
      assert.notEqual(both.image, null);
      assert.deepEqual(both.covers, { 'peer-a/e': 1, 'peer-b/e': 1 });
      const after = { ...beside, covers: { ...written.covers, ...beside.covers } };
      assert.deepEqual(join([written], [after]), [after]);
      assert.equal(settle(kind, [after]).image, null);
      assert.equal(kind.ends(after, written), true);
    });

    it('writes what it reads, unknown members included', () => {
      const roundTrip = fc.property(valuesOf(kind.payload), (values) => {
        const image = kind.payload.parse(values)!;
        const text = kind.payload.text(image);
        assert.equal(kind.payload.text(kind.payload.parse(JSON.parse(text))!), text);
        const omitted = LATER[kind.name]!.filter((key) => !(key in JSON.parse(text)));
        const expected = Object.entries(values).filter(([key]) => !omitted.includes(key));
        assert.equal(text, canonicalJson(Object.fromEntries(expected)));
        const unknown = Object.entries(values).filter(([key]) => !kind.payload.keys.includes(key));
        assert.deepEqual((image as { rest: object }).rest, Object.fromEntries(unknown));
      });
      fc.assert(roundTrip);
    });

    it('reads a text that lacks a member, and leaves out later members while they hold their default', () => {
      const { required, choices } = shapeOf(kind.payload);
      assert.deepEqual(Object.keys(required), REQUIRED[kind.name] ?? []);
      const defaults = kind.payload.parse(required) as Record<string, unknown>;
      const text = kind.payload.text(defaults);
      assert.ok(kind.name in LATER, `LATER says which members of kind "${kind.name}" came later`);
      const later = kind.payload.keys.filter((key) => !(key in JSON.parse(text)));
      assert.deepEqual(later, LATER[kind.name]);
      for (const [key, values] of choices) {
        assert.ok(values.length > 1, `${key} has no values to test with`);
        const other = values.find((value) => canonicalJson(value) !== canonicalJson(defaults[key]));
        const full = JSON.parse(kind.payload.text({ ...defaults, [key]: other })) as Record<string, unknown>;
        assert.deepEqual(full[key], other);
        const { [key]: _lacking, ...older } = full;
        if (key in required) assert.equal(kind.payload.parse(older), null);
        else assert.deepEqual(kind.payload.parse(older), defaults, `a text without ${key}`);
      }
    });

    it('writes the default of a member that an image lacks', () => {
      const { required } = shapeOf(kind.payload);
      const defaults = kind.payload.parse(required)!;
      for (const rest of [{}, { zeta: 1 }]) {
        const text = kind.payload.text({ ...defaults, rest });
        for (const key of kind.payload.keys.filter((name) => !(name in required))) {
          const { [key]: _lacking, ...image } = { ...defaults, rest } as Record<string, unknown>;
          assert.equal(kind.payload.text(image), text, key);
        }
      }
    });

    it('refuses values that no row can hold', () => {
      const { required } = shapeOf(kind.payload);
      for (const value of [null, 'text', 7, [required]]) assert.equal(kind.payload.parse(value), null);
      for (const key of kind.payload.keys) {
        assert.equal(kind.payload.parse({ ...required, [key]: [{ no: 'member has this' }, 7] }), null, key);
      }
    });

    it('reads from an operation the version that it wrote', () => {
      const [put = ''] = wordsOf(kind, 'image');
      const [drop = ''] = wordsOf(kind, 'removal');
      const dot = { origin: 'peer-a/e', seq: 4, hlc: '1000', seen: { 'peer-b/e': 2 } };
      const covers = { 'peer-a/e': 4, 'peer-b/e': 2 };
      const facts = valuesOf(kind.removal as Payload<object>);
      const reads = fc.property(valuesOf(kind.payload), facts, fc.boolean(), (values, said, keeps) => {
        const image = kind.payload.parse(values)!;
        const subject = kind.idOf(image) ?? 'subject';
        const namespace = kind.namespaceOf(image) ?? kind.namespaceOfId(subject) ?? 'team';
        const header = { ...dot, namespace, subject };
        const stamp = { origin: dot.origin, seq: dot.seq, hlc: dot.hlc, covers, namespace };
        const written = { ...header, kind: put, payload: kind.payload.text(image) };
        assert.deepEqual(versionOf(kind, 'image', written), { ...stamp, image, removal: null });
        const removal = {
          reason: 'test',
          facts: kind.removal.parse(said) as Facts,
          was: keeps ? image : null,
        };
        const payload = removalPayload(kind, { id: subject, namespace }, removal);
        assert.equal(payload, canonicalJson(JSON.parse(payload)));
        assert.deepEqual(versionOf(kind, 'removal', { ...header, kind: drop, payload }), {
          ...stamp,
          image: null,
          removal: { word: drop, ...removal },
        });
        // Of another subject, or as a purge, it makes no version.
        const strange = { ...header, subject: 'another', kind: drop, payload };
        assert.equal(versionOf(kind, 'removal', strange), null);
        assert.equal(versionOf(kind, 'purge', { ...header, kind: 'other', payload }), null);
      });
      fc.assert(reads);
    });

    it('counts as removed where its payload may not be', () => {
      const operation = { origin: 'peer-a/e', seq: 4, hlc: '1000', seen: {}, namespace: 'secret' };
      const away = outOfScopeVersion(kind, operation);
      assert.equal(kind.words[away.removal.word], 'removal');
      const settled = settle(kind, [away]);
      assert.deepEqual([settled.image, settled.removal?.reason], [null, 'elsewhere']);
    });
  });
}

describe('a list of kinds', () => {
  it('holds each name and each word once', () => {
    assert.throws(
      () => new Kinds([...KINDS.all, { ...stickerKind, name: 'memory' }]),
      /share a name or a word/,
    );
    const words = { 'link.drop': 'removal' } as const;
    assert.throws(() => new Kinds([...KINDS.all, { ...stickerKind, words }]), /share a name or a word/);
    assert.equal(KINDS.named('sticker'), null);
    assert.equal(KINDS.ofWord('sticker.put'), null);
    assert.throws(() => KINDS.of('sticker'), /there is no kind "sticker"/);
    assert.equal(MORE_KINDS.of('sticker'), stickerKind);
    assert.deepEqual(MORE_KINDS.ofWord('sticker.drop'), { kind: stickerKind, role: 'removal' });
  });
});

describe('joins of members', () => {
  const versionBy = (node: string, hlc: string, image: object): Version => {
    const origin = `${node}/e`;
    return { hlc, origin, seq: 1, covers: { [origin]: 1 }, namespace: 'team', image, removal: null };
  };

  it('take the text of the latest edit and what each join makes of the others', () => {
    const sticker = (values: object) => stickerKind.payload.parse(values)!;
    const [a, b] = [
      versionBy('peer-a', '1', sticker({ text: 'a', tags: ['x', 'b'], score: 9, until: null, zeta: 1 })),
      versionBy(
        'peer-b',
        '2',
        sticker({ text: 'b', tags: ['a', 'b'], score: 2, until: '2026', colour: 'red' }),
      ),
    ];
    const { image } = settle(stickerKind, [a, b]);
    const joined = { text: 'b', tags: ['a', 'b', 'x'], score: 9, until: null, colour: 'red', rest: {} };
    assert.deepEqual(image, joined);
  });

  it('decide between versions of one edit and one creation by their stamps', () => {
    const image = (created_at: string, metadata: object) => ({
      ...memoryKind.payload.parse({ id: 'm1', namespace: 'team', created_at, metadata })!,
      ...{ created_hlc: '1', edited: editStamp({ hlc: '1', origin: 'peer-x/e', seq: 1 }) },
    });
    const attested = { agent_id: 'ai:a', attest_level: 'agent_attested' };
    const a = versionBy('peer-a', '2', image('2026-02', { attest_level: 'claimed' }));
    const b = versionBy('peer-b', '2', image('2026-01', attested));
    const settled = settle<MemoryImage>(memoryKind, [a, b] as Version<MemoryImage>[]);
    assert.deepEqual(settle<MemoryImage>(memoryKind, [b, a] as Version<MemoryImage>[]), settled);
    assert.deepEqual(
      [settled.image?.created_at, settled.image?.metadata],
      ['2026-02', { attest_level: 'claimed' }],
    );
  });

  it('leave the say to the latest home', () => {
    const lamp = (values: object) => lampKind.payload.parse(values)!;
    const former = versionBy('peer-a', '9', lamp({ lit: 'on' }));
    const home = versionBy('peer-b', '2', lamp({ lit: 'off', home_number: 1 }));
    assert.deepEqual(settle(lampKind, [former, home]).image, lamp({ lit: 'off', home_number: 1 }));
    const facts = lampKind.removal.parse({ home_number: 2 }) as Facts;
    const gone: Version = {
      ...{ hlc: '1', origin: 'peer-c/e', seq: 1, covers: { 'peer-c/e': 1 }, namespace: 'team', image: null },
      removal: { word: 'lamp.drop', reason: 'test', facts, was: null },
    };
    assert.equal(settle(lampKind, [former, home, gone]).image, null);
  });
});
