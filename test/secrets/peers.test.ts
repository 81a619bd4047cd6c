import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { type RepairRequest, repairRows } from '../../actors/maintenance/repair-rows.js';
import type { SettingFlags } from '../../node/config/load-settings.js';
import { openVerifier } from '../../node/mesh/open-receiver.js';
import { systemCrypto } from '../../node/seams.js';
import type { MemoryId } from '../../protocol/base/meanings.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import { blobKind } from '../../protocol/transcripts/blob-kind.js';
import { openReceiverNode, type ReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';
import { madeSecrets } from './made-secrets.js';

const SECRET = madeSecrets(7, 1).find(({ kind }) => kind === 'github token')!.secret;
const REFUSES: SettingFlags = { secretsMode: 'refuse' };

const opened: ReceiverNode[] = [];
after(async () => {
  for (const node of opened) await node.close();
});

let names = 0;
async function open(settings: SettingFlags, scope?: readonly string[]) {
  names += 1;
  const peer = new TestPeer(`secrets ${names}`);
  const node = await openReceiverNode({
    peers: [peer.asPeer({ allowedNamespaces: scope ?? null })],
    settings,
  });
  opened.push(node);
  const push = async (...operations: readonly WireOperation[]) =>
    (await node.send(peer.push(peer.pushOf(...operations)))).json;
  return { peer, node, push };
}

const audited = async ({ services }: ReceiverNode) => {
  const found = await services.store.query({ kind: 'newest-audit-rows', limit: 20 });
  assert.ok(found.ok);
  return JSON.stringify(found.value);
};

describe('operations of a peer with a secret', () => {
  it('are parked without their payload where the node refuses secrets, and the chain goes on', async () => {
    const { peer, node, push } = await open(REFUSES);
    const [plain, bad, next] = [
      peer.operation({ title: 'one' }),
      peer.operation({ title: 'two', content: `it is ${SECRET}` }),
      peer.operation({ title: 'three' }),
    ];
    const json = await push(plain, bad, next);
    assert.deepEqual(
      [json['applied'], json['parked']],
      [2, [{ op_id: `${peer.origin}/2`, reason: 'secret' }]],
    );
    assert.deepEqual(json['have'], { [peer.origin]: 3 });
    assert.equal(await node.memory(bad.subject), null);
    const page = await node.services.store.query({
      ...{ kind: 'read-operations', have: {}, origins: [peer.origin], limit: 10, bytesMax: 1e6 },
    });
    assert.ok(page.ok);
    assert.deepEqual(
      page.value.operations.map(({ payload }) => payload === null),
      [false, true, false],
    );
    assert.ok(!JSON.stringify(page.value).includes(SECRET));
    // Offered again, also at a start, it has no effect.
    const again = await push(bad, next);
    assert.equal((again['parked'] as unknown[]).length, 1, JSON.stringify(again));
    const retried = await node.services.store.execute({ kind: 'retry-parked', after: 0, skip: 0, limit: 10 });
    assert.ok(retried.ok && retried.value.applied === 0);
    const chain = await audited(node);
    assert.match(chain, /secret\.refused/);
    assert.ok(!chain.includes(SECRET));
  });

  it('leave an earlier text of the memory, and a later one without the secret counts', async () => {
    const { peer, node, push } = await open(REFUSES);
    const first = peer.operation({ title: 't', content: 'first' });
    const id = first.subject as MemoryId;
    const covering = (seq: number) => ({ kind: 'update', seen: { [peer.origin]: seq } }) as const;
    await push(first, peer.operation({ id, title: 't', content: SECRET, version: 2 }, covering(1)));
    assert.equal((await node.memory(id))?.content, 'first');
    await push(peer.operation({ id, title: 't', content: 'third', version: 3 }, covering(2)));
    assert.equal((await node.memory(id))?.content, 'third');
  });

  it('are taken as they are, and noted, where the node redacts or warns', async () => {
    for (const secretsMode of ['redact', 'warn'] as const) {
      const { peer, node, push } = await open({ secretsMode });
      const bad = peer.operation({ title: 'two', content: `it is ${SECRET}` });
      assert.equal((await push(bad))['applied'], 1);
      assert.equal((await node.memory(bad.subject))?.content, `it is ${SECRET}`);
      assert.match(await audited(node), /secret\.kept/);
    }
  });

  it('are not looked at where that is off', async () => {
    const { peer, node, push } = await open({ secretsMode: 'off' });
    await push(peer.operation({ title: 'two', content: SECRET }));
    assert.doesNotMatch(await audited(node), /secret\./);
  });

  it('are seen in compressed texts, behind other spellings, and between unseen characters', async () => {
    const { peer, push } = await open(REFUSES);
    const blob = (text: string) => {
      const sha256 = systemCrypto.sha256Hex(text);
      const data = deflateRawSync(Buffer.from(text)).toString('base64');
      const image = { namespace: 'n', sha256, data, size: text.length, agent_id: 'ai:x', rest: {} };
      return peer.operation(
        {},
        { kind: 'blob.put', namespace: 'n', subject: `n|${sha256}`, payload: blobKind.payload.text(image) },
      );
    };
    const spelled = peer.operation({ title: 'spelled', content: SECRET });
    const payload = String(spelled.payload).replace(
      SECRET,
      `\\u${SECRET.charCodeAt(0).toString(16).padStart(4, '0')}${SECRET.slice(1)}`,
    );
    assert.notEqual(payload, spelled.payload);
    const json = await push(
      spelled,
      blob(`it is ${SECRET}`),
      blob('it is nothing'),
      peer.operation({ title: 'split', content: [...SECRET].join('\u200b') }),
    );
    assert.equal(json['applied'], 1, JSON.stringify(json));
    assert.deepEqual(
      (json['parked'] as { reason: string }[]).map(({ reason }) => reason),
      ['secret', 'secret', 'secret'],
    );
    const second = await open(REFUSES);
    const sent = await second.push(second.peer.operation({ title: 'spelled' }, { payload }));
    assert.notEqual(sent['applied'], 1, JSON.stringify(sent));
  });

  it('are out of scope first, for a peer with a scope', async () => {
    const { peer, push } = await open(REFUSES, ['team/**']);
    const json = await push(
      peer.operation({ namespace: 'other', content: SECRET }),
      peer.operation({ namespace: 'team/a', content: SECRET }),
    );
    const reasons = (json['parked'] as { readonly reason: string }[]).map(({ reason }) => reason);
    assert.deepEqual(reasons, ['out_of_scope', 'secret']);
  });

  it('cannot come by the way of a repair', async () => {
    const { peer, node, push } = await open(REFUSES);
    const bad = peer.operation({ title: 'two', content: `it is ${SECRET}` });
    await push(bad);
    const verifier = openVerifier(node.services, node.roster);
    const request = { subjects: [{ kind: 'memory', id: bad.subject }], operations: [bad], dryRun: false };
    const repaired = await repairRows(
      { store: node.services.store, verifier },
      request as unknown as RepairRequest,
    );
    assert.ok(!repaired.ok || (await node.memory(bad.subject)) === null);
  });
});

describe('rows of a peer of another release', () => {
  it('are skipped with a secret where the node refuses it', async () => {
    const { peer, node } = await open(REFUSES);
    const row = { id: '3f1c2a54-0000-4000-8000-00000000000a', title: 'old', content: SECRET, namespace: 'x' };
    const { json } = await node.send(peer.push(peer.pushBody({ memories: [row] })));
    assert.match(JSON.stringify(json), /SECRET_REFUSED/);
    assert.ok(!JSON.stringify(json).includes(SECRET));
    assert.equal(await node.memory(row.id), null);
  });
});
