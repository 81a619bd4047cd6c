import { NEVER } from '../../../protocol/coordination/members.js';
import { rootId } from '../../../protocol/delegation/token-root-kind.js';
import type { FindRecords } from '../../../protocol/kinds/find.js';
import { NO_REST } from '../../../protocol/kinds/payload.js';
import type { Query } from '../../../protocol/release.js';
import { KINDS, LOCAL_KINDS } from '../../../protocol/release.js';
import { OPERATOR, storing } from '../../support/memories.js';
import { aRule } from '../../support/rules.js';
import type { Scene } from './told.js';
import { ALICE, at, BOB, LATER, link, m, mem, NOW, owned, PEER, TTL, VIEWERS, WITHIN } from './world.js';

const MOMENTS = [
  { validAt: null, believedAt: null },
  { validAt: at(10), believedAt: null },
  { validAt: at(10), believedAt: at(20) },
] as const;
const ALL = { all: true, agentId: null, asNamespace: null } as const;
const AGENTS = '_agents';
/** The key that verifies the tokens of this node. */
const ROOT = {
  ...{ peer_id: PEER, key_id: '0123456789abcdef', public_key: 'cd'.repeat(32) },
  ...{ created_at: at(1), rest: NO_REST },
};

export const GRAPH: Scene = {
  name: 'links, standards and the curator',
  steps: [
    ...[1, 2, 3, 4].map((n) =>
      mem(n, {
        title: `node ${n}`,
        namespace: 'team',
        content: `${'the same words here again and again '.repeat(4)}${n}`,
        metadata: owned(n === 2 ? 'ai:bob' : 'ai:alice', n === 2 ? { scope: 'private' } : {}),
        ...(n === 4 ? { namespace: 'team/docs' } : {}),
      }),
    ),
    {
      kind: 'create-link',
      link: link(1, 2, 'related_to', { valid_from: at(5), observed_by: 'ai:alice' }),
      asked: { valid_from: at(5), valid_until: null },
      viewer: OPERATOR,
      by: 'ai:alice',
    },
    {
      kind: 'create-link',
      link: link(2, 3, 'derived_from'),
      asked: { valid_from: null, valid_until: null },
      viewer: OPERATOR,
      by: 'ai:alice',
    },
    { kind: 'import-link', link: link(3, 4, 'contradicts', { valid_from: at(1), valid_until: at(50) }) },
    {
      kind: 'import-link',
      link: link(1, 4, 'depends_on', {
        earlier: [
          {
            created_at: at(2),
            valid_from: at(2),
            valid_until: at(9),
            observed_by: 'ai:bob',
            believed_from: at(2),
            believed_to: at(12),
          },
        ],
      }),
    },
    { kind: 'import-link', link: link(4, 1, 'reflects_on') },
    {
      kind: 'invalidate-link',
      link: { source_id: m(1), target_id: m(2), relation: 'related_to' },
      validUntil: at(30),
      viewer: OPERATOR,
      by: 'ai:alice',
    },
    {
      kind: 'create-link',
      link: link(1, 2, 'related_to', { created_at: at(60) }),
      asked: { valid_from: null, valid_until: null },
      viewer: OPERATOR,
      by: 'ai:alice',
    },
    VIEWERS.flatMap((viewer): Query[] => [
      { kind: 'links-of-memory', id: m(1), limit: 9, viewer, now: NOW },
      { kind: 'newest-links', ids: [m(1), m(2), m(3)], viewer, now: NOW },
    ]),
    [
      {
        kind: 'named-links',
        sourceId: m(1),
        targetId: null,
        relation: null,
        limit: 5,
        viewer: OPERATOR,
        now: NOW,
      },
      {
        kind: 'named-links',
        sourceId: m(1),
        targetId: m(2),
        relation: 'related_to',
        limit: 5,
        viewer: ALICE,
        now: NOW,
      },
    ],
    MOMENTS.flatMap((moment): Query[] => [
      {
        kind: 'walk-graph',
        id: m(1),
        maxDepth: 3,
        limit: 9,
        moment,
        allowedAgents: null,
        relations: null,
        viewer: OPERATOR,
        now: NOW,
      },
      {
        kind: 'walk-graph',
        id: m(1),
        maxDepth: 2,
        limit: 9,
        moment,
        allowedAgents: ['ai:alice'],
        relations: ['related_to', 'depends_on'],
        viewer: ALICE,
        now: NOW,
      },
    ]),
    [
      {
        kind: 'graph-timeline',
        id: m(1),
        since: null,
        until: null,
        believedAt: null,
        limit: 9,
        viewer: OPERATOR,
        now: NOW,
      },
      {
        kind: 'graph-timeline',
        id: m(1),
        since: at(3),
        until: NOW,
        believedAt: at(11),
        limit: 2,
        viewer: BOB,
        now: NOW,
      },
    ],
    MOMENTS.map(
      (moment): Query => ({
        kind: 'find-paths',
        id: m(1),
        targetId: m(3),
        maxDepth: 4,
        maxResults: 5,
        moment,
        viewer: OPERATOR,
        now: NOW,
      }),
    ),
    [
      { kind: 'memory-lineage', id: m(2), direction: 'ancestors', maxDepth: 3, viewer: OPERATOR, now: NOW },
      {
        kind: 'memory-lineage',
        id: m(3),
        direction: 'descendants',
        maxDepth: 3,
        relation: 'derived_from',
        viewer: OPERATOR,
        now: NOW,
      },
      { kind: 'list-dependents', id: m(1), viewer: ALICE, now: NOW },
    ],
    [
      { kind: 'export-links', viewer: OPERATOR, now: NOW, after: null, until: null, limit: 2 },
      {
        kind: 'export-links',
        viewer: ALICE,
        namespace: 'team/**',
        now: NOW,
        after: { created_at: at(1), id: m(1), link: { target_id: m(2), relation: 'related_to' } },
        until: { created_at: at(3), id: m(3) },
        limit: 9,
      },
      {
        kind: 'export-links',
        viewer: OPERATOR,
        namespace: 'team',
        now: NOW,
        after: { created_at: at(1), id: m(1), link: null },
        until: null,
        limit: 9,
      },
    ],
    { kind: 'drop-links', sourceId: m(3), targetId: m(4), relation: null, viewer: OPERATOR },
    {
      kind: 'set-standard',
      namespace: 'team',
      standardId: m(1),
      parent: null,
      governance: { write: 'any', delete: 'any' },
      viewer: OPERATOR,
    },
    { kind: 'set-standard', namespace: 'team/docs', standardId: m(2), parent: 'team', viewer: OPERATOR },
    VIEWERS.flatMap((viewer): Query[] => [
      { kind: 'read-standards', namespace: 'team/docs', inherit: true, viewer, now: NOW },
      { kind: 'read-standards', namespace: 'team', inherit: false, viewer, now: NOW },
      { kind: 'attached-standards', namespace: 'team/docs', viewer, now: NOW },
      { kind: 'excepted-namespaces', namespace: 'team', viewer },
      { kind: 'list-policies', named: ['team'], limit: 5, viewer },
    ]),
    [
      { kind: 'governance-at', namespaces: ['team/docs', 'nowhere'] },
      { kind: 'attached-standards', namespace: null, viewer: OPERATOR, now: NOW },
      { kind: 'removed-standards', limit: 5 },
    ],
    { kind: 'curate-priority', recordId: m(71), id: m(3), version: 1, step: 1, viewer: ALL },
    { kind: 'curate-metadata', id: m(4), version: 1, found: { auto_tags: ['a'] }, viewer: ALL },
    {
      kind: 'curation-plan',
      include: [],
      exclude: ['nowhere/**'],
      untaggedMax: 9,
      rowsPerTier: 50,
      now: LATER,
    },
    { kind: 'curation-plan', include: ['team/**'], exclude: [], untaggedMax: 1, rowsPerTier: 2, now: NOW },
    [
      {
        kind: 'reflection-clusters',
        include: [],
        exclude: [],
        maxDepth: 3,
        rows: 50,
        clustersMax: 5,
        now: NOW,
      },
      {
        kind: 'reflection-clusters',
        include: ['team'],
        exclude: ['team/docs'],
        maxDepth: 1,
        rows: 5,
        clustersMax: 1,
        now: NOW,
      },
    ],
    {
      kind: 'curate-forget',
      recordId: m(72),
      older: { id: m(3), version: 2 },
      newer: { id: m(1), version: 1 },
      viewer: ALL,
    },
    { kind: 'roll-back-curation', id: m(72), ttlSeconds: TTL, viewer: ALL },
    {
      kind: 'curate-consolidation',
      recordId: m(73),
      consolidation: {
        kind: 'consolidate-memories',
        ids: [m(1), m(3)],
        result: { id: m(74), title: 'both', namespace: 'team', tier: 'long', expiresAt: null },
        summary: 'both of them',
        onConflict: 'error',
        agentId: 'ai:curator',
        viewer: ALL,
        archive: true,
      },
      viewer: ALL,
    },
    { kind: 'store-curation-report', id: m(75), title: 'report', report: '{"a":1}' },
    { kind: 'removed-standards', limit: 5 },
    { kind: 'unpin-removed', namespace: 'team' },
    { kind: 'clear-standard', namespace: 'team/docs', viewer: OPERATOR },
  ],
};

