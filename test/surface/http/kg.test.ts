import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Link } from '../../../protocol/links/link.js';
import { linking } from '../../support/memories.js';
import { type Answer, type HttpNode, openHttpNode } from './http-node.js';

const ALICE = { 'x-agent-id': 'ai:alice' };
const BOB = { 'x-agent-id': 'ai:bob' };
const day = (number: number) => `2026-01-${String(number).padStart(2, '0')}T00:00:00.000Z`;

/** Says which members differ from those that are expected. */
const holds = (actual: unknown, expected: object) =>
  assert.deepEqual({ ...(actual as object), ...expected }, actual);

/**
 * plan → task → step, plan → secret → step (secret is Alice's own), plan → old until the 10th, of which the mesh was told
 * on the 20th, and step → plan, which closes a ring.
 */
describe('the knowledge graph over HTTP', { timeout: 120_000 }, () => {
  let node: HttpNode;
  const ids: Record<string, string> = {};
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = ALICE) =>
    node.send(method, `/api/v1${path}`, body, headers);
  const query = (body: object, headers = ALICE) => send('POST', '/kg/query', body, headers);
  const paths = (body: object, headers = ALICE) => send('POST', '/kg/find_paths', body, headers);
  const targets = (answer: Answer) => {
    assert.equal(answer.status, 200, answer.text);
    return (answer.json!['memories'] as { title: string }[]).map(({ title }) => title);
  };

  before(async () => {
    node = await openHttpNode();
    for (const title of ['plan', 'task', 'step', 'secret', 'old', 'copy', 'gone']) {
      const metadata = title === 'secret' ? { scope: 'private' } : {};
      const stored = await send('POST', '/memories', { title, content: `about ${title}`, metadata });
      assert.equal(stored.status, 201, stored.text);
      ids[title] = String(stored.json!['id']);
    }
    const link = async (from: string, to: string, more: Partial<Link> = {}) => {
      const blank = linking(ids[from]!, ids[to]!).link;
      const times = { created_at: day(2), valid_from: day(2), observed_by: 'ai:alice' };
      const done = await node.services.store.execute({
        kind: 'import-link',
        link: { ...blank, ...times, ...more },
      });
      assert.ok(done.ok);
    };
    await link('plan', 'task', { relation: 'decomposes_into', valid_from: day(3) });
    await link('plan', 'secret', { observed_by: 'ai:carol' });
    await link('task', 'step');
    await link('secret', 'step');
    await link('step', 'plan');
    await link('plan', 'old', { valid_until: day(10), retired_at: day(20), believed_until: null });
    await link('copy', 'plan', { relation: 'reflects_on' });
    await link('copy', 'gone', { relation: 'derived_from' });
    await link('plan', 'copy', { valid_from: null, valid_until: day(4), relation: 'advances' });
    await send('DELETE', `/memories/${ids['gone']}`);
  });
  after(() => node.close());

  it('walks from a memory, by depth and then by time, without running in circles', async () => {
    const answer = await query({ source_id: ids['plan'], max_depth: 5 });
    assert.deepEqual(targets(answer), ['secret', 'task', 'step', 'step']);
    const { source_id, max_depth, memories, paths: all, count } = answer.json!;
    assert.deepEqual([source_id, max_depth, count], [ids['plan'], 5, 4]);
    const path = `${ids['plan']}->${ids['task']}`;
    assert.deepEqual((memories as object[])[1], {
      ...{ target_id: ids['task'], title: 'task', target_namespace: 'global', relation: 'decomposes_into' },
      ...{ valid_from: day(3), valid_until: null, observed_by: 'ai:alice', depth: 1, path },
    });
    assert.deepEqual(
      all,
      (memories as { path: string }[]).map(({ path: one }) => one),
    );
  });

  it('drops every path through a memory that the caller may not see', async () => {
    const body = { source_id: ids['plan'], max_depth: 5 };
    assert.deepEqual(targets(await query(body, BOB)), ['task', 'step']);
    const found = await paths({ source_id: ids['plan'], target_id: ids['step'], max_depth: 2 }, BOB);
    const byTask = [ids['plan'], ids['task'], ids['step']];
    assert.deepEqual(found.json!['paths'], [[ids['plan'], ids['step']], byTask]);
    assert.ok(!found.text.includes(ids['secret']!), found.text);
  });

  it('answers what was true, and what was believed', async () => {
    const body = { source_id: ids['plan'] };
    const at = async (more: object) => targets(await query({ ...body, ...more })).sort();
    assert.deepEqual(await at({}), ['secret', 'task']);
    assert.deepEqual(await at({ valid_at: day(5) }), ['old', 'secret', 'task']);
    assert.deepEqual(await at({ valid_at: day(2) }), ['copy', 'old', 'secret']);
    assert.deepEqual(await at({ valid_at: day(15) }), ['secret', 'task']);
    assert.deepEqual(await at({ believed_at: day(15) }), ['old', 'secret', 'task']);
    assert.deepEqual(await at({ believed_at: day(20) }), ['secret', 'task']);
    assert.deepEqual(await at({ valid_at: day(5), believed_at: day(1) }), []);
    assert.deepEqual(await at({ include_invalidated: true }), ['copy', 'old', 'secret', 'task']);
    const believed = (await query({ ...body, believed_at: day(15) })).json!['memories'] as object[];
    assert.ok(believed.every((row) => (row as { valid_until: unknown }).valid_until === null));
  });

  it('counts only the links of the agents and relations that are asked for', async () => {
    const body = { source_id: ids['plan'], max_depth: 3 };
    assert.deepEqual(targets(await query({ ...body, allowed_agents: [] })), []);
    assert.deepEqual(targets(await query({ ...body, allowed_agents: ['ai:carol'] })), ['secret']);
    assert.deepEqual(targets(await query({ ...body, rel_types: ['decomposes_into'] })), ['task']);
    assert.deepEqual(targets(await query({ ...body, limit: 1 })), ['secret']);
    assert.deepEqual(targets(await query({ from: ids['plan'], limit: 5000 })), ['secret', 'task']);
  });

  it('finds memories by their source instead', async () => {
    const stored = await send('POST', '/memories', {
      title: 'cited',
      content: 'c',
      source_uri: 'doc:report',
    });
    const answer = await query({ by_source_uri: 'doc:report' });
    assert.deepEqual(answer.json, {
      by_source_uri: 'doc:report',
      memories: [
        {
          ...{ target_id: stored.json!['id'], title: 'cited', target_namespace: 'global', depth: 0 },
          source_uri: 'doc:report',
        },
      ],
      count: 1,
    });
    assert.equal((await query({})).status, 400);
    assert.equal((await query({ source_id: ids['plan'], by_source_uri: 'doc:report' })).status, 400);
  });

  it('lists the dated links of a memory in the order of time', async () => {
    const timeline = async (more: Record<string, string> = {}, headers = ALICE) => {
      const search = new URLSearchParams({ source_id: ids['plan']!, ...more });
      const answer = await send('GET', `/kg/timeline?${search}`, undefined, headers);
      assert.equal(answer.status, 200, answer.text);
      return answer.json!;
    };
    const titles = ({ events }: Record<string, unknown>) =>
      (events as { title: string }[]).map(({ title }) => title).join(' ');
    const all = await timeline();
    assert.match(titles(all), /^(old secret|secret old) task$/);
    assert.equal(all['count'], 3);
    const [, , task] = all['events'] as object[];
    assert.deepEqual(task, {
      ...{ target_id: ids['task'], title: 'task', target_namespace: 'global', relation: 'decomposes_into' },
      ...{ valid_from: day(3), valid_until: null, observed_by: 'ai:alice' },
    });
    assert.equal(titles(await timeline({ since: day(3) })), 'task');
    assert.match(titles(await timeline({ until: day(2) })), /^(old secret|secret old)$/);
    assert.equal(titles(await timeline({ limit: '1' })).split(' ').length, 1);
    assert.equal(titles(await timeline({}, BOB)), 'old task');
    const old = (events: unknown) => (events as { title: string }[]).find(({ title }) => title === 'old');
    holds(old(all['events']), { valid_until: day(10) });
    const before = await timeline({ believed_at: day(15) });
    holds(old(before['events']), { valid_until: null });
  });

  it('finds paths along links in either direction, the shortest first', async () => {
    const body = { source_id: ids['step'], target_id: ids['plan'] };
    const answer = await paths(body);
    const [step, plan, task, secret] = ['step', 'plan', 'task', 'secret'].map((title) => ids[title]!);
    const two = [
      [step, task, plan],
      [step, secret, plan],
    ].sort((a, b) => (a.join('->') < b.join('->') ? -1 : 1));
    assert.deepEqual(answer.json!['paths'], [[step, plan], ...two]);
    assert.equal(answer.json!['count'], 3);
    const alias = await send('POST', '/find_paths', { from_id: ids['step'], to_id: ids['plan'] });
    assert.equal(alias.text, answer.text);
    assert.deepEqual((await paths({ ...body, max_results: 1 })).json!['paths'], [[step, plan]]);
    assert.deepEqual((await paths({ ...body, target_id: step })).json!['paths'], [[step]]);
    const old = { source_id: ids['plan'], target_id: ids['old'] };
    assert.deepEqual((await paths(old)).json!['paths'], []);
    assert.equal((await paths({ ...old, include_invalidated: true })).json!['count'], 1);
    assert.equal((await paths({ ...old, believed_at: day(15) })).json!['count'], 1);
  });

  it('tells what a memory was made from, also when that was removed', async () => {
    const lineage = (id: string, search = '', headers = ALICE) =>
      send('GET', `/memories/${id}/lineage${search}`, undefined, headers);
    const nodes = ({ json }: Answer) => json!['nodes'] as Record<string, unknown>[];
    const answer = await lineage(ids['copy']!);
    assert.equal(answer.status, 200, answer.text);
    assert.deepEqual(answer.json!['count'], 2);
    const plan = nodes(answer).find(({ id }) => id === ids['plan'])!;
    holds(plan, { relation: 'reflects_on', depth: 1, title: 'plan' });
    assert.match(String(plan['cid']), /^[0-9a-f]{64}$/);
    const gone = nodes(answer).find(({ id }) => id === ids['gone'])!;
    holds(gone, { relation: 'derived_from', depth: 1, title: null, cid: null });
    const after = await lineage(ids['plan']!, '?direction=descendants');
    assert.deepEqual(
      nodes(after).map(({ id }) => id),
      [ids['copy']],
    );
    assert.equal((await lineage(ids['copy']!, '?direction=sideways')).status, 400);
  });

  it('lists the memories that reflect on one', async () => {
    const answer = await send('POST', '/memory_dependents_of_invalidated', { memory_id: ids['plan'] });
    assert.deepEqual(answer.json, {
      ...{ memory_id: ids['plan'], title: 'plan', count: 1 },
      dependents: [{ id: ids['copy'], namespace: 'global', title: 'copy' }],
    });
  });

  it('does not tell a hidden memory from one that is missing', async () => {
    const calls = (id: string): readonly [method: string, path: string, body?: object][] => [
      ['POST', '/kg/query', { source_id: id }],
      ['GET', `/kg/timeline?source_id=${id}`],
      ['POST', '/kg/find_paths', { source_id: id, target_id: ids['plan'] }],
      ['POST', '/find_paths', { source_id: ids['plan'], target_id: id }],
      ['GET', `/memories/${id}/lineage`],
      ['POST', '/memory_dependents_of_invalidated', { memory_id: id }],
    ];
    const missing = '00000000-0000-4000-8000-000000000000';
    for (const [index, [method, path, body]] of calls(ids['secret']!).entries()) {
      const hidden = await send(method, path, body, BOB);
      const [, otherPath, otherBody] = calls(missing)[index]!;
      const none = await send(method, otherPath, otherBody, BOB);
      assert.equal(hidden.status, 404, path);
      assert.equal(hidden.text.replaceAll(ids['secret']!, missing), none.text);
    }
    const timeline = await send('GET', `/kg/timeline?source_id=${missing}`);
    holds(timeline.json, { found: false, source_id: missing, code: 'NOT_FOUND' });
  });

  it('draws the answers', async () => {
    const drawn = async (format: string) => {
      const answer = await query({ source_id: ids['plan'], max_depth: 2, format });
      assert.equal(answer.status, 200, answer.text);
      assert.match(answer.headers.get('content-type') ?? '', /^text\/plain/);
      return answer.text;
    };
    assert.match(await drawn('dot'), /^digraph knowledge \{[\s\S]+n0 -> n2 \[label="decomposes_into"\];/);
    assert.match(
      await drawn('mermaid'),
      /^flowchart LR\n {2}n0\["plan"\]\n[\s\S]+n0 -->\|"decomposes_into"\| n2/,
    );
    assert.equal((await query({ source_id: ids['plan'], format: 'svg' })).status, 400);
  });
});
