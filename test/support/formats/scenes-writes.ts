import { systemCrypto } from '../../../node/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { KINDS } from '../../../protocol/release.js';
import { casesAt } from '../../storage/kind-cases.js';
import { deleting, linking, OPERATOR, updating } from '../memories.js';
import { base64, type FormatCast, HOUR_MS, id } from './format-cast.js';
import { formatPeer } from './format-node.js';

/** Writes of one node; answers the id of the memory that has every field. */
export async function plainWrites(cast: FormatCast): Promise<string> {
  const { ash } = cast;
  const full = await cast.store(ash, {
    namespace: 'team/docs',
    title: 'Every field',
    content: 'Zażółć gęślą jaźń — 漢字 🦊\nsecond line',
    tier: 'long',
    tags: ['one', 'zwei', '三'],
    priority: 9,
    confidence: 0.25,
    kind: 'decision',
    metadata: {
      agent_id: 'human:alice',
      attest_level: 'claimed',
      scope: 'team',
      deep: { list: [1, 2.5, null, true] },
    },
    citations: [
      {
        uri: 'https://example.test/a',
        accessed_at: '2026-02-01T00:00:00.000Z',
        span: { start: 1, end: 4 },
      },
    ],
    source_uri: 'doc:handbook',
    source_span: { start: 0, end: 120 },
    entity_id: 'entity-1',
    mentioned_entity_id: 'entity-2',
    persona_version: 3,
    reflection_depth: 2,
    confidence_signals: { recalls: 4 },
  });
  await cast.run(ash, updating(full, { content: 'Edited — 漢字 🦊', tags: ['one'], expires_at: null }));
  const promoted = await cast.store(ash, {
    title: 'Promoted',
    tier: 'short',
    expires_at: instantFromMs(cast.nowMs + 6 * HOUR_MS),
  });
  await cast.run(ash, { kind: 'promote-memory', id: promoted, targetTier: 'long', viewer: OPERATOR });
  const vertical = { toNamespace: 'team', cloneId: id(800) };
  await cast.run(ash, { kind: 'promote-memory', id: full, targetTier: 'long', vertical, viewer: OPERATOR });
  const gone = await cast.store(ash, { title: 'Deleted with a copy', content: 'kept in the archive' });
  await cast.run(ash, deleting(gone));
  const lost = await cast.store(ash, { title: 'Deleted without a copy' });
  await cast.run(ash, { ...deleting(lost), archive: false });
  const undone = await cast.store(ash, { title: 'Edited and undone', content: 'first', tier: 'long' });
  await cast.run(ash, updating(undone, { content: 'second' }));
  await cast.run(ash, { kind: 'undo-edit', id: undone, dryRun: false, viewer: OPERATOR, archive: true });
  return full;
}

/** Memories that are joined, resolved and linked. */
export async function relations(cast: FormatCast, full: string): Promise<void> {
  const { ash, birch } = cast;
  const sources = [
    await cast.store(birch, { title: 'Source one', content: 'One half.', namespace: 'notes' }),
    await cast.store(birch, { title: 'Source two', content: 'The other half.', namespace: 'notes' }),
  ];
  const result = {
    id: id(801),
    title: 'Both halves',
    namespace: 'notes',
    tier: 'long',
    expiresAt: null,
  } as const;
  await cast.run(birch, {
    kind: 'consolidate-memories',
    ids: sources,
    result,
    summary: null,
    onConflict: 'error',
    agentId: 'ai:writer',
    viewer: OPERATOR,
    archive: true,
  });
  const [winner, loser] = [
    await cast.store(ash, { title: 'The sky is blue', tier: 'long' }),
    await cast.store(ash, { title: 'The sky is green', tier: 'long' }),
  ];
  await cast.run(ash, { kind: 'resolve-memories', winnerId: winner, loserId: loser, viewer: OPERATOR });
  await cast.run(ash, linking(full, winner));
  const { link } = linking(winner, full);
  const signature = base64(formatPeer('ash').signer.sign(Buffer.from('a link')));
  const at = '2026-02-20T00:00:00.000Z';
  await cast.run(ash, {
    kind: 'import-link',
    link: {
      ...link,
      relation: 'depends_on',
      valid_from: at,
      valid_until: '2027-02-20T00:00:00.000Z',
      observed_by: 'ai:author',
      signature,
      attest_level: 'self_signed',
      signed_at: at,
    },
  });
  await cast.exchange(ash, birch, cast.cedar);
}

/** A record of each kind, and a link that was corrected. */
export async function records(cast: FormatCast): Promise<void> {
  const { ash } = cast;
  for (const { kind, put, prepare } of casesAt(ash.peer.peerId)) {
    if (KINDS.named(kind.name) === null || kind.name === 'memory') continue;
    await prepare(ash);
    await put(ash, 1);
    if (kind.name === 'link' || kind.name === 'alias') await put(ash, 2);
  }
}

/** Rows that never leave a database. */
export async function local(cast: FormatCast): Promise<void> {
  const { ash } = cast;
  const viewer = { all: true, agentId: null, asNamespace: null } as const;
  await cast.run(ash, { kind: 'set-standard', namespace: 'notes', standardId: id(1), parent: null, viewer });
  await cast.run(ash, {
    ...{ kind: 'set-standard', namespace: 'team/docs', standardId: null, parent: 'team', viewer },
  });
  await cast.run(ash, { kind: 'ensure-quota', holder: 'ai:author', namespace: 'team/signed' });
  const fingerprint = systemCrypto.sha256Hex('a nonce');
  const nonce = {
    peerId: formatPeer('birch').peerId,
    fingerprint,
    usedAtMs: cast.nowMs,
    keepUntilMs: cast.nowMs + HOUR_MS,
  };
  await cast.run(ash, { kind: 'use-nonce', nonce });
  const { self } = await cast.origins(ash);
  const progress = {
    peerId: formatPeer('birch').peerId,
    origin: self,
    acked: 4,
    owedTo: 9,
    attempts: 1,
    quarantined: false,
    cause: 'unreachable',
    firstFailedAtMs: cast.nowMs,
    lastFailedAtMs: cast.nowMs,
    nextTryAtMs: cast.nowMs + 1000,
    version: '0.1.0',
  };
  const parked = [
    { ...{ peerId: progress.peerId, origin: self, seq: 3 }, reason: 'invalid', notedAtMs: cast.nowMs },
  ];
  await cast.run(ash, {
    kind: 'save-peer-progress',
    progress: [progress],
    parked: parked as never,
    settled: [],
  });
  const subscription = { id: id(950), url: 'https://example.test/', events: '*', secret_hash: null };
  const owner = { namespace_filter: null, agent_filter: null, created_by: 'ai:author' };
  await cast.run(ash, { kind: 'subscribe', subscription: { ...subscription, ...owner }, viewer });
  await cast.store(ash, { title: 'Announced to a subscription' });
}
