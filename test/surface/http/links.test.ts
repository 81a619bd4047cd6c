import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SettingFlags } from '../../../node/config/load-settings.js';
import type { Replication } from '../../../node/pipeline/call.js';
import { Commands } from '../../../protocol/decide/command.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { OPERATOR } from '../../support/memories.js';
import { openBeside } from '../../support/test-store.js';
import { type Answer, type HttpNode, type NodeOptions, openHttpNode } from './http-node.js';

const API = '/api/v1';
const as = (agent: string) => ({ 'x-agent-id': agent });
const pair = (source_id: string, target_id: string, relation = 'related_to') => ({
  ...{ source_id, target_id, relation },
});

/** A node with memories of alice, and one of bob at the end. */
async function withNode(
  count: number,
  run: (node: HttpNode, ids: readonly string[]) => Promise<void>,
  settings: SettingFlags = {},
  options: NodeOptions = {},
): Promise<void> {
  const node = await openHttpNode(settings, options);
  try {
    const ids: string[] = [];
    for (let at = 0; at <= count; at += 1) {
      const body = { title: `memory ${at}`, content: `content ${at}` };
      const owner = at === count ? 'ai:bob' : 'ai:alice';
      const { json } = await node.send('POST', `${API}/memories`, body, as(owner));
      ids.push(String(json!['id']));
    }
    await run(node, ids);
  } finally {
    await node.close();
  }
}

const link = (node: HttpNode, body: object, agent = 'ai:alice') =>
  node.send('POST', `${API}/links`, body, as(agent));
const linksOf = (node: HttpNode, id: string, agent = 'ai:alice', query = '') =>
  node.send('GET', `${API}/links/${id}${query}`, undefined, as(agent));
const verify = (node: HttpNode, body: object, agent = 'ai:alice') =>
  node.send('POST', `${API}/links/verify`, body, as(agent));
const listed = ({ json }: Answer) => json!['links'] as Record<string, unknown>[];

async function auditTypes({ services }: HttpNode): Promise<readonly string[]> {
  const found = await services.store.query({ kind: 'audit-rows', after: 0, limit: 1000 });
  assert.ok(found.ok);
  return found.value.rows.map(({ event_type }) => event_type);
}

