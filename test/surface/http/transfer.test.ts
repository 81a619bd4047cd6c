import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { after, before, describe, it, test } from 'node:test';
import { systemCrypto } from '../../../node/seams.js';
import { EXPORT_MEMORIES_MAX } from '../../../protocol/base/limits.js';
import { writeEnvelopeBytes } from '../../../protocol/identity/write-envelope.js';
import { RELATIONS } from '../../../protocol/links/link.js';
import { KINDS, SCOPES, TIERS } from '../../../protocol/memory/memory.js';
import { storing } from '../../support/memories.js';
import fc from '../../support/properties.js';
import { type HttpNode, openHttpNode } from './http-node.js';

type Json = Record<string, unknown>;
interface Export {
  memories: Json[];
  links: Json[];
  count: number;
  exported_at: string;
  next_cursor?: string;
}
interface Imported {
  imported: number;
  unchanged: number;
  restamped: number;
  links: number;
  merged?: Record<string, string>;
  errors: string[];
}

const admin = { 'x-agent-id': 'ai:admin' };
const bob = { 'x-agent-id': 'ai:bob' };
const SETTINGS = { adminAgentIds: ['ai:admin'], adminHeaderTrust: true };
const open = () => openHttpNode(SETTINGS);

async function exported(node: HttpNode, query = ''): Promise<Export> {
  const answer = await node.send('GET', `/api/v1/export${query}`, undefined, admin);
  assert.equal(answer.status, 200, answer.text);
  return answer.json as unknown as Export;
}
async function imported(node: HttpNode, body: unknown): Promise<Imported> {
  const answer = await node.send('POST', '/api/v1/import', body, admin);
  assert.equal(answer.status, 200, answer.text);
  return answer.json as unknown as Imported;
}
const textOf = ({ exported_at: _, ...rest }: Export) => JSON.stringify(rest);
const one = (more: Json = {}): Json => ({ title: 'one', content: 'c', ...more });

/** A node with `count` memories of bob's and a few links. */
async function filled(count: number): Promise<HttpNode> {
  const node = await open();
  const rows = Array.from({ length: count }, (_, n) => ({ title: `row ${n}`, content: `content ${n}` }));
  const { json } = await node.send('POST', '/api/v1/memories/bulk', rows, bob);
  const ids = (json!['results'] as { id: string }[]).map(({ id }) => id);
  const links = [
    { source_id: ids[0], target_id: ids[1], relation: 'supersedes' },
    { source_id: ids[0], target_id: ids[count - 1], relation: 'related_to' },
    { source_id: ids[count - 1], target_id: ids[0], relation: 'depends_on' },
  ];
  assert.equal((await imported(node, { memories: [], links })).links, 3);
  return node;
}

