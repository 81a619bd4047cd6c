import { systemCrypto } from '../../../node/seams.js';
import { headerHash } from '../../../protocol/log/operation-log.js';
import type { WireOperation } from '../../../protocol/log/wire-operation.js';
import type { Query } from '../../../protocol/release.js';
import { deleting, OPERATOR, updating } from '../../support/memories.js';
import { replica, verified } from '../../support/replicas.js';
import type { Scene } from './told.js';
import { at, LATER, link, m, mem, NOW, ORIGIN, owned, PEER, START_MS } from './world.js';

const OTHER = '000000000000000b';
const FROM = `peer-${OTHER}/${OTHER}`;

/** What another node wrote: memories, one of them with the title of one of ours, and a link. */
async function others(): Promise<readonly WireOperation[]> {
  const other = replica(OTHER, START_MS + 5000);
  await other.run(mem(400, { namespace: 'team', title: 'from elsewhere', content: 'brought by a peer' }));
  await other.run(mem(401, { title: 'one title' }));
  await other.run({ kind: 'import-link', link: link(400, 401) });
  await other.run(updating(m(400), { content: 'edited elsewhere' }));
  await other.run(deleting(m(401)));
  const operations = await other.read();
  await other.store.close();
  return operations;
}

const headsOf = (operations: readonly WireOperation[]) => {
  const last = operations.at(-1)!;
  return [{ origin: last.origin, seq: last.seq, hash: headerHash(last, systemCrypto), signature: 'test' }];
};

const page = { limit: 4, bytesMax: 1e6 };
const subjects = [
  { kind: 'memory', id: m(400) },
  { kind: 'link', id: `${m(400)}|${m(401)}|related_to` },
];
const sums = [
  { kind: 'memory', namespace: 'team' },
  { kind: 'link', namespace: 'team' },
];

const READS: readonly Query[] = [
  { kind: 'known-origins' },
  { kind: 'read-operations', have: {}, origins: null, limit: 3, bytesMax: 1e6 },
  {
    kind: 'read-operations',
    have: { [FROM]: 2 },
    origins: [FROM],
    limit: 9,
    bytesMax: 1e6,
    upTo: { [FROM]: 4 },
  },
  { kind: 'read-digests' },
  { kind: 'read-buckets', within: [null], after: null, limit: 99 },
  {
    kind: 'read-buckets',
    within: [['team/**'], ['team']],
    after: { kind: 'link', namespace: 'global' },
    limit: 9,
  },
  {
    kind: 'read-namespaces',
    of: 'memory',
    buckets: Array.from({ length: 64 }, (_, n) => n),
    within: [null],
    after: null,
    upTo: null,
    ...page,
  },
  {
    kind: 'read-namespaces',
    of: 'memory',
    buckets: [1, 2, 3],
    within: [['team']],
    after: 'a',
    upTo: 'z',
    ...page,
  },
  { kind: 'find-operation', opId: `${FROM}/1` },
  { kind: 'find-operation', opId: m(400) },
  { kind: 'read-headers', maker: `peer-${OTHER}`, after: 0, limit: 9 },
  { kind: 'list-conflicts', limit: 9 },
  { kind: 'list-conflicts', limit: 1, open: true },
  { kind: 'list-nonces' },
  { kind: 'list-peer-progress' },
  { kind: 'read-ranges', of: sums[0]! },
  { kind: 'read-range-subjects', of: sums[0]!, ranges: Array.from({ length: 256 }, (_, n) => n), limit: 5 },
  {
    kind: 'read-logged',
    places: [
      { origin: FROM, seq: 1 },
      { origin: ORIGIN, seq: 1 },
    ],
    bytesMax: 1e6,
  },
  { kind: 'scrub-namespaces' },
  { kind: 'scrub-rows', of: 'memory', after: null, limit: 9 },
  { kind: 'scrub-rows', of: 'link', after: null, limit: 9 },
  { kind: 'scrub-rows', of: 'action', after: null, limit: 9 },
  { kind: 'scrub-tombstones', after: null, limit: 9 },
  { kind: 'scrub-tombstones', after: { kind: 'memory', id: m(0) }, limit: 9 },
  { kind: 'scrub-log', after: 0, limit: 2 },
  { kind: 'scrub-log', after: 2, limit: 99 },
  { kind: 'list-suspects', limit: 9 },
  { kind: 'superseded-payloads', before: `${START_MS + 9e9}-00000`, everyoneHas: null, after: 0, limit: 99 },
  {
    kind: 'superseded-payloads',
    before: `${START_MS + 9e9}-00000`,
    everyoneHas: { [FROM]: 9 },
    after: 1,
    limit: 2,
  },
  { kind: 'integrity-notes' },
  { kind: 'export-records', after: null, ...page },
  { kind: 'export-records', namespace: 'team/**', after: { kind: 'alias', id: '' }, ...page },
  { kind: 'read-records', of: 'rule', ids: ['R1', 'R2'] },
  { kind: 'audit-heads' },
];

