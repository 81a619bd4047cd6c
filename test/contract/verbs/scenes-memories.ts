import { EMBED_STATES } from '../../../protocol/memory/embed-state.js';
import type { ListRecalls, MemoryFilter } from '../../../protocol/memory/queries.js';
import type { RecallRequest } from '../../../protocol/memory/recall-request.js';
import { personaTitle } from '../../../protocol/personas/persona.js';
import type { Query } from '../../../protocol/release.js';
import { anyMemory, deleting, OPERATOR, recalling, updating } from '../../support/memories.js';
import type { Scene } from './told.js';
import { ALICE, at, BOB, LATER, link, m, mem, NOW, owned, TTL, VIEWERS, WITHIN } from './world.js';

const listing = (more: Partial<MemoryFilter> = {}): MemoryFilter => ({ ...anyMemory(NOW), ...more });
const recall = (query: string, more: Partial<RecallRequest> = {}): RecallRequest => ({
  ...recalling(query, NOW),
  ...more,
});
const recalls = (more: Partial<ListRecalls>): ListRecalls => ({
  ...{ kind: 'list-recalls', recallId: null, namespace: null, outcome: null, used: null, since: null },
  ...{ until: null, agentId: null, after: undefined, limit: 9, viewer: OPERATOR, now: NOW },
  ...more,
});
const vector = (...values: number[]) => new Uint8Array(new Float32Array(values).buffer);
const embedded = (n: number, version: number, ...values: number[]) => ({
  ...{ rid: n, id: m(n), version, state: EMBED_STATES.embedded, model: 'm', dim: values.length },
  vectors: vector(...values),
});
const evidence = {
  ...{ queryVector: new Float32Array([1, 0, 0]), mean: 0.1, deviation: 0.2, scanned: 3 },
  hits: [
    { rid: 2, cosine: 0.9 },
    { rid: 1, cosine: 0.4 },
  ],
};
const EVIDENCE = { writtenAt: at(0), isAtom: false, corroborations: 2 };
const page = { limit: 2, bytesMax: 1e6 };

/** Filters of lists, each with another statement. */
const FILTERS: readonly Partial<MemoryFilter>[] = [
  { asOf: at(5) },
  {},
  { namespace: 'team/docs' },
  { namespace: 'team/**' },
  { tier: 'short' },
  { minPriority: 6 },
  { since: at(2), until: at(5) },
  { tags: ['Ä', 'zwei'] },
  { agentId: 'ai:alice' },
  { kinds: ['decision', 'reflection'] },
  { limit: 2, offset: 1 },
  { viewer: ALICE, tags: ['one'], namespace: 'team/docs', tier: 'long', minPriority: 1, agentId: 'ai:alice' },
  { viewer: WITHIN },
];

const RECALLS: readonly Partial<RecallRequest>[] = [
  { asOf: at(5) },
  {},
  { namespace: 'team/docs' },
  { namespace: 'team/**' },
  { tags: ['one'], since: at(0), until: LATER, kinds: ['decision', 'observation'] },
  { tier: 'long', hasCitations: true },
  { sourceUriPrefix: 'doc:Ä' },
  { confidence: 'high' as never, includeArchived: true },
  { minScore: 0.01, limit: 2 },
  { viewer: ALICE },
  { viewer: WITHIN, namespace: 'team/docs' },
  { vectors: evidence },
  { vectors: evidence, namespace: 'team/docs', viewer: BOB, tags: ['one'] },
];

const search = (query: string, more: object = {}): Query => ({
  ...{ kind: 'search-memories', query, filter: listing(), sourceUri: null },
  ...more,
});
const QUERIES = [
  'ferry',
  'leaving "the harbour"',
  'zwei OR nothing',
  '',
  '漢字',
  "it's \\ % _ NEAR(a b)",
  'Äpfel',
];