describe('export', () => {
  let node: HttpNode;
  before(async () => {
    node = await filled(23);
    await node.send('POST', '/api/v1/memories', one({ title: 'private', scope: 'private' }), bob);
  });
  after(() => node.close());

  it('is for admins, and import too', async () => {
    for (const headers of [bob, {}]) {
      for (const [method, path, body] of [
        ['GET', '/api/v1/export', undefined],
        ['POST', '/api/v1/import', { memories: [] }],
      ] as const) {
        const answer = await node.send(method, path, body, headers);
        assert.equal(`${answer.status} ${answer.json?.['code']}`, '403 ADMIN_REQUIRED');
      }
    }
  });

  it('gives every row oldest first, with what a row needs to come back', async () => {
    const { memories, links, count, exported_at } = await exported(node);
    assert.equal(count, 24);
    assert.equal(memories.length, 24);
    assert.equal(links.length, 3);
    assert.ok(exported_at > '2026');
    const order = memories.map((row) => `${row['created_at']} ${row['id']}`);
    assert.deepEqual(order, [...order].sort());
    assert.ok(memories.some((row) => row['title'] === 'private'));
    for (const key of ['updated_at', 'access_count', 'version', 'metadata'])
      assert.ok(key in memories[0]!, key);
  });

  it('pages hold every row once, while others write and delete, each link with its source', async () => {
    const before = await exported(node);
    const seen: string[] = [];
    const links: string[] = [];
    let cursor: string | undefined;
    let pages = 0;
    const rowsOfPages: Json[] = [];
    do {
      const page = await exported(node, `?limit=5${cursor === undefined ? '' : `&cursor=${cursor}`}`);
      pages += 1;
      assert.ok(pages < 100, 'there is no end of pages');
      seen.push(...page.memories.map((row) => row['id'] as string));
      rowsOfPages.push(...page.memories);
      for (const link of page.links) {
        links.push(`${link['source_id']} ${link['target_id']}`);
        assert.ok(page.memories.some((row) => row['id'] === link['source_id']));
      }
      cursor = page.next_cursor;
      // A row that nobody has seen yet comes and goes.
      const stored = await node.send('POST', '/api/v1/memories', one({ title: `new ${pages}` }), admin);
      await node.send('DELETE', `/api/v1/memories/${stored.json!['id']}`, undefined, admin);
      await node.send('GET', '/api/v1/recall?q=content', undefined, bob);
    } while (cursor !== undefined);
    assert.ok(pages >= 5);
    assert.equal(new Set(seen).size, seen.length, 'no row twice');
    for (const row of before.memories) assert.ok(seen.includes(row['id'] as string));
    assert.deepEqual(
      links.sort(),
      before.links.map((link) => `${link['source_id']} ${link['target_id']}`).sort(),
    );
  });

  it('refuses what is no cursor, and unknown parameters', async () => {
    for (const query of [
      '?cursor=x',
      '?cursor=',
      '?cursor=W10',
      '?cursor=WzEsMl0',
      '?limit=0',
      '?limit=x',
      '?after=1',
    ]) {
      const answer = await node.send('GET', `/api/v1/export${query}`, undefined, admin);
      assert.equal(answer.status, 400, query);
    }
  });

  it('leaves expired rows out, and links to them', async () => {
    const own = await filled(3);
    const first = (await exported(own)).memories.find((row) => row['title'] === 'row 0');
    const soon = new Date(Date.now() + 800).toISOString();
    await own.send('PUT', `/api/v1/memories/${first!['id']}`, { expires_at: soon }, bob);
    await new Promise((resolve) => setTimeout(resolve, 850));
    const { memories, links } = await exported(own);
    assert.deepEqual([memories.length, links.length], [2, 0]);
    await own.close();
  });

  it('is refused whole when it is too large for one answer, and says how', async () => {
    const own = await openHttpNode({ ...SETTINGS, maxMemoriesPerDay: 100_000, maxStorageBytes: 1e9 });
    for (let n = 0; n <= EXPORT_MEMORIES_MAX; n += 1) {
      void own.services.store.execute(storing({ title: `t${n}` }));
    }
    await own.services.store.execute(storing({ title: 'last' }));
    const answer = await own.send('GET', '/api/v1/export', undefined, admin);
    assert.equal(`${answer.status} ${answer.json?.['code']}`, '413 EXPORT_PAGING_REQUIRED');
    assert.match(answer.json!['error'] as string, /limit.*next_cursor/);
    let count = 0;
    let cursor = '';
    do {
      const page = await exported(own, `?limit=1000${cursor}`);
      count += page.count;
      assert.ok(count <= EXPORT_MEMORIES_MAX + 2, 'there is no end of pages');
      cursor = page.next_cursor === undefined ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor !== '');
    assert.equal(count, EXPORT_MEMORIES_MAX + 2);
    await own.close();
  });

  it('is refused by bytes too, and pages stay below them', async () => {
    const own = await open();
    const content = 'x'.repeat(60_000);
    for (let n = 0; n < 299; n += 1) void own.services.store.execute(storing({ title: `t${n}`, content }));
    await own.services.store.execute(storing({ title: 'last', content }));
    const answer = await own.send('GET', '/api/v1/export', undefined, admin);
    assert.equal(answer.json?.['code'], 'EXPORT_PAGING_REQUIRED');
    const first = await own.send('GET', '/api/v1/export?limit=1000', undefined, admin);
    assert.ok(first.text.length < 17 * 1024 * 1024);
    const page = first.json as unknown as Export;
    assert.equal(page.count + (await exported(own, `?cursor=${page.next_cursor}`)).count, 300);
    await own.close();
  });
});