export async function replication(): Promise<Scene> {
  const operations = await others();
  const progress = {
    peerId: `peer-${OTHER}`,
    origin: ORIGIN,
    acked: 3_000_000_000,
    owedTo: 4,
    attempts: 1,
    quarantined: true,
    cause: 'gone',
    firstFailedAtMs: START_MS,
    lastFailedAtMs: START_MS,
    nextTryAtMs: null,
    version: '0.1.0',
  };
  const parked = { peerId: `peer-${OTHER}`, origin: ORIGIN, seq: 3 };
  const repair = {
    kind: 'repair-subjects',
    subjects,
    operations: [],
    withheld: [],
    recount: sums,
    dryRun: false,
  } as const;
  return {
    name: 'replication and repair',
    steps: [
      mem(401, { title: 'one title', metadata: owned('ai:alice') }),
      mem(402, { title: 'ours', namespace: 'team' }),
      updating(m(402), { content: 'edited here' }),
      {
        kind: 'apply-operations',
        from: 'peer-x',
        operations: operations.slice(0, 3).map(verified),
        heads: headsOf(operations.slice(0, 3)),
        nonce: null,
      },
      {
        kind: 'apply-operations',
        from: 'peer-x',
        operations: operations.slice(3).map(verified),
        heads: headsOf(operations),
        nonce: {
          peerId: `peer-${OTHER}`,
          fingerprint: 'ab'.repeat(32),
          usedAtMs: START_MS,
          keepUntilMs: START_MS + 9e9,
        },
      },
      {
        kind: 'use-nonce',
        nonce: {
          peerId: `peer-${OTHER}`,
          fingerprint: 'cd'.repeat(32),
          usedAtMs: START_MS,
          keepUntilMs: START_MS + 9e9,
        },
      },
      {
        kind: 'save-peer-progress',
        progress: [progress],
        parked: [{ ...parked, reason: 'invalid', notedAtMs: START_MS }],
        settled: [],
      },
      {
        kind: 'receive-memory',
        memory: mem(403, { title: 'received', namespace: 'team' }).memory,
        allowedNamespaces: ['team/**'],
        agentIds: [],
        archive: true,
      },
      { kind: 'adopt-peer', peerId: `peer-${OTHER}`, by: 'ai:operator' },
      { kind: 'note-suspects', subjects },
      {
        kind: 'note-integrity',
        name: 'scrub',
        facts: { a: 1 },
        audit: { agentId: 'ai:operator', type: 'scrub.done' },
      },
      ...READS.map((query) => query),
      { ...repair, dryRun: true },
      { ...repair, operations: operations.slice(0, 1).map(verified), recountQuotas: true },
      { kind: 'settle-suspects', subjects },
      { kind: 'derived-memories', ids: [m(400)], viewer: OPERATOR, now: NOW, limit: 9 },
      { ...deleting(m(400)), erasedBy: 'ai:operator' },
      { kind: 'clear-erased', ids: [m(400)] },
      { kind: 'wipe-freed' },
      { kind: 'note-copy', what: 'export', path: '/kept/export.json' },
      { kind: 'note-erasures', ids: [m(400), m(401)] },
      { kind: 'save-peer-progress', progress: [], parked: [], settled: [parked] },
      { kind: 'drop-payloads', places: [{ origin: FROM, seq: 1 }] },
      { kind: 'retry-parked', after: 0, skip: 0, limit: 9 },
      {
        kind: 'import-record',
        record: {
          kind: 'alias',
          id: `${m(402)}|a name`,
          namespace: 'team',
          image: {
            memory_id: m(402),
            namespace: 'team',
            alias: 'A Name',
            folded: 'a name',
            added_by: 'ai:alice',
            added_at: at(1),
            rest: {},
          },
        },
        revive: true,
        viewer: OPERATOR,
      },
      { kind: 'begin-epoch', epoch: '00112233aabbccde', reason: 'put back', keep: 1 },
      { kind: 'reset-clock', epoch: '00112233aabbccdf', reason: 'set back', dryRun: true },
      { kind: 'read-operations', have: {}, origins: null, limit: 99, bytesMax: 1e6 },
    ],
  };
}

