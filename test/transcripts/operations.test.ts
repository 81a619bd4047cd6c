import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { after, describe, it } from 'node:test';
import type { SettingFlags } from '../../node/config/load-settings.js';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Services } from '../../node/pipeline/call.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import { turnBytes } from '../../protocol/transcripts/transcript-kind.js';
import { openHookedNode } from '../support/hooked-node.js';
import { HookHome } from '../support/hooks.js';
import { openTestNode } from '../support/test-node.js';
import { until } from '../support/wait.js';

type Fields = Readonly<Record<string, unknown>>;

const caller = (agentId: string): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: false, local: true },
  viewer: { all: false, agentId, asNamespace: null },
});
const ALICE = caller('ai:alice');
const BOB = caller('ai:bob');

const open: { close(): Promise<void> }[] = [];
after(() => Promise.all(open.map((one) => one.close())));

async function openNode(settings: SettingFlags = {}) {
  const node = await openTestNode({ requireAttestation: false, ...settings });
  open.push(node);
  return node.services;
}

async function call(services: Services, name: string, input: Fields, by = ALICE) {
  const operation = OPERATIONS.find((known) => known.name === name)!;
  return runOperation(operation, { surface: 'mcp', caller: by, input, unknownFields: 'refuse' }, services);
}

async function run(services: Services, name: string, input: Fields, by = ALICE): Promise<Fields> {
  const answer = await call(services, name, input, by);
  assert.ok(answer.ok, JSON.stringify(answer));
  return answer.value;
}

async function refused(services: Services, name: string, input: Fields, by = ALICE): Promise<string> {
  const answer = await call(services, name, input, by);
  assert.ok(!answer.ok, JSON.stringify(answer));
  return answer.error.code;
}

const TURN = {
  host_session_id: 's1',
  host_turn_index: 0,
  role: 'user',
  content: 'hello',
  host_kind: 'shell',
};
const shown = ({ transcripts }: Fields) => transcripts as readonly Fields[];

describe('memory_capture_turn', () => {
  it('stores the memory that the interface describes', async () => {
    const services = await openNode();
    const turn = {
      ...TURN,
      host_version: '1.2',
      timestamp_iso: '2026-01-01T02:00:00+02:00',
      metadata: { a: 1 },
    };
    const { memory_id: id, elapsed_ms, ...answer } = await run(services, 'memory_capture_turn', turn);
    assert.deepEqual(answer, { dedup_hit: false, layer: 'L4', attest_level: 'self_signed' });
    assert.equal(typeof elapsed_ms, 'number');
    const { memory } = await run(services, 'memory_get', { id });
    const { title, tags, tier, source, priority, kind, created_at, content, metadata } = memory as Fields;
    assert.deepEqual(
      { title, tier, source, priority, kind, created_at, content },
      {
        title: 'L4 capture shell s1 turn 0 (user)',
        ...{ tier: 'long', source: 'host', priority: 5, kind: 'observation', content: 'hello' },
        created_at: '2026-01-01T00:00:00.000Z',
      },
    );
    assert.deepEqual(tags, [
      ...['captured-via-l4', 'host:shell', 'role:user', 'attest:self_signed', 'host-version:1.2'],
    ]);
    assert.deepEqual(metadata, { a: 1, agent_id: 'ai:alice', attest_level: 'claimed' });
  });

  it('takes the signature of an enrolled host only', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const key = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('base64');
    const services = await openNode({ hostPubkeys: [key] });
    const signature = sign(null, turnBytes({ ...TURN, role: 'user' }, TURN.content), privateKey).toString(
      'base64',
    );
    const signed = { ...TURN, host_pubkey_b64: key, host_signature_b64: signature };
    assert.equal(
      await refused(services, 'memory_capture_turn', { ...signed, content: 'forged' }),
      'ATTESTATION_FAILED',
    );
    assert.equal(await refused(await openNode(), 'memory_capture_turn', signed), 'HOST_PUBKEY_NOT_ENROLLED');
    const { attest_level } = await run(services, 'memory_capture_turn', signed);
    assert.equal(attest_level, 'signed_by_peer');
    const { host_pubkey_b64: _key, ...half } = signed;
    assert.equal(await refused(services, 'memory_capture_turn', half), 'VALIDATION_FAILED');
  });

  it('refuses the name of another agent and an instant in the future', async () => {
    const services = await openNode();
    const other = { ...TURN, metadata: { agent_id: 'ai:bob' } };
    assert.equal(await refused(services, 'memory_capture_turn', other), 'FORBIDDEN');
    const late = { ...TURN, timestamp_iso: '2999-01-01T00:00:00Z' };
    assert.equal(await refused(services, 'memory_capture_turn', late), 'VALIDATION_FAILED');
  });

  it('refuses a text that is longer than the setting says', async () => {
    const services = await openNode({ transcriptDecompressedMax: 1024 });
    const long = { ...TURN, content: 'x'.repeat(1025) };
    assert.equal(await refused(services, 'memory_capture_turn', long), 'VALIDATION_FAILED');
  });

  it('lets hooks rewrite a turn, and tells them of it', async () => {
    const home = new HookHome();
    const rewrite = home.noting('{"action":"modify","delta":{"content":"[redacted]","ttl_secs":60}}');
    const told = home.noting();
    home.register(
      { event: 'pre_transcript_store', command: rewrite.command },
      { event: 'post_transcript_store', command: told.command },
    );
    const node = await openHookedNode(home);
    open.push(node);
    const { memory_id: id } = await node.run('memory_capture_turn', TURN);
    const { transcripts } = await node.run('memory_replay', { memory_id: id });
    assert.equal((transcripts as readonly Fields[])[0]!['content'], '[redacted]');
    const { payload } = rewrite.events()[0]! as unknown as { readonly payload: Fields };
    assert.deepEqual(payload, { namespace: 'global', content: 'hello', ttl_secs: 2_592_000 });
    await until('the transcript is told', () => told.events().length === 1);
    const heard = told.events()[0]!.payload;
    assert.deepEqual(Object.keys(heard).toSorted(), [
      ...['compressed_size', 'created_at', 'expires_at', 'id', 'namespace', 'original_size'],
    ]);
    await node.run('memory_capture_turn', TURN);
    assert.equal(told.events().length, 1, 'a turn that was there is not told');
  });
});