describe('links over HTTP', () => {
  it('charge the owner of the source a link of the day for each that is new', async () => {
    const run = async (node: HttpNode, [a, b, c]: readonly string[]) => {
      assert.equal((await link(node, pair(a!, b!))).status, 201);
      assert.equal((await link(node, pair(a!, b!))).json!['created'], false);
      assert.equal((await link(node, pair(b!, a!))).status, 201);
      const { status, json, headers } = await link(node, pair(a!, c!));
      const { retry_after_secs: seconds, error, ...refusal } = json!;
      assert.deepEqual([status, headers.get('retry-after')], [429, String(seconds)]);
      assert.deepEqual(refusal, {
        ...{ code: 'QUOTA_EXCEEDED', limit: 'links_per_day', current: 2, max: 2, agent_id: 'ai:alice' },
      });
      assert.match(String(error), /^QUOTA_EXCEEDED: agent ai:alice namespace global hit links_per_day/);
      // An import is not charged, and bob has links of his own.
      const links = [{ source_id: a, target_id: c, relation: 'advances' }];
      const body = { memories: [], links };
      assert.equal((await node.send('POST', `${API}/import`, body, as('ai:root'))).status, 200);
      assert.equal((await link(node, pair(c!, a!), 'ai:bob')).status, 201);
      const use = await node.send('POST', `${API}/quota/status`, { namespace: 'global' }, as('ai:alice'));
      assert.equal(use.json!['current_links_today'], 2);
    };
    const admin = { adminAgentIds: ['ai:root'], adminHeaderTrust: true };
    await withNode(2, run, { maxLinksPerDay: 2, ...admin });
  });

  it('are shown at both ends to those who see both', async () => {
    await withNode(2, async (node, [a, b, c]) => {
      await link(node, pair(a!, b!, 'supersedes'));
      await link(node, pair(a!, c!));
      await link(node, pair(c!, b!), 'ai:bob');
      assert.deepEqual(
        listed(await linksOf(node, b!)).map(({ source_id, relation }) => [source_id, relation]),
        [
          [a, 'supersedes'],
          [c, 'related_to'],
        ],
      );
      await node.send('PUT', `${API}/memories/${c}`, { metadata: { scope: 'private' } }, as('ai:bob'));
      assert.equal(listed(await linksOf(node, b!)).length, 1);
      assert.equal(listed(await linksOf(node, b!, 'ai:bob')).length, 2);
      assert.equal((await linksOf(node, c!)).status, 404);
      // The owner of one end learns nothing about the other.
      const gone = await node.send('DELETE', `${API}/links`, pair(a!, c!), as('ai:alice'));
      const ended = await node.send('POST', `${API}/kg/invalidate`, pair(a!, c!), as('ai:alice'));
      const checked = await verify(node, pair(a!, c!));
      assert.deepEqual([gone.json!['deleted'], ended.status, checked.status], [0, 404, 404]);
      assert.equal(listed(await linksOf(node, c!, 'ai:bob')).length, 2);
      await node.send('DELETE', `${API}/memories/${c}`, undefined, as('ai:bob'));
      assert.equal(listed(await linksOf(node, b!, 'ai:bob')).length, 1);
    });
  });

  it('have their end moved by another invalidation, which answers the end before', async () => {
    await withNode(2, async (node, [a, b, c]) => {
      const far = '2030-01-01T00:00:00.000Z';
      const end = async (body: object) =>
        (await node.send('POST', `${API}/kg/invalidate`, body, as('ai:alice'))).json!;
      await link(node, pair(a!, b!));
      const first = await end({ ...pair(a!, b!), valid_until: far });
      assert.deepEqual([first['changed'], first['previous_valid_until']], [true, null]);
      const same = await end({ ...pair(a!, b!), valid_until: far });
      assert.deepEqual(
        [same['changed'], same['valid_until'], same['previous_valid_until']],
        [false, far, far],
      );
      const now = await end(pair(a!, b!));
      assert.deepEqual([now['changed'], now['previous_valid_until']], [true, far]);
      assert.ok(Math.abs(Date.parse(String(now['valid_until'])) - Date.now()) < 60_000);
      const again = await end(pair(a!, b!));
      assert.deepEqual(
        [again['changed'], again['valid_until'], again['previous_valid_until']],
        [false, now['valid_until'], now['valid_until']],
      );
      const [shown] = listed(await linksOf(node, a!));
      assert.deepEqual([shown!['valid_until'], shown!['believed_until']], [now['valid_until'], far]);
      await link(node, pair(a!, c!));
      assert.equal((await end(pair(a!, c!)))['changed'], true);
      const later = await end({ ...pair(a!, c!), valid_until: far });
      assert.deepEqual([later['changed'], later['valid_until']], [true, far]);
    });
  });

  it('stay when they are invalidated, with what was believed, and begin anew when they are made again', async () => {
    await withNode(1, async (node, [a, b]) => {
      const until = '2031-01-01T00:00:00.000Z';
      await link(node, { ...pair(a!, b!), valid_from: '2020-01-01T00:00:00Z', valid_until: until });
      const valid_until = '2024-05-05T00:00:00.000Z';
      const body = { ...pair(a!, b!), valid_until };
      const ended = await node.send('POST', `${API}/kg/invalidate`, body, as('ai:alice'));
      assert.deepEqual(
        [ended.json!['changed'], ended.json!['valid_until'], ended.json!['previous_valid_until']],
        [true, valid_until, until],
      );
      const [shown] = listed(await linksOf(node, a!));
      const { created_at: _made, retired_at: retired, ...rest } = shown!;
      assert.ok(Math.abs(Date.parse(String(retired)) - Date.now()) < 60_000);
      assert.deepEqual(rest, {
        ...{ ...pair(a!, b!), observed_by: 'ai:alice', attest_level: 'unsigned' },
        ...{ valid_from: '2020-01-01T00:00:00.000Z', valid_until, believed_until: until },
      });
      const again = await link(node, pair(a!, b!));
      assert.deepEqual([again.json!['created'], again.json!['valid_until']], [true, null]);
      const [anew] = listed(await linksOf(node, a!));
      const { retired_at, believed_until, valid_until: open, attest_level } = anew!;
      assert.deepEqual(
        [retired_at, believed_until, open, attest_level],
        [undefined, undefined, undefined, 'self_signed'],
      );
      assert.deepEqual(await auditTypes(node), [
        ...['memory_link.created', 'memory_link.invalidated', 'memory_link.created'],
      ]);
    });
  });

  it('keep each period when they are made again, on both axes of time, also in an export', async () => {
    await withNode(
      2,
      async (node, [a, b]) => {
        const first = { valid_from: '2020-01-01T00:00:00.000Z', valid_until: '2021-01-01T00:00:00.000Z' };
        const second = { valid_from: '2022-01-01T00:00:00.000Z' };
        await link(node, { ...pair(a!, b!), ...first });
        const between = new Date().toISOString();
        await sleep(5);
        assert.equal((await link(node, { ...pair(a!, b!), ...second })).json!['created'], true);
        const body = { ...pair(a!, b!), valid_until: '2023-01-01T00:00:00.000Z' };
        await node.send('POST', `${API}/kg/invalidate`, body, as('ai:alice'));
        const isThere = async (question: object) => {
          const answer = await node.send(
            'POST',
            `${API}/kg/query`,
            { source_id: a, ...question },
            as('ai:alice'),
          );
          return (answer.json!['memories'] as object[]).length;
        };
        for (const [valid_at, count] of [
          ['2019-06-01T00:00:00Z', 0],
          ['2020-06-01T00:00:00Z', 1],
          ['2021-06-01T00:00:00Z', 0],
          ['2022-06-01T00:00:00Z', 1],
          ['2024-06-01T00:00:00Z', 0],
        ] as const)
          assert.equal(await isThere({ valid_at }), count, valid_at);
        const believed = { valid_at: '2022-06-01T00:00:00Z', believed_at: between };
        assert.equal(await isThere(believed), 0);
        const path = `${API}/kg/timeline?source_id=${a}`;
        const timeline = await node.send('GET', path, undefined, as('ai:alice'));
        const spans = (timeline.json!['events'] as Record<string, string>[]).map(
          ({ valid_from, valid_until }) => [valid_from, valid_until],
        );
        assert.deepEqual(spans, [
          [first.valid_from, first.valid_until],
          [second.valid_from, body.valid_until],
        ]);
        const [shown] = listed(await linksOf(node, a!));
        const [period] = shown!['earlier'] as Record<string, string>[];
        assert.deepEqual(
          [period!['valid_from'], period!['valid_until']],
          [first.valid_from, first.valid_until],
        );

        const exported = (await node.send('GET', `${API}/export`, undefined, as('ai:root'))).json!;
        await node.send('DELETE', `${API}/links`, pair(a!, b!), as('ai:alice'));
        assert.deepEqual(listed(await linksOf(node, a!)), []);
        const { memories, links } = exported;
        const back = { memories, links, trust_source: true };
        const imported = await node.send('POST', `${API}/import`, back, as('ai:root'));
        assert.deepEqual(imported.json!['errors'], [], imported.text);
        assert.deepEqual(listed(await linksOf(node, a!))[0]!['earlier'], shown!['earlier']);
      },
      { adminAgentIds: ['ai:root'], adminHeaderTrust: true },
    );
  });

  it('of reflections never close a circle; the refusal is recorded and counts', async () => {
    await withNode(3, async (node, ids) => {
      for (const at of [0, 1]) await link(node, pair(ids[at]!, ids[at + 1]!, 'reflects_on'));
      const closing = pair(ids[2]!, ids[0]!, 'reflects_on');
      const refused = await link(node, closing);
      assert.deepEqual([refused.status, refused.json!['code']], [409, 'REFLECTION_CYCLE_DETECTED']);
      assert.equal((await auditTypes(node)).at(-1), 'reflects_on.cycle_refused');
      const use = await node.send('POST', `${API}/quota/status`, { namespace: 'global' }, as('ai:alice'));
      assert.equal(use.json!['current_links_today'], 3);
      // Other relations may, and an invalidated link leads nowhere.
      assert.equal((await link(node, pair(ids[2]!, ids[0]!, 'depends_on'))).status, 201);
      const first = pair(ids[0]!, ids[1]!, 'reflects_on');
      await node.send('POST', `${API}/kg/invalidate`, first, as('ai:alice'));
      assert.equal((await link(node, closing)).status, 201);
    });
  });

  it('are shown up to a limit, and it is said when there are more', async () => {
    await withNode(5, async (node, ids) => {
      for (const id of ids.slice(1)) await link(node, pair(ids[0]!, id));
      const some = await linksOf(node, ids[0]!, 'ai:alice', '?limit=4');
      assert.deepEqual([listed(some).length, some.json!['truncated']], [4, true]);
      const all = await linksOf(node, ids[0]!, 'ai:alice', '?limit=5');
      assert.deepEqual([listed(all).length, all.json!['truncated']], [5, undefined]);
    });
  });
});