const SHA = systemCrypto.sha256Hex('a turn');
const blob = {
  namespace: 'team',
  sha256: SHA,
  data: 'qrpg',
  size: 6,
  agent_id: 'ai:alice',
  rest: {},
} as const;
const UNSIGNED = { signature: null, public_key: null, rest: {} } as const;
const skill = (n: number, name: string) =>
  ({
    skill_id: m(n),
    namespace: 'team',
    name,
    description: 'does it',
    license: null,
    compatibility: null,
    allowed_tools: [],
    metadata: {},
    body_sha256: SHA,
    content_id: `team|${SHA}`,
    pieces: 1,
    digest: SHA,
    agent_id: 'ai:alice',
    created_at: at(1),
    updated_at: at(1),
    superseded_by: null,
    head_of: `team|${name}`,
    ...UNSIGNED,
  }) as const;
const file = (n: number) =>
  ({
    resource: {
      skill_id: m(n),
      namespace: 'team',
      path: 'a/b.md',
      piece: 0,
      kind: 'reference',
      size: 6,
      sha256: SHA,
      content_id: `team|${SHA}`,
      agent_id: 'ai:alice',
      rest: {},
    },
    content: blob,
  }) as never;

export const TEXTS: Scene = {
  name: 'transcripts and skills',
  steps: [
    {
      kind: 'capture-turn',
      memory: mem(500, { namespace: 'team', title: 'a turn', metadata: owned('ai:alice') }).memory,
      transcript: {
        namespace: 'team',
        agent_id: 'ai:alice',
        host_session_id: 's',
        host_turn_index: 3_000_000_000,
        role: 'user',
        host_kind: 'h',
        host_version: null,
        layer: 'L4',
        content_sha256: SHA,
        blob_id: `team|${SHA}`,
        original_size: 6,
        compressed_size: 3,
        memory_id: m(500),
        tool_calls: [],
        attest_level: 'unsigned' as never,
        host_signature: null,
        host_pubkey: null,
        captured_by: PEER,
        created_at: at(1),
        expires_at: at(60),
        archived_at: null,
        rest: {},
      },
      blob,
      digest: SHA,
      path: '/a',
      viewer: OPERATOR,
      archive: true,
    },
    {
      kind: 'offload-content',
      offload: {
        ref_id: 'ofl_A',
        namespace: 'team',
        agent_id: 'ai:alice',
        content_sha256: SHA,
        blob_id: `team|${SHA}`,
        size: 6,
        stored_at: at(1),
        expires_at: null,
        rest: {},
      },
      blob,
      viewer: OPERATOR,
    },
    { kind: 'deref-content', refId: 'ofl_A', by: 'ai:alice', viewer: OPERATOR },
    { kind: 'deref-content', refId: 'ofl_A', by: 'ai:other', viewer: OPERATOR },
    { kind: 'store-skill-files', skillId: m(510), namespace: 'team', files: [file(510)], viewer: OPERATOR },
    {
      kind: 'register-skill',
      skill: skill(510, 'deploy'),
      body: blob,
      files: [],
      viewer: OPERATOR,
      rules: true,
    },
    {
      kind: 'register-skill',
      skill: skill(511, 'deploy'),
      body: blob,
      files: [file(511)],
      viewer: OPERATOR,
      rules: false,
    },
    { kind: 'store-skill-files', skillId: m(512), namespace: 'team', files: [], viewer: OPERATOR },
    { kind: 'drop-skill-upload', skillId: m(512), before: null },
    { kind: 'note-skill-export', skillId: m(511), digest: SHA, folder: '/a', files: 2, by: 'ai:alice' },
    { kind: 'sweep-transcripts', transcripts: [{ id: 'ai:alice|3000000000|s', archivedBefore: LATER }] },
    { kind: 'sweep-offloads', ids: ['ofl_A|ai:alice'] },
    {
      kind: 'find-records',
      of: 'transcript-line',
      where: { host_turn_index: { from: 1 } },
      order: { by: 'host_session_id' },
      limit: 5,
      viewer: null,
      now: NOW,
    },
  ],
};
