import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { adoptionKind } from '../../protocol/decide/adoption-kind.js';
import type { PutAside } from '../../protocol/decide/deciding.js';
import {
  type TokenRevocation,
  tokenRevocationKind,
} from '../../protocol/delegation/token-revocation-kind.js';
import { type TokenRoot, tokenRootKind } from '../../protocol/delegation/token-root-kind.js';
import { type ErasureDone, erasureDoneKind } from '../../protocol/erasure/erasure-done-kind.js';
import type { Kind } from '../../protocol/kinds/kind.js';
import { linkKind } from '../../protocol/links/link-kind.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import type { Alias } from '../../protocol/memory/alias-kind.js';
import { aliasKind } from '../../protocol/memory/alias-kind.js';
import { standardKind } from '../../protocol/memory/standard-kind.js';
import { receiptKind } from '../../protocol/messages/receipt-kind.js';
import { pendingKind } from '../../protocol/policies/pending-kind.js';
import { rememberedKind } from '../../protocol/policies/remembered-kind.js';
import { voteKind } from '../../protocol/policies/vote-kind.js';
import { KINDS } from '../../protocol/release.js';
import { ruleKind } from '../../protocol/rules/rule-kind.js';
import { aMemory, linking, storing } from '../support/memories.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { aRule } from '../support/rules.js';
import { TestPeer } from '../support/test-peer.js';

/**
 * Records of a peer with a scope whose headers lie in the scope, and whose content is about something outside. Nothing of
 * them has an effect, the chain goes on, and the same records about something inside are taken.
 */

const SCOPE = ['team/**'];
const NOW = '2026-01-01T00:00:00.000Z';
const peer = new TestPeer('a peer with a scope');
const whole = new TestPeer('a peer without a scope');
let node: ReceiverNode;
let ownOrigin = '';

before(async () => {
  node = await openReceiverNode({ peers: [peer.asPeer({ allowedNamespaces: SCOPE }), whole.asPeer()] });
  const letter = whole.operation({ id: 'letter', namespace: '_messages/ai:c', title: 'letter' });
  assert.equal((await node.send(whole.push(whole.pushOf(letter)))).json['applied'], 1);
  for (const [id, namespace] of [
    ...['bank', 'ledger'].map((each) => [each, 'finance'] as const),
    ...['desk', 'chair'].map((each) => [each, 'team/x'] as const),
  ]) {
    await done({ ...storing({ id, namespace, title: id }) });
  }
  await done(linking('bank', 'ledger'));
  ownOrigin = await originOf();
  for (const namespace of ['finance', 'team/x']) {
    await done({
      kind: 'request-approval',
      pendingId: `action-${namespace.slice(0, 4)}`,
      command: storing({ namespace }) as PutAside,
      action: 'store',
      namespace,
      memoryId: null,
      approver: { form: 'consensus', votes: 2 },
      requestedBy: 'ai:a',
    });
  }
  await done({ kind: 'put-rule', rule: aRule('no-force'), replaces: null, by: 'ai:operator' });
  await done({
    kind: 'import-record',
    record: { kind: 'alias', ...alias('bank', 'finance') },
    revive: false,
  });
});
after(() => node.close());

async function originOf(): Promise<string> {
  const known = await node.services.store.query({ kind: 'known-origins' });
  assert.ok(known.ok);
  return Object.keys(known.value.heads).find((origin) => origin.startsWith(node.services.peerId)) ?? '';
}

async function done(command: object): Promise<void> {
  const result = await node.services.store.execute(command as never);
  assert.ok(result.ok, JSON.stringify(result));
}

/** What this node holds, of every kind and namespace. */
async function held(): Promise<object> {
  const answer = await node.services.store.query({ kind: 'read-digests' } as never);
  assert.ok(answer.ok);
  return answer.value as object;
}

const alias = (memory_id: string, namespace: string) => ({
  id: `${memory_id}|the bank`,
  namespace,
  image: {
    ...{
      memory_id,
      namespace,
      alias: 'The Bank',
      folded: 'the bank',
      digest: null,
      added_by: 'ai:x',
      added_at: NOW,
      rest: {},
    },
  } satisfies Alias,
});