const action = (n: number, priority: number, more: object = {}) =>
  ({
    kind: 'create-action',
    action: {
      id: m(n),
      namespace: 'team',
      actionKind: 'build',
      title: `action ${n}`,
      payload: {},
      priority,
      agentId: null,
      metadata: {},
      ...more,
    },
    by: 'ai:alice',
    viewer: ALICE,
  }) as const;
const edge = (from: number, to: number, type: 'requires' | 'unlocks' | 'blocks' | 'gated_by' | 'sibling') =>
  ({ kind: 'add-action-edge', from: m(from), to: m(to), type, by: 'ai:alice', viewer: OPERATOR }) as const;
const move = (n: number, from: string, to: string, claimedBy: string | null, token?: number) =>
  ({
    kind: 'transition-action',
    id: m(n),
    namespace: 'team',
    from,
    to,
    by: 'ai:bob',
    operator: true,
    claimedBy,
    token,
    nonce: 'bm9uY2Vub25jZW5vbmNl',
    at: at(n),
    signature: null,
    publicKey: null,
  }) as never;
const UNSIGNED = { signature: null, public_key: null, rest: {} } as const;

export const COORDINATION: Scene = {
  name: 'coordination',
  steps: [
    ...[
      [100, 2],
      [101, 10],
      [102, 9],
      [103, -1],
      [104, 3_000_000_000],
      [105, 0],
    ].map(([n, priority]) => action(n!, priority!, n === 102 ? { agentId: 'ai:bob' } : {})),
    edge(103, 100, 'requires'),
    edge(101, 102, 'unlocks'),
    edge(100, 104, 'sibling'),
    edge(102, 105, 'blocks'),
    {
      kind: 'create-checkpoint',
      checkpoint: {
        checkpoint_id: m(120),
        maker: PEER,
        namespace: 'team',
        title: 'gate',
        condition_type: 'approval',
        condition: { approvers: ['ai:bob'] },
        state: 'pending',
        created_by: 'ai:alice',
        created_at: at(1),
        deadline_at: at(900),
        resolved_by: null,
        resolution: null,
        resolution_note: null,
        resolved_at: null,
        metadata: {},
        ...UNSIGNED,
      },
      viewer: ALICE,
    },
    edge(101, 120, 'gated_by'),
    [
      { kind: 'action-frontier', namespace: 'team', viewer: OPERATOR, agentId: null, limit: 9, stuckMax: 9 },
      { kind: 'action-frontier', namespace: 'team', viewer: ALICE, agentId: 'ai:bob', limit: 1, stuckMax: 0 },
    ],
    { kind: 'action-waits', id: m(103), namespace: 'team' },
    move(104, 'pending', 'claimed', 'ai:bob'),
    { kind: 'acquire-lease', id: m(104), ttlSecs: 60, by: 'ai:bob', viewer: OPERATOR } as never,
    { kind: 'renew-lease', id: m(104), ttlSecs: 90, by: 'ai:bob', viewer: OPERATOR } as never,
    { kind: 'begin-lease-terms', ids: [`${PEER}/${m(104)}`] },
    { kind: 'end-lease', leaseId: `${PEER}/${m(104)}`, token: 1, renewals: 9 },
    { kind: 'release-lease', id: m(104), by: 'ai:bob', viewer: OPERATOR } as never,
    move(104, 'claimed', 'failed', null),
    {
      kind: 'resolve-checkpoint',
      checkpointId: m(120),
      state: 'rejected',
      resolution: 'no',
      note: null,
      at: at(3),
      by: 'ai:bob',
      operator: true,
      viewer: OPERATOR,
      ...UNSIGNED,
      publicKey: null,
    } as never,
    { kind: 'action-frontier', namespace: 'team', viewer: OPERATOR, agentId: null, limit: 9, stuckMax: 9 },
    { kind: 'expire-checkpoints', ids: [`${PEER}/${m(120)}`] },
    {
      kind: 'send-signal',
      signal: {
        signal_id: m(130),
        maker: PEER,
        namespace: 'team',
        from_agent: 'ai:alice',
        to_agent: 'ai:bob',
        subject: 'hello',
        body: '{"a":1}',
        signal_type: 'notify',
        in_reply_to: null,
        correlation_id: 'c',
        reference_ids: [m(1)],
        created_at: at(1),
        expires_at: NEVER,
        ...UNSIGNED,
      },
      viewer: ALICE,
    },
    {
      kind: 'receive-signal',
      signal: {
        signal_id: m(131),
        maker: 'peer-00000000000000cc',
        namespace: 'team',
        from_agent: 'ai:carol',
        to_agent: null,
        subject: 'to all',
        body: 'null',
        signal_type: 'notify',
        in_reply_to: null,
        correlation_id: null,
        reference_ids: [],
        created_at: at(2),
        expires_at: at(500),
        ...UNSIGNED,
      },
    },
    { kind: 'mark-signal', signalId: m(130), reader: 'ai:bob', mark: 'read', viewer: BOB },
    { kind: 'sweep-signals', signals: [`${PEER}/${m(130)}`], receipts: [`${m(130)}|ai:bob`] },
    {
      kind: 'create-routine',
      routine: {
        routine_id: m(140),
        maker: PEER,
        namespace: 'team',
        name: 'a routine',
        template: {},
        parameters: '[]',
        state: 'draft',
        created_by: 'ai:alice',
        created_at: at(1),
        frozen_at: null,
        metadata: {},
        ...UNSIGNED,
      },
      viewer: ALICE,
    },
    {
      kind: 'freeze-routine',
      routineId: m(140),
      at: at(2),
      by: 'ai:alice',
      operator: false,
      signature: null,
      publicKey: null,
    } as never,
    {
      kind: 'run-routine',
      routineId: m(140),
      runId: m(141),
      actionIds: [m(142)],
      arguments: {},
      metadata: {},
      by: 'ai:alice',
      operator: false,
      asNamespace: null,
    } as never,
    { kind: 'sweep-runs', ids: [`${PEER}/${m(141)}`], before: LATER },
    { kind: 'sweep-actions', ids: [`${PEER}/${m(104)}`], before: LATER },
  ],
};