describe('the verification of a link', () => {
  it('finds what was changed behind the service', async () => {
    const dbPath = join(temporaryFolder('tampered'), 'mnemesh.db');
    const run = async (node: HttpNode, [a, b]: readonly string[]) => {
      await link(node, pair(a!, b!));
      assert.equal((await verify(node, pair(a!, b!))).json!['verified'], true);
      const db = openBeside({ path: dbPath });
      db.exec("UPDATE memory_links SET valid_until = '2020-01-01T00:00:00.000Z'");
      const { json } = await verify(node, pair(a!, b!));
      assert.deepEqual(
        [json!['verified'], json!['signature_present'], json!['findings']],
        [
          ...[false, true],
          [
            'the row is not what was written: it was damaged or changed behind the service',
            'the signature does not cover the link as it is stored',
          ],
        ],
      );
      db.prepare('UPDATE memory_links SET valid_until = NULL, signature = ?').run(Buffer.alloc(64));
      assert.equal((await verify(node, pair(a!, b!))).json!['verified'], false);
      db.close();
    };
    await withNode(1, run, { dbPath });
  });

  it('takes a nonce once for each caller and link, and needs one where the operator says so', async () => {
    const run = async (node: HttpNode, [a, b]: readonly string[]) => {
      await link(node, pair(a!, b!));
      await link(node, pair(b!, a!), 'ai:bob');
      const nonce = { verification_nonce: 'once' };
      const missing = await verify(node, pair(a!, b!));
      assert.deepEqual([missing.status, missing.json!['fields']], [400, ['verification_nonce']]);
      const codes = [
        await verify(node, { ...pair(a!, b!), ...nonce }),
        await verify(node, { link_id: `${a}--related_to-->${b}`, ...nonce }),
        await verify(node, { ...pair(b!, a!), ...nonce }),
        await verify(node, { ...pair(a!, b!), ...nonce }, 'ai:bob'),
        await verify(node, { ...pair(a!, b!), verification_nonce: 'twice' }),
        await node.send('POST', `${API}/memory_verify`, { ...pair(a!, b!), ...nonce }, as('ai:alice')),
      ].map(({ status }) => status);
      assert.deepEqual(codes, [200, 409, 200, 200, 200, 409]);
    };
    await withNode(1, run, { requireVerifyNonce: true });
  });

  it('of a source alone needs one link, or takes related_to where a target is named', async () => {
    await withNode(2, async (node, [a, b, c]) => {
      await link(node, pair(a!, b!, 'advances'));
      assert.equal((await verify(node, { source_id: a })).json!['relation'], 'advances');
      await link(node, pair(a!, b!));
      assert.equal((await verify(node, { source_id: a, target_id: b })).json!['relation'], 'related_to');
      await link(node, pair(a!, c!));
      const several = await verify(node, { source_id: a });
      assert.deepEqual([several.status, several.json!['fields']], [400, ['target_id', 'relation']]);
      const both = await verify(node, { source_id: a, link_id: `${a}|${b}|advances` });
      assert.equal(both.status, 400);
    });
  });
});