describe('import', () => {
  let node: HttpNode;
  before(async () => {
    node = await open();
  });
  after(() => node.close());
  const rowOf = async (title: string) =>
    (await exported(node)).memories.find((row) => row['title'] === title) as Json & { metadata: Json };

  it('makes the rows of a source that is not trusted the caller’s, and remembers whose they were', async () => {
    const metadata = { agent_id: 'ai:eve', scope: 'private', topic: 'x' };
    const answer = await imported(node, { memories: [one({ title: 'eve’s', metadata })] });
    assert.deepEqual([answer.imported, answer.restamped, answer.errors], [1, 1, []]);
    const again = await imported(node, { memories: [one({ title: 'eve’s', metadata })] });
    assert.deepEqual([again.imported, again.restamped], [1, 0], 'nobody became the owner a second time');
    assert.deepEqual((await rowOf('eve’s')).metadata, {
      agent_id: 'ai:admin',
      scope: 'private',
      topic: 'x',
      imported_from_agent_id: 'ai:eve',
      attest_level: 'claimed',
    });
    await imported(node, { memories: [one({ title: 'mine', metadata: { agent_id: 'ai:admin' } })] });
    assert.deepEqual((await rowOf('mine')).metadata, { agent_id: 'ai:admin', attest_level: 'claimed' });
  });

  it('lets nobody bring in an attestation, a peer or one of the service’s own ids, trusted or not', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    const created_at = '2026-01-01T00:00:00Z';
    const bytes = writeEnvelopeBytes({
      agentId: 'ai:eve',
      namespace: 'global',
      title: 'forged',
      kind: 'observation',
      createdAt: created_at,
      contentSha256: systemCrypto.sha256('c'),
    });
    const write_signature = {
      signature: sign(null, bytes, privateKey).toString('base64'),
      created_at,
      public_key: raw.toString('base64'),
    };
    for (const trust_source of [false, true]) {
      for (const metadata of [
        { agent_id: 'ai:eve', attest_level: 'agent_attested', attested_by: 'peer-0' },
        { agent_id: 'system', attest_level: 'agent_attested' },
        { agent_id: 'daemon' },
        { attest_level: 'agent_attested' },
        { attest_level: { deep: 1 }, attested_by: node.services.peerId },
      ]) {
        const own = await open();
        const answer = await imported(own, {
          memories: [one({ title: 'forged', metadata, write_signature })],
          trust_source,
        });
        assert.deepEqual(answer.errors, []);
        const [row] = (await exported(own)).memories;
        const stored = row!['metadata'] as Json;
        assert.ok(['claimed', undefined].includes(stored['attest_level'] as string));
        assert.equal(stored['attested_by'], undefined);
        const kept = trust_source && metadata.agent_id === 'ai:eve';
        if (metadata.agent_id !== undefined) assert.equal(stored['agent_id'], kept ? 'ai:eve' : 'ai:admin');
        await own.close();
      }
    }
    for (const metadata of [{ agent_id: 7 }, { agent_id: 'a b' }, { imported_from_agent_id: {} }]) {
      const { imported: count, errors } = await imported(node, { memories: [one({ metadata })] });
      assert.deepEqual([count, errors.length], [0, 1]);
    }
  });

  it('keeps what this machine has signed attested, and notices a changed text', async () => {
    const { machineKey, peerId, crypto } = node.services;
    const created_at = '2026-02-03T04:05:06+02:00';
    const signed = (title: string, content: string) => ({
      signature: Buffer.from(
        machineKey!.sign(
          writeEnvelopeBytes({
            agentId: 'ai:local',
            namespace: 'global',
            title,
            kind: 'observation',
            createdAt: created_at,
            contentSha256: crypto.sha256(content),
          }),
        ),
      ).toString('base64'),
      created_at,
      public_key: Buffer.from(machineKey!.publicKey).toString('base64'),
    });
    const metadata = { agent_id: 'ai:local' };
    const answer = await imported(node, {
      memories: [
        one({ title: 'whole', content: 'text', metadata, write_signature: signed('whole', 'text') }),
        one({ title: 'changed', content: 'other', metadata, write_signature: signed('changed', 'text') }),
      ],
    });
    assert.deepEqual([answer.imported, answer.restamped], [2, 1]);
    const attested = { agent_id: 'ai:local', attest_level: 'agent_attested', attested_by: peerId };
    assert.deepEqual((await rowOf('whole')).metadata, attested);
    assert.ok((await rowOf('whole'))['write_signature']);
    assert.equal((await rowOf('changed')).metadata['agent_id'], 'ai:admin');
    assert.equal((await rowOf('changed'))['write_signature'], undefined);
    // An unsigned copy of the same row takes nothing from it.
    await imported(node, {
      memories: [one({ title: 'whole', content: 'text', metadata })],
      trust_source: true,
    });
    assert.deepEqual((await rowOf('whole')).metadata, attested);
    await imported(node, {
      memories: [one({ title: 'whole', content: 'new text', metadata })],
      on_conflict: 'merge',
      trust_source: true,
    });
    assert.equal((await rowOf('whole')).metadata['attest_level'], 'claimed');
  });

  it('merges with the row of the same id or title, by the upsert rule', async () => {
    const own = await open();
    const { json } = await own.send(
      'POST',
      '/api/v1/memories',
      one({ tier: 'long', priority: 8, tags: ['a'] }),
      bob,
    );
    const id = json!['id'] as string;
    const incoming = {
      id: 'other-id',
      title: 'one',
      content: 'new',
      tier: 'short',
      priority: 3,
      tags: ['b'],
    };
    const far = '2099-01-01T00:00:00.000Z';
    const merged = await imported(own, {
      memories: [{ ...incoming, expires_at: far }, one({ title: 'two', id: 'two' })],
      on_conflict: 'merge',
      links: [{ source_id: 'other-id', target_id: 'two', relation: 'related_to' }],
    });
    assert.deepEqual(merged.merged, { 'other-id': id });
    assert.deepEqual([merged.imported, merged.links, merged.errors], [2, 1, []]);
    const { memories, links } = await exported(own);
    const row = memories.find((each) => each['id'] === id)!;
    assert.deepEqual(
      [row['content'], row['tier'], row['priority'], row['tags'], row['expires_at'], row['version']],
      ['new', 'long', 8, ['b'], undefined, 2],
    );
    assert.equal((row['metadata'] as Json)['agent_id'], 'ai:bob', 'the stored owner stays');
    assert.equal(links[0]!['source_id'], id);
    const updated_at = new Date().toISOString();
    const renamed = await imported(own, { memories: [{ ...incoming, id, title: 'renamed', updated_at }] });
    assert.deepEqual([renamed.imported, renamed.errors], [1, []]);
    const clash = await imported(own, {
      memories: [{ ...incoming, id, title: 'two' }],
      on_conflict: 'merge',
    });
    assert.deepEqual([clash.imported, clash.errors.length], [0, 1]);
    await own.close();
  });

  it('brings a deleted and an expired row back', async () => {
    const own = await filled(2);
    const before = await exported(own);
    const [first, second] = before.memories as { id: string }[];
    await own.send('DELETE', `/api/v1/memories/${first!.id}`, undefined, bob);
    const soon = new Date(Date.now() + 800).toISOString();
    await own.send('PUT', `/api/v1/memories/${second!.id}`, { expires_at: soon }, bob);
    await new Promise((resolve) => setTimeout(resolve, 850));
    assert.equal((await exported(own)).count, 0);
    const answer = await imported(own, { ...before, trust_source: true });
    assert.deepEqual([answer.imported, answer.unchanged, answer.errors], [2, 0, []]);
    assert.deepEqual((await exported(own)).memories, before.memories);
    await own.close();
  });

  it('neither brings agent records in nor moves them out: they hold keys', async () => {
    const own = await open();
    const registered = await own.send(
      'POST',
      '/api/v1/agents',
      { agent_id: 'ai:bob', agent_type: 'human' },
      bob,
    );
    assert.equal(registered.status, 201, registered.text);
    assert.equal((await exported(own)).count, 0);
    const id = registered.json!['id'];
    assert.equal(typeof id, 'string');
    const before = await own.counts();
    for (const row of [
      { id, title: 'agent:ai:bob', content: 'changed', namespace: '_agents' },
      { id, title: 'agent:ai:bob', content: 'changed', namespace: 'global' },
      { title: 'agent:ai:eve', content: 'x', namespace: '_agents' },
    ]) {
      const { imported: count, errors } = await imported(own, { memories: [row], trust_source: true });
      assert.deepEqual([count, errors.length], [0, 1]);
    }
    assert.deepEqual(await own.counts(), before);
    await own.close();
  });

  it('refuses more than 1000 rows, and names each bad row', async () => {
    const rows = Array.from({ length: 1001 }, (_, n) => one({ title: `many ${n}` }));
    const answer = await node.send('POST', '/api/v1/import', { memories: rows }, admin);
    assert.equal(`${answer.status} ${answer.json?.['code']}`, '400 VALIDATION_FAILED');
    assert.match(answer.json!['error'] as string, /1000/);
    const before = await node.counts();
    const bad = [
      null,
      7,
      [],
      {},
      one({ version: 0 }),
      one({ id: 'a/b' }),
      one({ score: 1 }),
      one({ expires_at: '2001-01-01T00:00:00Z' }),
      one({ created_at: 'yesterday' }),
      one({ write_signature: { signature: 'x' } }),
      one({ kind: 'claim', memory_kind: 'claim' }),
      one({ embedding: [1] }),
    ];
    const links = [
      null,
      {},
      { source_id: 'a', target_id: 'b', relation: 'knows' },
      { source_id: 'a', target_id: 'a', relation: 'advances' },
      { source_id: 'a', target_id: 'b', relation: 'advances' },
    ];
    const refused = await imported(node, { memories: bad, links });
    assert.equal(refused.imported, 0);
    assert.equal(refused.errors.length, bad.length + links.length);
    assert.match(refused.errors[7]!, /^memories\[7\]: expires_at/);
    assert.deepEqual(await node.counts(), before);
  });
});