const agent = (n: number, agentId: string) =>
  ({
    kind: 'register-agent',
    memory: mem(n, {
      namespace: AGENTS,
      title: `agent:${agentId}`,
      content: `agent ${agentId}`,
      metadata: owned(agentId, {
        agent_type: 'ai:generic',
        capabilities: ['read'],
        registered_at: at(0),
        last_seen_at: at(0),
      }),
    }).memory,
    spareId: m(n + 1),
    viewer: OPERATOR,
    admin: true,
  }) as const;
const request = (pendingId: string, n: number) =>
  ({
    kind: 'request-approval',
    pendingId,
    command: storing({ ...mem(n, { namespace: 'team', metadata: owned('ai:alice') }).memory }),
    action: 'store',
    namespace: 'team',
    memoryId: m(n),
    approver: { form: 'consensus', votes: 1 },
    requestedBy: 'ai:alice',
  }) as const;
const vote = (
  pendingId: string,
  agentId: string,
  decision: 'approve' | 'deny',
  remember: 'once' | 'session' | 'forever' = 'once',
) => ({ kind: 'vote-pending', pendingId, agentId, decision, remember }) as const;

export const GOVERNANCE: Scene = {
  name: 'agents, governance and messages',
  steps: [
    agent(200, 'ai:alice'),
    agent(202, 'ai:Bob'),
    agent(204, 'ai:carol'),
    {
      kind: 'bind-agent-key',
      agentId: 'ai:alice',
      publicKey: Buffer.alloc(32, 7).toString('base64'),
      by: 'ai:operator',
    },
    [
      { kind: 'agent-key', agentId: 'ai:alice' },
      { kind: 'agent-keys', agentIds: ['ai:alice', 'ai:nobody'] },
      { kind: 'list-agents', after: null, limit: 2 },
      { kind: 'list-agents', after: 'ai:alice', limit: 9 },
      { kind: 'is-registered', agentId: 'ai:Bob' },
      { kind: 'is-registered', agentId: 'ai:bob' },
    ],
    { kind: 'ensure-quota', holder: 'ai:alice', namespace: 'team' },
    [
      { kind: 'list-quotas', holder: null, namespace: null },
      { kind: 'list-quotas', holder: 'ai:alice', namespace: 'team' },
    ],
    request('p1', 210),
    request('p2', 211),
    [
      ...VIEWERS.map(
        (viewer): Query => ({
          kind: 'list-pendings',
          status: null,
          namespace: null,
          limit: 1,
          viewer,
          now: NOW,
        }),
      ),
      {
        kind: 'list-pendings',
        status: 'pending',
        namespace: 'team',
        limit: 5,
        after: [NOW, 'z'],
        viewer: OPERATOR,
        now: NOW,
      },
      { kind: 'count-pendings', viewer: null },
      { kind: 'count-pendings', viewer: BOB },
    ],
    vote('p1', 'ai:carol', 'approve', 'forever'),
    vote('p2', 'ai:carol', 'deny'),
    { kind: 'settle-pending', pendingId: 'p2' },
    [
      { kind: 'undecided-pendings', requestedBefore: at(0), limit: 5 },
      { kind: 'spent-pendings', before: LATER, limit: 5 },
      { kind: 'approval-events', after: null, limit: 5 },
      { kind: 'approval-events', after: 0, limit: 50 },
    ],
    { kind: 'drop-decided', pendings: [`${PEER}/p2`], votes: [] },
    {
      kind: 'forget-decision',
      namespace: 'team',
      actionType: 'store',
      agentId: 'ai:alice',
      viewer: OPERATOR,
    },
    { kind: 'end-sessions' },
    { kind: 'look-at-action', command: request('p3', 212).command },
    {
      kind: 'note-schema-denial',
      action: 'store',
      namespace: 'team',
      agentId: 'ai:alice',
      problem: 'no',
    } as never,
    { kind: 'note-veto', agentId: 'ai:alice', event: 'pre_store', namespace: 'team', command: 'x', code: 3 },
    {
      ...{ kind: 'note-secret', agentId: 'ai:alice', operation: 'memory_store', namespace: 'team' },
      ...{ outcome: 'redacted', found: [{ field: 'content', kind: 'jwt' }] },
    },
    {
      ...{ kind: 'note-limited-read', agentId: 'ai:alice', operation: 'memory_list' },
      ...{ rules: ['R9'], mode: 'enforce' },
    },
    { kind: 'rules-for-reads' },
    { kind: 'put-rule', rule: aRule('R1'), replaces: null, by: 'ai:operator' },
    {
      kind: 'check-action',
      action: { kind: 'bash', command: 'git push --force', cwd: null },
      agentId: 'ai:alice',
    },
    {
      kind: 'check-action',
      action: { kind: 'read_action', surface: null, namespace: 'team', query: 'x' },
      agentId: 'ai:alice',
    },
    { kind: 'remove-rule', id: 'R1', signature: null, by: 'ai:operator' },
    {
      kind: 'send-message',
      memory: mem(220, {
        namespace: '_messages/ai:bob',
        title: 'hi',
        metadata: owned('ai:alice', { target_agent_id: 'ai:bob' }),
      }).memory,
      viewer: ALICE,
    },
    { kind: 'share-memory', id: m(210), copyId: m(221), from: 'ai:alice', to: 'ai:bob', viewer: OPERATOR },
    [
      { kind: 'list-inbox', agentId: 'ai:bob', unreadOnly: false, limit: 9, now: NOW },
      { kind: 'unread-messages', agentId: 'ai:bob', limit: 9, now: NOW },
      { kind: 'inbox-events', after: 0, limit: 9, now: NOW },
    ],
    { kind: 'mark-read', ids: [m(220)], reader: 'ai:bob', viewer: BOB },
    [
      { kind: 'list-inbox', agentId: 'ai:bob', unreadOnly: true, limit: 9, now: NOW },
      { kind: 'list-inbox', agentId: 'ai:bob', unreadOnly: false, limit: 9, now: NOW },
    ],
    { kind: 'delete-memory', id: m(220), archive: false, viewer: OPERATOR },
    { kind: 'spent-receipts', limit: 9 },
    { kind: 'drop-receipts', ids: [m(220)] },
    { kind: 'begin-model-call', feature: 'tags', callsPerDay: 1 },
    { kind: 'begin-model-call', feature: 'tags', callsPerDay: 1 },
    {
      kind: 'end-model-call',
      day: '2026-03-01',
      feature: 'tags',
      failed: false,
      tokensIn: 3_000_000_000,
      tokensOut: 2,
      ms: 5,
    },
    [
      { kind: 'audit-rows', after: 0, limit: 5 },
      { kind: 'audit-rows', after: 3, limit: 50 },
      { kind: 'newest-audit-rows', limit: 3 },
      { kind: 'newest-audit-rows', before: 4, limit: 9 },
    ],
  ],
};