const erasureDone = (peer_id: string, namespace: string): ErasureDone => ({
  ...{ memory_id: 'bank', peer_id, namespace, done_at: NOW, rest: {} },
});
const tokenRoot = (peer_id: string): TokenRoot => ({
  ...{ peer_id, key_id: 'a'.repeat(16), public_key: 'c'.repeat(64), created_at: NOW, rest: {} },
});
const tokenRevocation = (): TokenRevocation => ({
  ...{ revocation_id: 'b'.repeat(128), revoked_by: 'ai:evil', revoked_at: NOW, rest: {} },
});

function put<I extends object>(kind: Kind<I>, id: string, image: I, header = 'team/x'): WireOperation {
  const [word = ''] = Object.entries(kind.words).find(([, role]) => role === 'image') ?? [];
  return peer.operation(
    {},
    { kind: word, namespace: header, subject: id, payload: kind.payload.text(image) },
  );
}

const drop = (kind: Kind<never>, id: string, header = 'team/x', more: object = {}): WireOperation =>
  peer.operation(
    {},
    {
      kind: Object.entries(kind.words).find(([, role]) => role === 'removal')?.[0] ?? `${kind.name}.drop`,
      namespace: header,
      subject: id,
      // It claims to have seen what is there, as far as its maker can know.
      seen: { [ownOrigin]: 1_000_000 },
      payload: JSON.stringify({ id, namespace: header, reason: 'x', ...more }),
    },
  );

const self = () => node.services.peerId;
const link = (source: string, target: string) => ({
  ...(linking(source, target).link as never as object),
  rest: {},
});
const vote = (pending_id: string, namespace: string) => ({
  ...{ pending_id, namespace, agent_id: 'ai:lead', voter: 'ai:lead', decision: 'approve' as const },
  ...{ remember: 'forever' as const, voted_at: NOW, rest: {} },
});
const remembered = (namespace: string) => ({
  ...{ namespace, action_type: 'store', agent_id: 'ai:evil', decision: 'approve' as const },
  ...{ lasts: 'forever' as const, session: '', decided_by: 'ai:lead', decided_at: NOW, rest: {} },
  ...{ gate: 'write', approver: {} },
});
const standard = (namespace: string) => ({
  ...{ namespace, standard_id: null, parent_namespace: null, set_by: 'ai:evil' },
  ...{ governance: { write: 'any' }, operator_set: null, updated_at: NOW, rest: {} },
});
const pending = (namespace: string) => ({
  ...{
    pending_id: 'own',
    action_type: 'store',
    namespace,
    memory_id: null,
    command: { kind: 'store-memory' },
  },
  ...{ approver: { form: 'human' }, requested_by: 'ai:x', requested_at: NOW, expires_at: NOW },
  ...{
    status: 'pending' as const,
    approvals: [],
    decided_by: null,
    decided_at: null,
    remember: null,
    rest: {},
  },
  ...{ written_as: null, reads: [], becomes: [], asked: [] },
});
const receipt = (memory_id: string) => ({
  memory_id,
  reader: 'ai:c',
  read_at: NOW,
  updated_at: NOW,
  rest: {},
});
const adoption = (lost: string) => ({
  ...{ peer_id: lost, home: peer.peerId, number: 7, adopted_at: NOW, adopted_by: 'ai:x', rest: {} },
});

const SHA = 'ab'.repeat(32);
const unsigned = { signature: null, public_key: null, rest: {} };
const at = { created_at: NOW, updated_at: NOW, expires_at: '9999-01-01T00:00:00.000Z' };