const word = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .filter((text) => text.trim() === text && text !== '' && !/\p{Cc}/u.test(text));
const instant = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2026-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString());
const agent = fc.constantFrom('ai:alice', 'ai:bob', 'human:carol');
const generated = fc.record(
  {
    id: fc.uuid({ version: 4 }),
    tier: fc.constantFrom(...TIERS),
    namespace: fc.constantFrom('global', 'team/alpha', 'ünï/東京'),
    title: fc.tuple(word, fc.uuid()).map((parts) => parts.join(' ')),
    content: fc.array(word, { minLength: 1 }).map((words) => words.join('\n\t')),
    tags: fc.uniqueArray(word, { maxLength: 4 }),
    priority: fc.integer({ min: 1, max: 10 }),
    confidence: fc.double({ min: 0, max: 1, noNaN: true }),
    source: fc.constantFrom('api', 'cli', 'hook'),
    access_count: fc.nat({ max: 1000 }),
    created_at: instant,
    updated_at: instant,
    last_accessed_at: instant,
    metadata: fc.record(
      {
        agent_id: agent,
        scope: fc.constantFrom(...SCOPES),
        attest_level: fc.constant('claimed'),
        imported_from_agent_id: agent,
        extra: fc
          .jsonValue({ maxDepth: 4, noUnicodeString: false } as never)
          .filter((value) => !/__proto__|\d{16}|e\+/.test(JSON.stringify(value))),
      },
      { requiredKeys: [] },
    ),
    kind: fc.constantFrom(...KINDS),
    reflection_depth: fc.nat({ max: 4 }),
    atom_of: fc.uuid(),
    citations: fc.array(fc.record({ uri: fc.constant('doc:x'), accessed_at: instant }), { maxLength: 2 }),
    source_uri: fc.constantFrom('doc:a', 'file:/b'),
    source_span: fc.record({ start: fc.nat({ max: 5 }), end: fc.integer({ min: 6, max: 99 }) }),
    confidence_source: fc.constantFrom('caller_provided', 'calibrated'),
    confidence_signals: fc.record({ freshness_factor: fc.double({ min: 0, max: 1, noNaN: true }) }),
    version: fc.integer({ min: 1, max: 99 }),
  },
  { requiredKeys: ['id', 'title', 'content'] },
);