const CURATOR_INPUT = { mode: 'curate', max_ops: 5, include: [], exclude: [], max_depth: 1 } as const;
const EVENT = {
  id: m(300),
  url: 'https://example.test/',
  events: '*',
  secret_hash: null,
  namespace_filter: null,
  agent_filter: null,
  created_by: 'ai:alice',
};

export const SERVICES: Scene = {
  name: 'webhooks and jobs',
  steps: [
    { kind: 'subscribe', subscription: EVENT, viewer: ALICE },
    {
      kind: 'subscribe',
      subscription: { ...EVENT, id: m(301), created_by: 'ai:bob', namespace_filter: 'team' },
      viewer: BOB,
    },
    mem(310, { title: 'announced', namespace: 'team' }),
    mem(311, { title: 'announced too' }),
    [
      { kind: 'list-subscriptions', viewer: OPERATOR },
      { kind: 'list-subscriptions', viewer: ALICE },
      { kind: 'due-subscriptions', nowMs: Date.parse(NOW), limit: 9, ofOwner: 1, except: [], waiting: null },
      {
        kind: 'due-subscriptions',
        nowMs: Date.parse(NOW),
        limit: 9,
        ofOwner: 2,
        except: [m(300)],
        waiting: [m(301)],
      },
      { kind: 'announced-since', after: null, limit: 9 },
      { kind: 'announced-since', after: 1, limit: 1 },
      { kind: 'next-deliveries', subscriptionId: m(300), nowMs: Date.parse(NOW), limit: 9 },
    ],
    {
      kind: 'record-deliveries',
      subscriptionId: m(300),
      acknowledged: [1],
      failed: { seq: 2, error: 'gone' },
    },
    { kind: 'record-deliveries', subscriptionId: m(301), acknowledged: [], failed: null, through: 2 },
    [
      { kind: 'subscription-events', subscriptionId: m(300), since: at(-9), limit: 9, viewer: ALICE },
      { kind: 'subscription-events', subscriptionId: m(300), since: at(-9), limit: 9, viewer: BOB },
      { kind: 'dead-letters', subscriptionId: null, limit: 9, viewer: OPERATOR },
      { kind: 'dead-letters', subscriptionId: m(300), limit: 9, viewer: ALICE },
      { kind: 'count-dead-letters', viewer: ALICE },
      { kind: 'webhook-totals' },
    ],
    { kind: 'resend-events', subscriptionId: m(300), since: at(-9), limit: 9, viewer: ALICE },
    { kind: 'pass-events', through: 2, except: [m(300)], revision: 2 },
    { kind: 'pass-events', through: 2, except: [], revision: 2 },
    { kind: 'prune-events', before: LATER, limit: 9 },
    { kind: 'unsubscribe', id: m(301), viewer: BOB },
    { kind: 'queue-cycle', name: 'a', input: { ...CURATOR_INPUT, include: [], exclude: [] }, always: true },
    { kind: 'queue-cycle', name: 'b', input: { ...CURATOR_INPUT, include: [], exclude: [] }, always: false },
    [
      {
        kind: 'due-jobs',
        types: ['curator', 'persona'],
        busy: [],
        after: null,
        limit: 5,
        now: NOW,
        ahead: LATER,
        runs: [{ id: 'curator:a', run: 'gone' }],
      },
      {
        kind: 'due-jobs',
        types: ['curator'],
        busy: [{ type: 'curator', caller: 'ai:curator' }],
        after: { type: 'curator', caller: 'ai:curator' },
        limit: 5,
        now: NOW,
        ahead: NOW,
        runs: [],
      },
      { kind: 'job-totals' },
    ],
    { kind: 'begin-job', type: 'curator', caller: 'ai:curator', run: 'run-1' },
    { kind: 'note-step', id: 'curator:a', run: 'run-1', step: 's', value: '{"a":1}' },
    {
      kind: 'end-job',
      id: 'curator:a',
      run: 'run-1',
      end: { how: 'failed', code: 'X', message: 'why' },
      attemptsMax: 3,
      missed: 0,
      failsForAll: false,
    },
    { kind: 'release-jobs', keep: ['run-2'] },
    { kind: 'change-jobs', change: 'pause', which: { id: 'curator:a' } },
    { kind: 'change-jobs', change: 'cancel', which: { type: 'curator' } },
    { kind: 'change-jobs', change: 'resume', which: { type: null } },
    { kind: 'prune-jobs', before: LATER },
    { kind: 'job-totals' },
    {
      kind: 'note-token',
      token: {
        ...{ token_id: 'ab'.repeat(16), revocation_id: 'ab'.repeat(64), agent_id: 'ai:bob' },
        ...{ operations: 'read', namespaces: 'team/**', minted_by: 'ai:alice', note: 'for a day' },
        ...{ created_at: at(1), expires_at: LATER },
      },
      root: ROOT,
    },
    [
      { kind: 'token-roots' },
      {
        kind: 'token-standing',
        rootId: rootId(ROOT),
        revocationIds: ['ab'.repeat(64)],
        minter: 'ai:alice',
      },
    ],
    { kind: 'revoke-token', id: 'ab'.repeat(64), held: false, viewer: ALICE, by: 'ai:alice' },
    {
      kind: 'token-standing',
      rootId: rootId(ROOT),
      revocationIds: ['ab'.repeat(64)],
      minter: null,
    },
    { kind: 'drop-token-root', id: rootId(ROOT), by: 'ai:operator' },
    { kind: 'claim-ownership', holder: 'd1', role: 'daemon', leaseMs: 10_000 },
    {
      kind: 'claim-ownership',
      holder: 'd2',
      role: 'daemon',
      leaseMs: 10_000,
      ended: { holder: 'd1', fencing: 1 },
    },
    { kind: 'release-ownership', holder: 'd2' },
    [
      { kind: 'current-owner', nowMs: 0 },
      { kind: 'schema-version' },
      { kind: 'engines' },
      { kind: 'database-size' },
      { kind: 'used-room' },
      { kind: 'plan-room', unusedSince: LATER, now: LATER },
      { kind: 'log-position' },
    ],
  ],
};