/** What records of coordination and of transcripts say, by kind, besides their namespace and their maker. */
const SAID: Readonly<Record<string, object>> = {
  action: {
    ...{ action_id: 'own', action_kind: 'task', title: 'evil', payload: '{}', priority: 0, state: 'pending' },
    ...{ agent_id: null, created_by: 'ai:x', claimed_by: null, metadata: {}, last: null, ...at, rest: {} },
  },
  action_edge: { from_action: 'a', to_action: 'b', edge_type: 'requires', created_by: 'ai:x', ...at },
  lease: { action_id: 'own', holder: 'ai:x', token: 1, ttl_secs: 60, acquired_at: NOW },
  signal: {
    ...{
      signal_id: 's',
      from_agent: 'ai:x',
      to_agent: null,
      subject: 'evil',
      body: '1',
      signal_type: 'notify',
    },
    ...{ in_reply_to: null, correlation_id: null, reference_ids: [], ...at, ...unsigned },
  },
  signal_receipt: {
    signal_id: 's',
    reader: 'ai:x',
    from_agent: 'ai:y',
    read_at: NOW,
    acknowledged_at: NOW,
    ...at,
  },
  blob: { sha256: SHA, data: 'qrpg', size: 3, agent_id: 'ai:x' },
  transcript: {
    ...{ agent_id: 'ai:x', host_session_id: 's', host_turn_index: 1, role: 'user', layer: 'L4' },
    ...{ attest_level: 'self_signed', host_kind: 'evil', host_version: null, content_sha256: SHA },
    ...{ blob_id: `team/x|${SHA}`, original_size: 3, compressed_size: 5, memory_id: 'desk', tool_calls: [] },
    ...{ host_signature: null, host_pubkey: null, captured_by: peer.peerId, archived_at: null, ...at },
  },
  offload: {
    ...{ ref_id: 'ofl_1', agent_id: 'ai:x', content_sha256: SHA, blob_id: `team/x|${SHA}`, size: 3 },
    ...{ stored_at: NOW, expires_at: null },
  },
  skill: {
    ...{ skill_id: 'k', name: 'evil', description: 'evil', license: null, compatibility: null },
    ...{ allowed_tools: [], metadata: {}, body_sha256: SHA, content_id: `team/x|${SHA}`, pieces: 0 },
    ...{ digest: SHA, agent_id: 'ai:x', created_at: NOW, updated_at: NOW, superseded_by: null },
    ...{ head_of: 'team/x|evil', ...unsigned },
  },
  skill_content: { sha256: SHA, data: 'qrpg', size: 3, agent_id: 'ai:x' },
  skill_resource: {
    ...{ skill_id: 'k', path: 'evil', piece: 0, pieces: 1, resource_kind: 'asset', sha256: SHA, size: 3 },
    ...{ content_id: `team/x|${SHA}`, agent_id: 'ai:x' },
  },
  checkpoint: {
    ...{ checkpoint_id: 'c', title: 'evil', condition_type: 'approval', condition: {}, state: 'pending' },
    ...{ created_by: 'ai:x', deadline_at: null, resolved_by: null, resolution: null, resolution_note: null },
    ...{ resolved_at: null, metadata: {}, ...at, ...unsigned },
  },
  routine: {
    ...{ routine_id: 'r', name: 'evil', template: {}, parameters: '[]', state: 'draft', created_by: 'ai:x' },
    ...{ frozen_at: null, metadata: {}, ...at, ...unsigned },
  },
  routine_run: {
    ...{ run_id: 'r', routine_id: 'x', arguments: {}, state: 'completed', created_action_ids: [] },
    ...{ created_by: 'ai:x', started_at: NOW, finished_at: NOW, error: null, metadata: {} },
  },
};

/** Such a record, under a header inside the scope. */
function said(name: string, namespace: string, maker: string = peer.peerId): WireOperation {
  const kind = KINDS.of(name) as Kind;
  const image = { ...SAID[name], namespace, maker, rest: {} };
  return put(kind, kind.idOf(image) ?? `${maker}/own`, image);
}

const placed = Object.fromEntries(
  Object.keys(SAID).map((name) => [
    name,
    () => [
      [said(name, 'finance'), 'invalid'] as const,
      ...((KINDS.of(name) as Kind).writer === 'anybody'
        ? []
        : [[said(name, 'team/x', self()), 'not_home'] as const]),
    ],
  ]),
);