test('an export that is imported as trusted into an empty node is exported again byte for byte, and again changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(generated, { minLength: 1, maxLength: 12, selector: ({ id }) => id }),
      fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom(...RELATIONS), instant), { maxLength: 6 }),
      async (memories, ends) => {
        const [source, target] = [await open(), await open()];
        const links = ends.map(([from, to, relation, created_at]) => ({
          source_id: memories[from % memories.length]!.id,
          target_id: memories[to % memories.length]!.id,
          relation,
          created_at,
          observed_by: 'ai:bob',
          signature: 'AAEC',
          attest_level: 'self_signed',
        }));
        const first = await imported(source, { memories, links, trust_source: true });
        assert.deepEqual(
          [first.imported, first.errors.filter((error) => !/itself/.test(error))],
          [memories.length, []],
        );
        const out = await exported(source);
        assert.equal(out.count, memories.length);
        for (const twice of [false, true]) {
          const before = await target.counts();
          const answer = await imported(target, { ...out, trust_source: true });
          assert.deepEqual([answer.imported, answer.links, answer.errors], [out.count, out.links.length, []]);
          assert.equal(answer.unchanged, twice ? out.count : 0);
          assert.equal(textOf(await exported(target)), textOf(out));
          if (twice) assert.deepEqual(await target.counts(), before);
        }
        // The same rows from a source that is not trusted: twice is once there too.
        const other = await open();
        await imported(other, out);
        const [counts, text] = [await other.counts(), textOf(await exported(other))];
        const again = await imported(other, out);
        assert.equal(again.unchanged, out.count);
        assert.deepEqual([await other.counts(), textOf(await exported(other))], [counts, text]);
        for (const node of [source, target, other]) await node.close();
      },
    ),
    { numRuns: 15, endOnFailure: true },
  );
});

it('keeps the expiry of a long memory, from node to node and into the same', async (context) => {
  const [source, target] = [await open(), await open()];
  context.after(() => Promise.all([source.close(), target.close()]));
  const expires_at = new Date(Date.now() + 86_400_000).toISOString();
  const { json } = await source.send(
    'POST',
    '/api/v1/memories',
    one({ tier: 'long', title: 'to expire' }),
    bob,
  );
  const put = { expires_at, content: 'edited' };
  await source.send('PUT', `/api/v1/memories/${json!['id']}`, put, bob);
  const whole = await exported(source);
  assert.equal(whole.memories[0]?.['expires_at'], expires_at);
  for (const [node, unchanged] of [
    [target, 0],
    [target, 1],
    [source, 1],
  ] as const) {
    const done = await imported(node, { ...whole, trust_source: true });
    assert.deepEqual([done.imported, done.unchanged], [1, unchanged]);
    assert.equal(textOf(await exported(node)), textOf(whole));
  }
});

it('takes no version that could not grow any more', async (context) => {
  const node = await open();
  context.after(() => node.close());
  const { errors } = await imported(node, { memories: [one({ version: Number.MAX_SAFE_INTEGER })] });
  assert.match(errors[0]!, /version/);
});
