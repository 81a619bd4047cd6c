export type Row = Record<string, unknown>;

/** One row of version 49 and what it must be after the upgrade, where that is not the same value. */
export interface OlderMemory {
  readonly row: Row;
  readonly becomes: Row;
}

const T = '2026-01-02T03:04:05.678Z';
/** A row without anything special. */
export const PLAIN = {
  tier: 'long',
  namespace: 'global',
  content: 'Nothing special.',
  tags: '[]',
  priority: 5,
  confidence: 1,
  source: 'api',
  access_count: 0,
  created_at: T,
  updated_at: T,
  last_accessed_at: null,
  expires_at: null,
  metadata: '{}',
  embedding: null,
  embedding_dim: null,
  reflection_depth: 0,
  memory_kind: 'observation',
  atomised_into: null,
  atom_of: null,
  entity_id: null,
  persona_version: null,
  citations: '[]',
  source_uri: null,
  source_span: null,
  confidence_source: 'caller_provided',
  confidence_signals: null,
  confidence_decayed_at: null,
  mentioned_entity_id: null,
  version: 1,
} as const;

export const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

const of = (n: number, row: Row, becomes: Row = {}): OlderMemory => ({
  row: { ...PLAIN, id: uuid(n), title: `memory ${n}`, ...row },
  becomes,
});

const FULL = of(1, {
  title: 'Every field',
  content: 'The lighthouse keeper counts ships.',
  tags: '["harbour","ships"]',
  priority: 9,
  confidence: 0.25,
  source: 'cli',
  access_count: 17,
  updated_at: '2026-01-03T00:00:00.000Z',
  last_accessed_at: '2026-01-04T00:00:00.001Z',
  metadata:
    '{"agent_id":"alice","scope":"private","nested":{"a":[1,2.5,null]},"attest_level":"agent_attested"}',
  embedding: Buffer.from(new Float32Array(384).fill(0.05).buffer),
  embedding_dim: 384,
  reflection_depth: 2,
  memory_kind: 'decision',
  atomised_into: 1,
  entity_id: 'ent-1',
  persona_version: 3,
  citations: '[{"uri":"doc:1","accessed_at":"2026-01-01T00:00:00Z","span":{"start":1,"end":5}}]',
  source_uri: 'file:/notes/a.md',
  source_span: '{"start":3,"end":9}',
  confidence_source: 'calibrated',
  confidence_signals: '{"freshness_factor":0.5}',
  confidence_decayed_at: '2026-01-05T00:00:00.000Z',
  mentioned_entity_id: 'ent-2',
  version: 12,
});

/** The memories of every fixture, in insertion order. */
export const OLDER_MEMORIES: readonly OlderMemory[] = [
  FULL,
  of(2, {
    title: 'Žluťoučký kůň 🐎 العربية',
    content: 'Příliš\tžluťoučký\r\n日本語のテキスト — 👩‍👩‍👧‍👦 “quotes”',
    tags: '["naïve","日本"]',
    namespace: 'jazyk/česky',
  }),
  of(3, { content: `zeppelin ${'large text '.repeat(30_000)}` }),
  of(
    4,
    {
      tier: 'mid',
      created_at: '2026-01-02T03:04:05.678901+00:00',
      updated_at: '2026-01-02T03:04:05.9+00:00',
    },
    { created_at: T, updated_at: '2026-01-02T03:04:05.900Z', expires_at: '2026-04-02T03:04:05.678Z' },
  ),
  of(
    5,
    { tier: 'short', created_at: '2026-01-02 03:04:05', updated_at: '2026-01-02 03:04:05' },
    {
      created_at: '2026-01-02T03:04:05.000Z',
      updated_at: '2026-01-02T03:04:05.000Z',
      expires_at: '2026-01-02T09:04:05.000Z',
    },
  ),
  of(
    6,
    {
      tier: 'mid',
      created_at: '2026-01-02T03:04:05+05:30',
      updated_at: '2026-01-02T03:04:05-0800',
      expires_at: '2027-06-01T00:00:00.123456789+02:00',
      last_accessed_at: '2026-01-02',
    },
    {
      created_at: '2026-01-01T21:34:05.000Z',
      updated_at: '2026-01-02T11:04:05.000Z',
      expires_at: '2027-05-31T22:00:00.123Z',
      last_accessed_at: '2026-01-02T00:00:00.000Z',
    },
  ),
  of(
    7,
    {
      tags: null,
      priority: 99,
      confidence: 7.5,
      metadata: 'not json',
      memory_kind: 'musing',
      access_count: -3,
    },
    {
      tags: '[]',
      priority: 10,
      confidence: 1,
      metadata: '{"metadata_before_migration":"not json"}',
      memory_kind: 'observation',
      access_count: 0,
    },
  ),
  of(
    8,
    {
      tags: 'red, green',
      priority: 0,
      confidence: null,
      metadata: null,
      source: null,
      version: null,
      citations: '{',
    },
    {
      tags: '["red","green"]',
      priority: 1,
      confidence: 1,
      metadata: '{}',
      source: 'api',
      version: 1,
      citations: '[]',
    },
  ),
  of(9, { title: 'Every field', namespace: 'team/other', metadata: '{"target_agent_id":"bob"}' }),
  of(10, { atom_of: uuid(1), memory_kind: 'claim' }),
  of(11, { expires_at: 'never' }, { expires_at: null }),
  of(12, { tier: 'mid', expires_at: '' }, { expires_at: '2026-04-02T03:04:05.678Z' }),
  of(13, { title: Buffer.from('Every field') }, { title: 'Every field (2)' }),
  of(
    14,
    { created_at: '1767323045', updated_at: '1767323045678' },
    { created_at: '2026-01-02T03:04:05.000Z', updated_at: T },
  ),
  of(15, { created_at: 'yesterday' }, { created_at: T }),
  of(16, { expires_at: '2020-01-01T00:00:00.000Z', tier: 'short' }),
  of(17, { id: null, title: 'without an id' }),
  of(18, { title: 'memory 18 ', namespace: 'with blanks in it', content: '' }),
];

/** Archived rows with the short column set of version 49. */
export const OLDER_ARCHIVED: readonly Row[] = [
  {
    id: uuid(901),
    tier: 'mid',
    namespace: 'old/things',
    title: 'Archived',
    content: 'Dust.',
    tags: '["dust"]',
    priority: 3,
    created_at: '2025-01-01T00:00:00+00:00',
    updated_at: '2025-01-02T00:00:00.5+00:00',
    expires_at: '2025-01-08T00:00:00+00:00',
    metadata: '{"agent_id":"alice"}',
    archived_at: '2025-01-09T00:00:00.123456+00:00',
    archive_reason: 'ttl_expired',
  },
  {
    id: uuid(902),
    tier: 'long',
    namespace: 'old/things',
    title: 'Archived',
    content: 'Same title, also archived.',
    tags: null,
    priority: 5,
    created_at: '2025-01-01T00:00:00Z',
    updated_at: '2025-01-01T00:00:00Z',
    expires_at: null,
    metadata: 'broken',
    archived_at: '2025-02-01 00:00:00',
    archive_reason: 'forget',
  },
];