/** Every way to find rows of a kind: each index in both directions, with each condition, and in pages. */
function finds(
  of: string,
  key: readonly string[],
  indexes: readonly (readonly string[])[],
): readonly Query[] {
  const ask = (more: Partial<FindRecords>, viewer: FindRecords['viewer'] = null): FindRecords => ({
    ...{ kind: 'find-records', of, limit: 3, viewer, now: NOW },
    ...more,
  });
  const first = indexes.map(([member]) => member!);
  return [
    ask({}),
    ask({ skip: 1 }, OPERATOR),
    ask({}, ALICE),
    ask({}, WITHIN),
    ...first.flatMap((by) => [
      ask({ order: { by } }),
      ask({ order: { by, descending: true }, limit: 1 }, OPERATOR),
      ask({ where: { [by]: null } }),
      ask({ order: { by }, where: { [by]: { notIn: [] } } }),
      ask({ order: { by }, where: { [by]: { in: [] } } }),
      ask({ order: { by }, skipDamaged: true, only: key }),
    ]),
  ];
}

const SOURCES = [
  ...KINDS.all.flatMap(({ name, table }) =>
    typeof table === 'string'
      ? []
      : [{ name, key: ['id'], indexes: [['namespace'], ...table.indexes.map(({ members }) => members)] }],
  ),
  ...LOCAL_KINDS.map(({ name, key, indexes }) => ({
    name,
    key,
    indexes: indexes.map(({ members }) => members),
  })),
];

/** Finds in a database that has a record of each kind. */
export const FINDS: Scene = {
  name: 'finds',
  steps: SOURCES.map(({ name, key, indexes }) => finds(name, key, indexes)),
};