/** By kind: operations about something outside the scope, and how the node parks them. */
const OUTSIDE: Readonly<Record<string, () => readonly (readonly [WireOperation, string])[]>> = {
  memory: () => [
    [put(KINDS.of('memory'), 'bank', aMemory({ id: 'bank', namespace: 'team/x' })), 'out_of_scope'],
    [put(KINDS.of('memory'), 'new', aMemory({ id: 'new', namespace: 'finance' })), 'invalid'],
  ],
  link: () => [
    [put(linkKind, 'bank|desk|related_to', link('bank', 'desk') as never), 'out_of_scope'],
    [put(linkKind, 'desk|unknown|related_to', link('desk', 'unknown') as never), 'out_of_scope'],
    [drop(linkKind as never, 'bank|ledger|related_to'), 'out_of_scope'],
  ],
  standard: () => [
    [put(standardKind, 'finance', standard('finance')), 'invalid'],
    [put(standardKind, '*', standard('*'), 'team/x'), 'invalid'],
    [drop(standardKind as never, 'finance'), 'invalid'],
  ],
  adoption: () => [
    [put(adoptionKind, `${peer.peerId}/${self()}/7`, adoption(self())), 'out_of_scope'],
    [put(adoptionKind, `${peer.peerId}/${self()}/7`, adoption(self()), '_mesh'), 'out_of_scope'],
    [drop(adoptionKind as never, `${peer.peerId}/${self()}/7`), 'out_of_scope'],
  ],
  erasure_done: () => [
    [put(erasureDoneKind, `${peer.peerId}/bank`, erasureDone(peer.peerId, 'finance')), 'invalid'],
    [
      put(erasureDoneKind, `${peer.peerId}/bank`, erasureDone(peer.peerId, 'finance'), 'finance'),
      'out_of_scope',
    ],
    [put(erasureDoneKind, `${self()}/bank`, erasureDone(self(), 'team/x')), 'not_home'],
  ],
  token_root: () => [
    [put(tokenRootKind, `${self()}/${'a'.repeat(16)}`, tokenRoot(self())), 'out_of_scope'],
    [put(tokenRootKind, `${self()}/${'a'.repeat(16)}`, tokenRoot(self()), '_mesh'), 'out_of_scope'],
    [put(tokenRootKind, `${peer.peerId}/${'a'.repeat(16)}`, tokenRoot(peer.peerId), '_mesh'), 'out_of_scope'],
  ],
  token_revocation: () => [
    [put(tokenRevocationKind, 'b'.repeat(128), tokenRevocation()), 'out_of_scope'],
    [put(tokenRevocationKind, 'b'.repeat(128), tokenRevocation(), '_mesh'), 'out_of_scope'],
  ],
  alias: () => [
    [put(aliasKind, 'bank|the bank', alias('bank', 'finance').image), 'out_of_scope'],
    [put(aliasKind, 'ledger|the bank', alias('ledger', 'team/x').image), 'out_of_scope'],
    [put(aliasKind, 'desk|the bank', alias('desk', 'finance').image), 'invalid'],
    [drop(aliasKind as never, 'bank|the bank'), 'out_of_scope'],
  ],
  pending: () => [
    [put(pendingKind, `${peer.peerId}/own`, pending('finance')), 'invalid'],
    [put(pendingKind, `${self()}/action-fina`, pending('team/x')), 'out_of_scope'],
    [put(pendingKind, `${self()}/another`, pending('team/x')), 'not_home'],
  ],
  vote: () => [
    [put(voteKind, 'action-fina|ai:lead', vote('action-fina', 'team/x')), 'out_of_scope'],
    [put(voteKind, 'action-fina|ai:lead', vote('action-fina', 'finance')), 'out_of_scope'],
    [put(voteKind, 'action-team|ai:lead', vote('action-team', 'finance')), 'invalid'],
    [put(voteKind, 'unknown|ai:lead', vote('unknown', 'team/x')), 'out_of_scope'],
  ],
  remembered: () => [
    [put(rememberedKind, 'store:write|ai:evil|finance', remembered('finance')), 'invalid'],
    [put(rememberedKind, 'store:write|ai:evil|finance', remembered('team/x')), 'invalid'],
    [drop(rememberedKind as never, 'store:write|ai:evil|finance'), 'invalid'],
  ],
  rule: () => [
    [put(ruleKind, 'no-force', aRule('no-force', { enabled: false })), 'out_of_scope'],
    [put(ruleKind, 'stop', aRule('stop', { for_namespace: 'team' }), '_mesh'), 'out_of_scope'],
    [drop(ruleKind as never, 'no-force'), 'out_of_scope'],
  ],
  receipt: () => [
    [put(receiptKind, 'letter', receipt('letter')), 'out_of_scope'],
    [drop(receiptKind as never, 'letter'), 'out_of_scope'],
  ],
  ...placed,
};