describe('memory_replay', () => {
  const capture = async (services: Services, host_turn_index: number, content: string, more: Fields = {}) =>
    String(
      (await run(services, 'memory_capture_turn', { ...TURN, host_turn_index, content, ...more }))[
        'memory_id'
      ],
    );

  it('shows long texts only when it is verbose', async () => {
    const services = await openNode();
    const text = 'long text '.repeat(20_000);
    const id = await capture(services, 1, text);
    const [short] = shown(await run(services, 'memory_replay', { memory_id: id }));
    assert.deepEqual(
      [short!['truncated'], short!['content'], short!['original_size']],
      [true, undefined, 200_000],
    );
    const [whole] = shown(await run(services, 'memory_replay', { memory_id: id, verbose: true }));
    assert.equal(whole!['content'], text);
    const { memory } = await run(services, 'memory_get', { id });
    assert.equal((memory as Fields)['content'], text.slice(0, 65_536));
  });

  it('walks from a reflection to the turns on which it reflects, in their order and page by page', async () => {
    const services = await openNode();
    const turns: string[] = [];
    for (const [at, hour] of ['03', '01', '02'].entries())
      turns.push(
        await capture(services, at, `turn at ${hour}`, { timestamp_iso: `2026-01-01T${hour}:00:00Z` }),
      );
    const reflection = { title: 'what we did', content: 'a summary', kind: 'reflection' };
    const { id } = await run(services, 'memory_store', reflection);
    for (const target of turns)
      await run(services, 'memory_link', { source_id: id, target_id: target, relation: 'reflects_on' });
    const all = shown(await run(services, 'memory_replay', { memory_id: id }));
    assert.deepEqual(
      all.map(({ content }) => content),
      ['turn at 01', 'turn at 02', 'turn at 03'],
    );
    assert.deepEqual(shown(await run(services, 'memory_replay', { memory_id: id, depth: 0 })), []);
    assert.equal(shown(await run(services, 'memory_replay', { memory_id: id, depth: 1 })).length, 3);
    const first = await run(services, 'memory_replay', { memory_id: id, limit: 2 });
    const rest = await run(services, 'memory_replay', { memory_id: id, limit: 2, after: first['next'] });
    assert.deepEqual([...shown(first), ...shown(rest)], all);
    assert.equal(rest['next'], undefined);
    await run(services, 'memory_delete', { id: turns[0]! });
    assert.equal((await run(services, 'memory_replay', { memory_id: id }))['count'], 0);
  });

  it('shows nothing of a memory that the caller does not see, and obeys permission rules', async () => {
    const rule = {
      namespacePattern: 'team/**',
      op: 'memory_replay',
      agentPattern: '**',
      decision: 'deny',
    } as const;
    const services = await openNode({ permissionRules: [{ ...rule, reason: 'kept' }] });
    const hidden = await capture(services, 1, 'secret', { metadata: { scope: 'private' } });
    assert.equal((await run(services, 'memory_replay', { memory_id: hidden }, BOB))['count'], 0);
    assert.equal((await run(services, 'memory_replay', { memory_id: hidden }))['count'], 1);
    const kept = await capture(services, 2, 'kept', { namespace: 'team/a' });
    assert.equal(await refused(services, 'memory_replay', { memory_id: kept }), 'GOVERNANCE_REFUSED');
    assert.equal(
      await refused(services, 'memory_replay', { memory_id: kept, agent_id: 'ai:bob' }),
      'FORBIDDEN',
    );
  });
});

describe('memory_offload and memory_deref', () => {
  it('give a content back to its owner only, and to each of two owners', async () => {
    const services = await openNode();
    const put = await run(services, 'memory_offload', { content: 'the log\u001b[0m', namespace: '' });
    const { ref_id, namespace, content_sha256 } = put;
    assert.match(String(ref_id), /^ofl_[A-Z2-7]{13}$/);
    assert.equal(namespace, 'auto');
    const back = await run(services, 'memory_deref', { ref_id });
    assert.deepEqual(
      [back['content'], back['sha256'], back['stored_at']],
      ['the log\u001b[0m', content_sha256, put['stored_at']],
    );
    assert.equal(await refused(services, 'memory_deref', { ref_id }, BOB), 'NOT_FOUND');
    const of = await run(services, 'memory_offload', { content: 'the log\u001b[0m' }, BOB);
    assert.equal(of['ref_id'], ref_id);
    for (const by of [ALICE, BOB])
      assert.equal((await run(services, 'memory_deref', { ref_id }, by))['content'], 'the log\u001b[0m');
  });

  it('refuse a content that is too long, an empty one, and a reference of another form', async () => {
    const services = await openNode();
    const long = await call(services, 'memory_offload', { content: 'x'.repeat(1_048_577) });
    assert.ok(!long.ok);
    assert.match(long.error.message, /offload blob 1048577 bytes exceeds policy max 1048576/);
    assert.equal(await refused(services, 'memory_offload', { content: '' }), 'VALIDATION_FAILED');
    assert.equal(await refused(services, 'memory_deref', { ref_id: 'ofl_1' }), 'VALIDATION_FAILED');
  });
});
