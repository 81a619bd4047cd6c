import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { sweepSkillUploads } from '../../node/runtime/skill-duties.js';
import { NO_REST } from '../../protocol/kinds/payload.js';
import { KINDS } from '../../protocol/release.js';
import { SKILL_UPLOAD_SECONDS } from '../../protocol/skills/limits.js';
import { type Skill, skillKind } from '../../protocol/skills/skill-kind.js';
import { openReceiverNode } from '../support/receiver-node.js';
import { TestPeer } from '../support/test-peer.js';
import { BOB, type Fields, openSkillNode, ROOT, SkillNode, skillText } from './skill-node.js';

const opened: { close(): Promise<void> }[] = [];
after(() => Promise.all(opened.map((one) => one.close())));

/** A record as a peer or a damaged disk has it, put in the place of the one that is there. */
async function put(node: SkillNode, kind: string, id: string, change: Fields) {
  const found = await node.services.store.query({ kind: 'read-records', of: kind, ids: [id] });
  assert.ok(found.ok);
  const { image, namespace } = found.value.records[0]!;
  const dropped = { ...image, ...change, updated_at: '2099-01-01T00:00:00.000Z' };
  return node.services.store.execute({
    ...{ kind: 'import-record', revive: true },
    record: { kind, id, namespace, image: KINDS.of(kind).payload.parse(dropped)! },
  });
}

describe('a skill that was changed behind the back of its digest', () => {
  it('is not shown, composed or written: text, manifest, files, signature', async () => {
    const changes: readonly (readonly [Fields, RegExp])[] = [
      [{ description: 'Another' }, /digest mismatch/],
      [{ allowed_tools: ['Bash'] }, /digest mismatch/],
      [{ digest: 'ab'.repeat(32) }, /digest mismatch/],
      [{ body_sha256: 'ab'.repeat(32) }, /not stored here/],
      [{ pieces: 2 }, /1 of the 2 pieces/],
      [{ signature: Buffer.alloc(64).toString('base64') }, /signature/],
    ];
    for (const [change, says] of changes) {
      const node = await openSkillNode();
      node.folder('one', { 'SKILL.md': skillText(), 'resources/a.txt': 'a' });
      const { id } = await node.run('skill_register', { folder_path: 'one' });
      const written = await put(node, 'skill', String(id), change);
      assert.ok(written.ok, JSON.stringify(written));
      for (const [name, more] of [
        ['skill_get', {}],
        ['skill_resource', { resource_path: 'a.txt' }],
        ['skill_export', { target_folder: 'out' }],
        ['skill_compositional_context', {}],
      ] as const) {
        const refused = await node.refused(name, { skill_id: id, ...more });
        assert.equal(refused.code, 'CONTENT_DAMAGED', `${name} ${JSON.stringify(change)}`);
        assert.match(refused.message, says);
      }
    }
  });

  it('does not come from an import with a signature that does not cover it', async () => {
    const [from, to] = [await openSkillNode(), await openSkillNode()];
    const { id } = await from.register(skillText());
    const document = await from.run('export', {}, ROOT);
    const records = document['records'] as Fields[];
    const forged = records.map((record) =>
      record['kind'] === 'skill' ? { ...record, digest: 'ab'.repeat(32) } : record,
    );
    const imported = await to.run('import', { memories: [], records: forged }, ROOT);
    assert.match(JSON.stringify(imported), /signature of the record is not valid/);
    assert.equal((await to.refused('skill_get', { skill_id: id })).code, 'NOT_FOUND');
  });
});

describe('skills of a node', () => {
  it('come back from its export, superseded versions and files too', async () => {
    const [from, to] = [await openSkillNode(), await openSkillNode()];
    from.folder('one', {
      'SKILL.md': skillText({ version: 3 }),
      'resources/big.bin': randomBytes(1_200_000),
    });
    const { id: first } = await from.run('skill_register', { folder_path: 'one' });
    const { id: second } = await from.register(skillText());
    const document = await from.run('export', {}, ROOT);
    const records = document['records'] as Fields[];
    await to.run('import', { memories: [], records, trust_source: true }, ROOT);
    for (const skill_id of [first, second]) {
      const { signed: _there, ...there } = await from.run('skill_get', { skill_id });
      const { signed: _here, ...here } = await to.run('skill_get', { skill_id });
      assert.deepEqual(here, there);
    }
    const file = { skill_id: first, resource_path: 'big.bin' };
    assert.deepEqual(await to.run('skill_resource', file), await from.run('skill_resource', file));
    assert.deepEqual((await to.run('skill_list', {}))['count'], 1);
  });

  it('of which concurrent registrations left two newest versions have one, which the next one supersedes with the other', async () => {
    const node = await openSkillNode();
    const { id: first } = await node.register(skillText());
    const { id: second } = await node.register(skillText({ description: 'Later' }));
    const fork = { superseded_by: null, head_of: 'team|deploy' };
    assert.ok((await put(node, 'skill', String(first), fork)).ok);
    const list = (await node.run('skill_list', {}))['skills'] as Fields[];
    assert.deepEqual(
      list.map(({ id }) => id),
      [second],
    );
    const loser = await node.run('skill_get', { skill_id: first });
    assert.deepEqual([loser['current'], loser['superseded_by']], [false, second]);
    const { id: third, superseded_id } = await node.register(skillText());
    assert.equal(superseded_id, second);
    for (const skill_id of [first, second])
      assert.equal((await node.run('skill_get', { skill_id }))['superseded_by'], third);
  });

  it('take no version of a peer whose signature does not cover its digest', async () => {
    const peer = new TestPeer('a peer with skills');
    const receiver = await openReceiverNode({ peers: [peer.asPeer()] });
    opened.push(receiver);
    const node = new SkillNode(receiver.services);
    const image = (digest: string, signature: string): Skill => ({
      ...{
        skill_id: '11111111-1111-4111-8111-111111111111',
        namespace: 'team',
        name: 'evil',
        description: 'd',
      },
      ...{ license: null, compatibility: null, allowed_tools: [], metadata: {}, body_sha256: digest },
      ...{ content_id: `team|${digest}`, pieces: 0, digest, agent_id: 'ai:x', superseded_by: null },
      ...{ created_at: '2026-01-01T00:00:00.000Z', updated_at: '2026-01-01T00:00:00.000Z' },
      ...{
        head_of: 'team|evil',
        signature,
        public_key: Buffer.from(peer.signer.publicKey).toString('base64'),
      },
      rest: NO_REST,
    });
    const digest = 'ab'.repeat(32);
    const other = Buffer.from(peer.signer.sign(Buffer.from('cd'.repeat(32), 'hex'))).toString('base64');
    const kind = skillKind as (typeof KINDS.all)[number];
    const verdict = kind.author(skillKind.payload.text(image(digest, other)), {
      crypto: receiver.services.crypto,
      keyFromText: (text) => new Uint8Array(Buffer.from(text, 'base64')),
      signatureFromText: (text) => new Uint8Array(Buffer.from(text, 'base64')),
    });
    assert.equal(verdict.holds, false);
    assert.equal((await node.run('skill_list', {}))['count'], 0);
  });
});

