import assert from 'node:assert/strict';
import { joined, type VersionVector } from '../../protocol/base/version-vector.js';
import { type Kind, wordsOf } from '../../protocol/kinds/kind.js';
import type { Payload } from '../../protocol/kinds/payload.js';
import { editStamp, type Facts, type LiveVersion, type Version } from '../../protocol/kinds/version.js';
import { RELATIONS } from '../../protocol/links/link.js';
import { KINDS as MEMORY_KINDS, TIERS } from '../../protocol/memory/memory.js';
import type { MemoryImage } from '../../protocol/memory/memory-kind.js';
import { joinVersions, settle } from '../../protocol/replication/versions.js';
import fc from './properties.js';

/** Values of all sorts; of each member those are taken that it accepts. */
const POOL: readonly unknown[] = [
  ...[
    '',
    'a',
    'on',
    'off',
    'plain',
    'red',
    'unsigned',
    ...[
      'pending',
      'resolved',
      'rejected',
      'completed',
      'draft',
      'frozen',
      'approved',
      'approve',
      'deny',
      'once',
      'forever',
      'session',
      'claimed',
      'sibling',
      'requires',
    ],
    ...['script', 'asset'],
    ...['user', 'other', 'L4', 'L2', 'self_signed', 'signed_by_peer'],
    ...['pending', 'approved', 'approve', 'deny', 'once', 'forever', 'session'],
    '"ě\n',
    ...['{}', '{"a":[1]}'],
    '2026-01-01T00:00:00.000Z',
    '2026-02-01T00:00:00.000Z',
  ],
  ...[...TIERS, ...RELATIONS.slice(0, 3), ...MEMORY_KINDS.slice(0, 3), null, true, false, 0, 1, 2, 7, 0.5],
  ...[{}, { agent_id: 'ai:a' }, { agent_id: 'ai:b', attest_level: 'agent_attested', attested_by: 'p' }],
  ...[[], ['b', 'a'], ['a', 'c'], [{ uri: 'doc:1' }], [{ agent_id: 'ai:a', approved_at: '2026-01-01' }]],
  ...[[{ gate: 'write', namespace: 'team' }], [{ kind: 'memory', id: 'a', version: 1, digest: 'ab' }]],
  {
    ...{ from: 'pending', to: 'claimed', by: 'ai:a', claimed_by: 'ai:a', nonce: 'AA==' },
    ...{ at: '2026-01-01T00:00:00.000Z', signature: null, public_key: null },
  },
  [
    {
      ...{
        created_at: '2026-01-01T00:00:00.000Z',
        valid_from: null,
        valid_until: '2026-02-01',
        observed_by: 'ai:a',
      },
      ...{ believed_from: '2026-01-01T00:00:00.000Z', believed_to: null },
    },
  ],
  [{ id: 'a', namespace: 'n', title: 't', content: 'c', tier: 'mid', owner: null, scope: null }],
];

/** Members that a later release might write. */
const UNKNOWN: readonly object[] = [{}, { zeta: 1 }, { alpha: { b: [1, null], a: 'x' }, zeta: false }];

/** The values that each member of a payload may have. */
export interface Shape {
  /** The members without which a text is no image. */
  readonly required: Readonly<Record<string, string>>;
  readonly choices: ReadonlyMap<string, readonly unknown[]>;
}

export function shapeOf(payload: Payload<object>): Shape {
  const names = Object.entries({ id: 'subject', namespace: 'team' });
  const required = Object.fromEntries(
    payload.parse({}) === null ? names.filter(([key]) => payload.keys.includes(key)) : [],
  );
  assert.notEqual(payload.parse(required), null, 'an image of defaults');
  const accepted = (key: string) => POOL.filter((value) => payload.parse({ ...required, [key]: value }));
  return { required, choices: new Map(payload.keys.map((key) => [key, accepted(key)])) };
}

/** The JSON of an image, as a peer would send it; unknown members included. */
export function valuesOf(payload: Payload<object>): fc.Arbitrary<Record<string, unknown>> {
  const { required, choices } = shapeOf(payload);
  const members = [...choices].map(([key, values]) => [key, fc.constantFrom(...values)] as const);
  return fc
    .tuple(fc.record(Object.fromEntries(members)), fc.constantFrom(...UNKNOWN))
    .map(([known, unknown]) => ({ ...required, ...known, ...unknown }));
}