describe('an invalidation on a node with a quorum', () => {
  it('is answered when it is durable here, and a link waits', async () => {
    const waited: number[] = [];
    const replication: Replication = {
      quorumWrites: 2,
      quorumTimeoutMs: 2000,
      forward: () => Promise.reject(new Error('nothing is passed on here')),
      commands: new Commands([]),
      accepting: () => true,
      whenAccepting: () => Promise.resolve(),
      clockAheadMs: () => 0,
      replicated: async (_origin, _from, to) => {
        waited.push(to);
        return { acks: 1, needed: 2, met: false, reason: 'timeout' };
      },
    };
    const run = async (node: HttpNode, [a, b]: readonly string[]) => {
      const before = waited.length;
      assert.equal((await link(node, pair(a!, b!))).status, 202);
      assert.equal(waited.length, before + 1);
      const ended = await node.send('POST', `${API}/kg/invalidate`, pair(a!, b!), as('ai:alice'));
      assert.deepEqual([ended.status, ended.json!['quorum_met']], [200, undefined]);
      assert.equal(waited.length, before + 1);
      const found = await node.services.store.query({
        ...{ kind: 'links-of-memory', id: a!, limit: 9, viewer: OPERATOR, now: new Date().toISOString() },
      });
      assert.ok(found.ok && found.value.links[0]!.retired_at !== null);
    };
    await withNode(1, run, {}, { wrap: (services) => ({ ...services, replication }) });
  });
});