async function push(operations: readonly WireOperation[]) {
  const { status, json } = await node.send(peer.push(peer.pushOf(...operations)));
  assert.equal(status, 200);
  const parked = json['parked'] as { reason: string }[];
  return { refused: json['refused'], applied: json['applied'], parked: parked.map(({ reason }) => reason) };
}

describe('records of a peer with a scope', () => {
  it('are tried for every kind that there is', () => {
    assert.deepEqual(Object.keys(OUTSIDE).sort(), KINDS.all.map(({ name }) => name).sort());
  });

  for (const kind of KINDS.all) {
    it(`change nothing outside it: ${kind.name}`, async () => {
      const before = await held();
      const [operations, reasons] = [OUTSIDE[kind.name]!(), [] as string[]];
      for (const [, reason] of operations) reasons.push(reason);
      const answer = await push(operations.map(([operation]) => operation));
      assert.deepEqual(answer, { refused: [], applied: 0, parked: reasons });
      assert.deepEqual(await held(), before);
    });
  }

  it('are taken about what lies inside', async () => {
    const inside = [
      put(KINDS.of('memory'), 'fresh', aMemory({ id: 'fresh', namespace: 'team/x' })),
      put(linkKind, 'desk|chair|related_to', link('desk', 'chair') as never),
      put(linkKind, 'fresh|chair|related_to', link('fresh', 'chair') as never),
      put(standardKind, 'team/x', standard('team/x'), 'team/x'),
      put(aliasKind, 'desk|the bank', alias('desk', 'team/x').image),
      put(pendingKind, `${peer.peerId}/own`, pending('team/x')),
      put(voteKind, 'action-team|ai:lead', vote('action-team', 'team/x')),
      put(rememberedKind, 'store:write|ai:evil|team/x', remembered('team/x')),
      put(receiptKind, 'desk', receipt('desk')),
      drop(aliasKind as never, 'desk|the bank'),
      ...Object.keys(SAID).map((name) => said(name, 'team/x')),
    ];
    assert.deepEqual(await push(inside), { refused: [], applied: inside.length, parked: [] });
  });
});

it('a standard of a peer decides only where the peer also holds what lies below', async () => {
  const flat = new TestPeer('a peer with one level');
  node.roster.list = [...node.roster.list, flat.asPeer({ allowedNamespaces: ['*', 'area/*'] })];
  const own = (id: string) =>
    flat.operation(
      {},
      {
        kind: 'standard.put',
        namespace: id,
        subject: id,
        payload: standardKind.payload.text(standard(id)),
      },
    );
  const before = await held();
  const { json } = await node.send(flat.push(flat.pushOf(own('*'), own('finance'), own('area/one'))));
  const reasons = (json['parked'] as { reason: string }[]).map(({ reason }) => reason);
  assert.deepEqual(reasons, ['out_of_scope', 'out_of_scope', 'out_of_scope']);
  assert.deepEqual(await held(), before);
});

it('a home that was taken over is not given back, whoever says so', async () => {
  const image = { ...adoption('peer-00000000000000bb'), home: whole.peerId };
  const id = `${whole.peerId}/peer-00000000000000bb/7`;
  const taken = whole.operation(
    {},
    { kind: 'adoption.put', namespace: '_mesh', subject: id, payload: adoptionKind.payload.text(image) },
  );
  const returned = whole.operation(
    {},
    {
      ...{ kind: 'adoption.drop', namespace: '_mesh', subject: id, seen: { [whole.origin]: 2 } },
      payload: JSON.stringify({ id, namespace: '_mesh', reason: 'x' }),
    },
  );
  const { json } = await node.send(whole.push(whole.pushOf(taken, returned)));
  assert.deepEqual(
    [json['applied'], (json['parked'] as { reason: string }[]).map(({ reason }) => reason)],
    [1, ['not_home']],
  );
});