interface Step {
  readonly node: number;
  /** The node that it hears of before it writes; itself hears nothing new. */
  readonly hears: number;
  readonly word: number;
  readonly stamp: number;
  readonly values: Record<string, unknown>;
  readonly facts: Record<string, unknown>;
  readonly keeps: boolean;
}

const NODES = 3;

/** All versions of one subject that some nodes wrote who heard of each other now and then. */
export function histories(kind: Kind): fc.Arbitrary<readonly Version[]> {
  const step: fc.Arbitrary<Step> = fc.record({
    node: fc.nat(NODES - 1),
    hears: fc.nat(NODES - 1),
    word: fc.nat(20),
    stamp: fc.nat(9),
    values: valuesOf(kind.payload),
    facts: valuesOf(kind.removal as Payload<object>),
    keeps: fc.boolean(),
  });
  const identity = identityOf(kind);
  return fc.array(step, { minLength: 1, maxLength: 8 }).map((steps) => historyOf(kind, identity, steps));
}

function historyOf(kind: Kind, identity: object, steps: readonly Step[]): readonly Version[] {
  const nodes = Array.from({ length: NODES }, (_, at) => ({
    origin: `peer-${at}/e`,
    seq: 0,
    seen: {} as VersionVector,
    state: [] as readonly Version[],
  }));
  return steps.map((step) => {
    const node = nodes[step.node]!;
    const other = nodes[step.hears]!;
    node.seen = joined([node.seen, other.seen]);
    node.state = joinVersions(kind, node.state, other.state);
    node.seq += 1;
    const dot = { hlc: `100${step.stamp}`, origin: node.origin, seq: node.seq };
    const covers = { ...node.seen, [node.origin]: node.seq };
    const version = versionFrom(kind, identity, step, { ...dot, covers }, node.state);
    node.seen = covers;
    node.state = joinVersions(kind, node.state, [version]);
    return version;
  });
}

function versionFrom(
  kind: Kind,
  identity: object,
  { word: number, values, facts, keeps }: Step,
  stamp: Pick<Version, 'hlc' | 'origin' | 'seq' | 'covers'>,
  state: readonly Version[],
): Version {
  const words = wordsOf(kind, 'image', 'removal');
  const word = words[number % words.length]!;
  const settled = state.length === 0 ? null : settle(kind, state);
  const row = settled?.image == null ? null : (settled as LiveVersion);
  if (kind.words[word] === 'removal') {
    const removal = {
      ...{ word, reason: 'test', was: keeps ? (row?.image ?? null) : null },
      facts: kind.removal.parse(facts) as Facts,
    };
    return { ...stamp, namespace: row?.namespace ?? 'team', image: null, removal };
  }
  const parsed = kind.payload.parse({ ...values, ...identity });
  assert.ok(parsed !== null);
  const image = kind.table === 'memories' ? writtenMemory(parsed, word, stamp, row) : parsed;
  return { ...stamp, namespace: kind.namespaceOf(image) ?? 'team', image, removal: null };
}

/** The members that the id of a subject follows from: all versions of one subject have the same. */
function identityOf(kind: Kind): object {
  const { required, choices } = shapeOf(kind.payload);
  const idWith = (values: object) => kind.idOf(kind.payload.parse({ ...required, ...values })!);
  const naming = [...choices].filter(([key, values]) =>
    values.some((value) => idWith({ [key]: value }) !== idWith({})),
  );
  const base = kind.payload.parse(required) as Record<string, unknown>;
  return Object.fromEntries(naming.map(([key]) => [key, base[key]]));
}

/** A memory as the table stamps it: creation and edit are dated by operations, and a read leaves the text. */
function writtenMemory(
  values: object,
  word: string,
  stamp: Pick<Version, 'hlc' | 'origin' | 'seq'>,
  row: LiveVersion | null,
): MemoryImage {
  const given = values as MemoryImage;
  if (row === null) return { ...given, created_hlc: stamp.hlc, edited: editStamp(stamp) };
  const before = row.image as MemoryImage;
  const { tier, expires_at, updated_at, version } = given;
  if (word === 'life' || word === 'promote') return { ...before, tier, expires_at, updated_at, version };
  const { created_at, created_hlc, metadata } = before;
  const { agent_id: owner } = metadata;
  const kept = owner === undefined ? given.metadata : { ...given.metadata, agent_id: owner };
  return { ...given, created_at, created_hlc, metadata: kept, edited: editStamp(stamp) };
}