describe('a registration that is sent again after a kill', () => {
  it('is refused where the folder changed meanwhile, and nothing of it stays', async () => {
    const node = await openSkillNode();
    const { store } = node.services;
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`resources/${count}-${at}`, `${at}`]));
    node.folder('one', { 'SKILL.md': skillText(), ...files(70) });
    const execute: typeof store.execute = (command, ...rest) =>
      ['register-skill', 'drop-skill-upload'].includes(command.kind)
        ? (Promise.resolve({ ok: false, error: { code: 'UNAVAILABLE', message: 'killed' } }) as never)
        : store.execute(command, ...rest);
    const dying = new SkillNode({
      ...node.services,
      store: Object.assign(Object.create(store) as typeof store, { execute }),
    });
    const asked = { folder_path: 'one' };
    assert.ok(!(await dying.answer('skill_register', asked, BOB, { key: 'k' })).ok);
    rmSync(join(node.root, 'one', 'resources'), { recursive: true });
    node.folder('one', files(66));
    const again = await node.answer('skill_register', asked, BOB, { key: 'k', again: true });
    assert.ok(!again.ok);
    assert.match(again.error.message, /register it again/);
    for (const kind of ['skill', 'skill_resource', 'skill_content'])
      assert.deepEqual(await node.records(kind), []);
    await node.run('skill_register', asked, BOB);
  });
});

describe('files of a skill that was not registered', () => {
  it('are removed when they are old, and not while they come or when the skill is there', async () => {
    const node = await openSkillNode();
    const { store } = node.services;
    const files = Object.fromEntries(
      Array.from({ length: 150 }, (_, at) => [`resources/${at}`, `${at % 75}`]),
    );
    node.folder('one', { 'SKILL.md': skillText(), ...files });
    // A process that ends before the last command leaves what the ones before stored.
    const killed: Fields[] = [];
    const execute: typeof store.execute = (command, ...rest) => {
      if (['register-skill', 'drop-skill-upload'].includes(command.kind)) {
        killed.push({ kind: command.kind });
        return Promise.resolve({ ok: false, error: { code: 'UNAVAILABLE', message: 'killed' } }) as never;
      }
      return store.execute(command, ...rest);
    };
    const dying = new SkillNode({
      ...node.services,
      store: Object.assign(Object.create(store) as typeof store, { execute }),
    });
    await dying.refused('skill_register', { folder_path: 'one' });
    assert.deepEqual(
      killed.map(({ kind }) => kind),
      ['register-skill', 'drop-skill-upload'],
    );
    assert.equal((await node.records('skill_resource')).length, 128);
    const { id } = await node.run('skill_register', { folder_path: 'one' }, BOB);
    const parts = { store, settings: node.services.settings, log: node.services.log } as never as object;
    const round = (aheadMs: number) =>
      sweepSkillUploads.run({
        ...parts,
        clock: { ...node.services.clock, nowMs: () => Date.now() + aheadMs },
      } as never);
    const sweep = async (aheadMs: number) => {
      const next = round(aheadMs);
      for (let rounds = 0; (await next()) !== null; rounds += 1) assert.ok(rounds < 20);
    };
    await sweep(SKILL_UPLOAD_SECONDS * 1000 - 60_000);
    assert.equal((await node.records('skill_resource')).length, 128 + 150);
    await sweep(SKILL_UPLOAD_SECONDS * 1000 + 60_000);
    assert.equal((await node.records('skill_resource')).length, 150);
    assert.equal((await node.records('skill_content')).length, 75 + 1);
    assert.equal(((await node.run('skill_get', { skill_id: id }))['resources'] as Fields[]).length, 150);
  });
});