export const MEMORIES: readonly Scene[] = [
  {
    name: 'writes of memories',
    steps: [
      mem(1, {
        namespace: 'team/docs',
        title: 'Ferry',
        content: 'The ferry leaves the harbour at noon',
        priority: 9,
        tags: ['one', 'zwei'],
        metadata: owned('ai:alice', { scope: 'team', topic: 'Äpfel' }),
        citations: [{ uri: 'doc:1', accessed_at: at(0) }],
        source_uri: 'doc:Äpfel/1',
        kind: 'decision',
      }),
      mem(2, {
        namespace: 'team/docs',
        title: 'äpfel',
        content: 'Äpfel und 漢字 🦊 \\x "quoted" %_',
        tags: ['Ä'],
        metadata: owned('ai:bob', { scope: 'private' }),
        confidence: 0.25,
      }),
      mem(3, {
        namespace: 'team',
        title: 'Zebra',
        content: 'ferry ferry ferry',
        tier: 'short',
        expires_at: at(7200),
        metadata: owned('ai:alice', { scope: 'unit', nul: 'a\u0000b' }),
        source_uri: 'doc:Äpfel/2',
      }),
      mem(4, {
        title: 'alpha',
        content: `${'long words '.repeat(400)}`,
        metadata: owned('ai:bob', { scope: 'collective', family: 'plans' }),
        tags: ['one'],
      }),
      mem(5, {
        title: 'Alpha',
        content: 'w'.repeat(3000),
        tier: 'mid',
        expires_at: at(86_400),
        metadata: { attest_level: 'claimed' },
      }),
      mem(6, { title: 'alpha' }),
      mem(6, { title: 'alpha' }, { onConflict: 'version' }),
      mem(7, { title: 'alpha', content: 'merged' }, { onConflict: 'merge', viewer: BOB }),
      mem(8, {
        namespace: 'other',
        title: 'Ferry two',
        content: 'The ferry leaves the harbour at one',
        metadata: owned('ai:bob'),
      }),
      updating(m(8), {
        ...{ valid_from: at(4), valid_until: LATER },
        content: 'The ferry leaves the harbour at two',
        tags: ['one', 'x'],
        metadata: owned('ai:bob', { topic: 'ferries' }),
      }),
      { ...updating(m(8), { priority: 3 }), expectedVersion: 1 },
      { kind: 'promote-memory', id: m(3), targetTier: 'long', viewer: OPERATOR },
      {
        kind: 'promote-memory',
        id: m(1),
        targetTier: 'long',
        vertical: { toNamespace: 'team', cloneId: m(20) },
        viewer: OPERATOR,
      },
      { kind: 'undo-edit', id: m(8), dryRun: true, viewer: OPERATOR, archive: true },
      { kind: 'undo-edit', id: m(8), dryRun: false, viewer: OPERATOR, archive: true },
      {
        kind: 'register-entity',
        memory: mem(30, { namespace: 'people', title: 'Ada', kind: 'entity' }).memory,
        ids: [m(30), m(31)],
        aliases: ['Countess', 'ÄDA'],
        viewer: OPERATOR,
        archive: true,
      },
      {
        kind: 'import-memory',
        memory: mem(9, { title: 'imported', namespace: 'notes' }).memory,
        archive: true,
        dated: true,
      },
      {
        kind: 'import-memory',
        memory: mem(10, { title: 'imported', namespace: 'notes' }).memory,
        archive: true,
        onConflict: 'merge',
        dryRun: true,
      },
      {
        kind: 'touch-memories',
        touches: [
          { id: m(1), count: 3, lastAt: NOW },
          { id: m(5), count: 9, lastAt: NOW },
        ],
        policy: { extendSeconds: { short: 3600, mid: 86_400, long: null }, promoteAccessCount: 5 },
        observations: [
          {
            recallId: 'r1',
            agentId: 'ai:alice',
            retriever: 'keyword',
            observedAt: at(10),
            memoryIds: [m(1), m(2)],
            scores: [0.5, 0.25],
          },
          {
            ...{ recallId: 'r2', agentId: 'ai:bob', retriever: 'hybrid', observedAt: at(12) },
            ...{ memoryIds: [m(5), m(2)], scores: [0.2, 0.1] },
            trace: {
              ...{ query: 'zwei Fähren', namespace: 'team/**', wordsOnly: null, weak: true },
              ...{ below: 3, tookMs: 4 },
            },
          },
        ],
        consumptions: [{ recallId: 'r1', agentId: 'ai:alice', memoryId: m(1), consumedAt: at(11) }],
        used: [
          { agentId: 'ai:bob', memoryId: m(2), how: 'read', at: at(13) },
          { agentId: 'host:desk:pid-1', memoryId: m(2), how: 'read', at: at(13) },
        ],
      },
      {
        kind: 'store-reflection',
        memory: mem(40, {
          namespace: 'team/docs',
          title: 'On ferries',
          kind: 'reflection',
          mentioned_entity_id: 'ent-1',
          metadata: owned('ai:alice'),
        }).memory,
        links: [link(40, 1, 'reflects_on'), link(40, 8, 'reflects_on')],
        depth: null,
        viewer: OPERATOR,
        archive: true,
      },
      {
        kind: 'store-persona',
        memory: mem(41, {
          namespace: 'people',
          title: personaTitle('ent-1', 1),
          kind: 'persona',
          entity_id: 'ent-1',
          persona_version: 1,
          metadata: owned('ai:alice'),
        }).memory,
        links: [link(41, 40, 'derived_from')],
        viewer: OPERATOR,
        archive: true,
      },
      {
        kind: 'store-atom',
        memory: mem(42, { title: 'an atom', atom_of: m(4), metadata: owned('ai:bob') }).memory,
        link: link(42, 4, 'derives_from'),
        viewer: OPERATOR,
        archive: true,
      },
      { kind: 'mark-atomised', id: m(4), atomIds: [m(42)], version: 2, viewer: OPERATOR },
    ],
  },
  {
    name: 'reads of memories',
    steps: [
      VIEWERS.flatMap((viewer): Query[] =>
        [1, 2, 3, 4].map((n) => ({ kind: 'get-memory', id: m(n), linksMax: 5, viewer, now: NOW })),
      ),
      [
        { kind: 'get-memory', id: m(1).slice(0, -1), viewer: OPERATOR, now: NOW },
        { kind: 'get-memory', id: 'ent-1', viewer: OPERATOR, now: NOW },
        { kind: 'get-memory', id: '%', viewer: ALICE, now: NOW },
      ],
      FILTERS.map((more): Query => ({ kind: 'list-memories', filter: listing(more), family: null })),
      [
        { kind: 'list-memories', filter: listing({ limit: 2 }), family: 'plans', withoutReserved: true },
        { kind: 'list-memories', filter: listing({ limit: 3 }), family: null, after: [5, at(6), 4] },
      ],
      FILTERS.map((more) => search('ferry', { filter: listing(more) })),
      QUERIES.map((query) => search(query)),
      [
        search('', { sourceUri: 'doc:Äpfel/1' }),
        search('words', { includeArchived: true }),
        search('ferry', { sourceUri: 'doc:Äpfel/2', filter: listing({ viewer: BOB }) }),
      ],
      RECALLS.map(
        (more): Query => ({ kind: 'recall-memories', request: recall('when does the ferry leave', more) }),
      ),
      QUERIES.map((query): Query => ({ kind: 'recall-memories', request: recall(query) })),
      { kind: 'prepare-recall', key: 'k', request: recall('ferry harbour') },
      { kind: 'rank-memories', request: recall('ferry harbour'), prepared: 'k' },
      [
        {
          kind: 'recall-observations',
          recallId: null,
          consumed: null,
          since: null,
          until: null,
          limit: 9,
          agentId: null,
          viewer: OPERATOR,
          now: NOW,
        },
        {
          kind: 'recall-observations',
          recallId: 'r1',
          consumed: true,
          since: at(0),
          until: NOW,
          limit: 1,
          agentId: 'ai:alice',
          viewer: ALICE,
          now: NOW,
        },
        {
          kind: 'recall-observations',
          recallId: null,
          consumed: false,
          since: null,
          until: null,
          limit: 9,
          agentId: null,
          viewer: BOB,
          now: NOW,
        },
      ],
      [
        recalls({}),
        recalls({ recallId: 'r', namespace: 'team/**', outcome: 'weak', used: true, agentId: 'ai:bob' }),
        recalls({ outcome: 'found', used: false, since: at(0), until: NOW, after: [2], limit: 1 }),
        recalls({ viewer: { ...BOB, withheld: ['^team$'] } }),
        recalls({ viewer: { ...ALICE, withheld: ['^other$'] } }),
        { kind: 'recalled-memories', recallId: 'r2', viewer: OPERATOR, now: NOW },
        { kind: 'recalled-memories', recallId: 'r2', viewer: BOB, now: NOW },
        { kind: 'recall-figures', agentId: null },
        { kind: 'recall-figures', agentId: 'ai:alice' },
      ],
      {
        kind: 'find-look-alikes',
        namespace: 'other',
        title: 'Ferry two',
        content: 'The ferry leaves the harbour at one',
        exceptId: m(99),
        viewer: OPERATOR,
        now: NOW,
      },
      { kind: 'review-written', after: 0, limit: 50, withinMs: null, now: NOW },
      {
        kind: 'flag-near-duplicates',
        pairs: [{ rid: 8, otherRid: 1, similarity: 0.9 } as never],
        through: 12,
      },
      [
        { kind: 'flagged-duplicates', ids: [m(8), m(1)], viewer: OPERATOR, now: NOW },
        { kind: 'flagged-duplicates', ids: [m(8)], viewer: ALICE, now: NOW },
      ],
      [
        {
          kind: 'similar-titles',
          namespace: 'other',
          title: 'The ferry',
          exceptId: m(99),
          viewer: OPERATOR,
          now: NOW,
        },
        {
          kind: 'similar-titles',
          namespace: 'team/docs',
          title: 'äpfel',
          exceptId: m(1),
          viewer: BOB,
          now: NOW,
        },
      ],
      VIEWERS.map((viewer): Query => ({ kind: 'memory-history', id: m(8), limit: 2, viewer, now: NOW })),
      VIEWERS.map((viewer): Query => {
        const filter = listing({ namespace: 'team/**', asOf: at(5), viewer });
        return { kind: 'memories-known-at', filter, knownAt: NOW };
      }),
      { kind: 'index-texts', texts: ['Äpfel don’t', '漢字 🦊'] },
      [
        { kind: 'entity-by-alias', alias: 'äda', namespace: null, viewer: OPERATOR, now: NOW },
        { kind: 'entity-by-alias', alias: 'countess', namespace: 'people', viewer: BOB, now: NOW },
      ],
      [
        { kind: 'persona-of', entityId: 'ent-1', namespace: 'people', viewer: OPERATOR, now: NOW },
        {
          kind: 'persona-sources',
          entityId: 'ent-1',
          namespace: null,
          home: 'people',
          limit: 5,
          viewer: OPERATOR,
          now: NOW,
        },
        {
          kind: 'persona-sources',
          entityId: 'ent-1',
          namespace: 'team/docs',
          home: 'people',
          limit: 5,
          viewer: BOB,
          now: NOW,
        },
      ],
      [
        { kind: 'reflection-origin', id: m(40), viewer: OPERATOR, now: NOW },
        {
          kind: 'reflections-in',
          namespace: 'team/docs',
          minDepth: 0,
          maxDepth: 3,
          limit: 5,
          viewer: OPERATOR,
          now: NOW,
        },
      ],
      VIEWERS.map((viewer): Query => ({ kind: 'store-stats', viewer, now: NOW })),
      [
        { kind: 'count-namespaces', prefix: null, viewer: OPERATOR, now: NOW },
        { kind: 'count-namespaces', prefix: 'team', viewer: ALICE, now: NOW },
      ],
      [
        { kind: 'namespace-ids', names: ['team', 'nowhere'], below: null },
        { kind: 'namespace-ids', names: ['other'], below: 'team' },
        { kind: 'namespaces-below', namespace: 'team', viewer: OPERATOR, now: NOW },
        { kind: 'namespaces-below', namespace: 'taem', viewer: BOB, now: NOW },
      ],
      [
        { kind: 'memories-since', after: { updated_at: '', id: '' }, now: NOW, limit: 3 },
        { kind: 'memories-since', after: { updated_at: at(3), id: m(3) }, now: NOW, limit: 30 },
      ],
      [
        { kind: 'export-memories', viewer: OPERATOR, now: NOW, after: null, ...page },
        {
          kind: 'export-memories',
          viewer: ALICE,
          namespace: 'team/**',
          ofKind: 'decision',
          now: NOW,
          after: { created_at: at(0), id: m(0) },
          ...page,
        },
      ],
      [
        {
          kind: 'find-contradictions',
          topic: 'ÄPFEL',
          namespace: null,
          viewer: OPERATOR,
          now: NOW,
          limit: 9,
        },
        {
          kind: 'find-contradictions',
          topic: 'ferries',
          namespace: 'other',
          viewer: OPERATOR,
          now: NOW,
          limit: 9,
        },
        { kind: 'find-contradictions', topic: null, namespace: 'team/docs', viewer: BOB, now: NOW, limit: 1 },
      ],
    ],
  },
  {
    name: 'vectors',
    steps: [
      { kind: 'plan-encoder', configured: { model: 'm', dim: 3 }, replace: false },
      [
        { kind: 'pending-embeddings', afterRid: 0, limit: 3 },
        { kind: 'pending-embeddings', afterRid: 3, limit: 3, coming: true },
        { kind: 'count-pending-embeddings' },
      ],
      {
        kind: 'put-embeddings',
        rows: [embedded(1, 1, 1, 0, 0), embedded(2, 1, 0, 1, 0), embedded(3, 7, 0, 0, 1)],
      },
      { kind: 'embedding-progress' },
      [
        {
          kind: 'nearest-memory',
          namespace: 'team/docs',
          queryVector: new Float32Array([1, 0, 0]),
          title: 'x',
          content: 'y',
          viewer: OPERATOR,
          now: NOW,
        },
        {
          kind: 'nearest-memory',
          namespace: 'team/docs',
          queryVector: new Float32Array([0, 1, 0]),
          title: 'Ferry',
          content: 'The ferry leaves the harbour at noon',
          viewer: ALICE,
          now: NOW,
        },
      ],
      RECALLS.map(
        (more): Query => ({
          kind: 'recall-memories',
          request: recall('the ferry', { vectors: evidence, ...more }),
        }),
      ),
      { kind: 'plan-encoder', configured: { model: 'n', dim: 2 }, replace: true },
      { kind: 'put-embeddings', rows: [{ ...embedded(1, 1, 1, 0), model: 'n' }], coming: true },
      { kind: 'embedding-progress' },
      { kind: 'switch-encoder', coming: { model: 'n', dim: 2 } },
      { kind: 'requeue-embeddings', afterRid: 0, namespace: 'team/docs', limit: 5 },
      { kind: 'requeue-embeddings', afterRid: 0, namespace: null, limit: 5 },
      { kind: 'reindex-texts' },
      { kind: 'text-index-progress' },
    ],
  },
  {
    name: 'the life of memories',
    steps: [
      [
        {
          kind: 'count-forgettable',
          filter: { namespace: 'other', tier: null, pattern: 'ferry', throughRid: null, viewer: OPERATOR },
          now: NOW,
        },
        {
          kind: 'count-forgettable',
          filter: { namespace: null, tier: 'short', pattern: null, throughRid: 4, viewer: ALICE },
          now: NOW,
        },
        { kind: 'count-expired', now: LATER },
      ],
      mem(50, { title: 'c1', namespace: 'notes', tags: ['join'], tier: 'short', expires_at: at(90_000) }),
      mem(51, { title: 'c2', namespace: 'notes', tags: ['join'], tier: 'short', expires_at: at(90_000) }),
      [
        {
          kind: 'consolidation-groups',
          namespace: null,
          shortOnly: true,
          countMin: 2,
          viewer: OPERATOR,
          now: NOW,
        },
        {
          kind: 'consolidation-groups',
          namespace: 'notes',
          shortOnly: false,
          countMin: 1,
          viewer: ALICE,
          now: NOW,
        },
      ],
      {
        kind: 'consolidate-memories',
        ids: [m(50), m(51)],
        result: { id: m(52), title: 'joined', namespace: 'notes', tier: 'long', expiresAt: null },
        summary: null,
        onConflict: 'error',
        agentId: 'ai:writer',
        viewer: OPERATOR,
        archive: true,
      },
      mem(53, { title: 'wins' }),
      mem(54, { title: 'loses' }),
      { kind: 'resolve-memories', winnerId: m(53), loserId: m(54), viewer: OPERATOR },
      mem(55, { title: 'to archive', metadata: owned('ai:alice') }),
      mem(56, { title: 'to purge', metadata: owned('ai:bob') }),
      { kind: 'archive-memories', ids: [m(55), m(56), m(99)], reason: 'archive', viewer: OPERATOR },
      deleting(m(6)),
      VIEWERS.map(
        (viewer): Query => ({ kind: 'list-archive', namespace: null, viewer, limit: 3, offset: 0 }),
      ),
      [
        { kind: 'list-archive', namespace: 'global', viewer: OPERATOR, limit: 2, offset: 1 },
        {
          kind: 'list-archive',
          namespace: null,
          viewer: OPERATOR,
          limit: 9,
          offset: 0,
          after: [at(3000), m(56)],
        },
        { kind: 'archive-stats', viewer: OPERATOR },
        { kind: 'archive-stats', viewer: ALICE },
        { kind: 'find-archived', id: m(55), viewer: ALICE },
        { kind: 'find-archived', id: '00000000', viewer: OPERATOR },
      ],
      { kind: 'restore-memory', id: m(55), ttlSeconds: TTL, viewer: OPERATOR, archive: true },
      {
        kind: 'purge-archive',
        before: LATER,
        ownerId: 'ai:bob',
        reason: 'request',
        limit: 10,
        by: 'ai:operator',
      },
      {
        kind: 'purge-archive',
        before: at(0),
        ownerId: null,
        reason: 'retention',
        limit: 10,
        by: 'ai:operator',
      },
      mem(57, { title: 'to forget', namespace: 'forget', content: 'pattern here' }),
      {
        kind: 'forget-memories',
        filter: { namespace: 'forget', tier: null, pattern: 'pattern', throughRid: null, viewer: OPERATOR },
        limit: 10,
        archive: true,
        by: 'ai:operator',
      },
      { kind: 'expire-memories', limit: 10, archive: true },
      { kind: 'make-room', step: 'short', unusedSince: LATER, limit: 10 },
      { kind: 'make-room', step: 'unused', unusedSince: LATER, limit: 10 },
      { kind: 'prune-observations', before: LATER, limit: 10 },
      {
        kind: 'observe-confidence',
        recalls: [
          {
            agentId: 'ai:alice',
            observedAt: at(1),
            memories: [
              { id: m(1), namespace: 'team/docs', stated: 0.5, ...EVIDENCE },
              { id: m(2), namespace: 'team/docs', stated: 1, ...EVIDENCE },
            ],
          },
        ],
      },
      [
        { kind: 'calibrate-confidence', since: at(0), agentId: null, viewer: OPERATOR, now: NOW },
        { kind: 'calibrate-confidence', since: at(0), agentId: 'ai:alice', viewer: ALICE, now: NOW },
      ],
      { kind: 'prune-confidence', before: LATER, limit: 10 },
      { kind: 'reown-memory', id: m(1), to: 'ai:carol', claimUnowned: false, viewer: OPERATOR },
      { kind: 'reown-memory', id: m(1), to: 'ai:carol', claimUnowned: false, viewer: OPERATOR },
      { kind: 'reown-memory', id: m(99), to: 'ai:carol', claimUnowned: true, viewer: OPERATOR },
      [{ kind: 'get-memory', id: m(1), linksMax: 0, viewer: OPERATOR, now: NOW }],
    ],
  },
];
