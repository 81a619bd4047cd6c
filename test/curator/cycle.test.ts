import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { curatorBegin, curatorRollback } from '../../node/operations/curator/curator.js';
import { agent, type Fields } from '../coordination/coordination-node.js';
import { CuratorNode, WINDOW, WINDOW_AGAIN } from '../support/curator-node.js';
import { HOSTILE_ANSWER, type ModelAsked, ModelServer } from '../support/model-server.js';

const OTHER =
  'The invoices of the billing service are kept for ten years in the archive of the accountants in Bern.';

/** Answers each kind of question as a good model would. */
const honest =
  (contradicts = 'no', joined = WINDOW_AGAIN) =>
  ({ system }: ModelAsked): string => {
    if (system.startsWith('You tag')) return 'deploy\nwindow';
    if (system.startsWith('You compare')) return contradicts;
    return joined;
  };

const DAY_MS = 86_400_000;
const ago = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString();

describe('a cycle of the curator', { timeout: 120_000 }, () => {
  let model: ModelServer;
  let node: CuratorNode;
  beforeEach(async () => {
    model = await ModelServer.start();
    model.says = honest();
    node = await CuratorNode.open(model);
  });
  afterEach(async () => {
    await node.close();
    await model.close();
  });

  it('tags what has no tags of a model, joins look-alikes, and says so in a report that only the operator sees', async () => {
    const one = await node.store('ai:ann', 'Deploy window', WINDOW, { tags: ['mine'] });
    const other = await node.store('ai:ann', 'Window of deploys', WINDOW_AGAIN);
    const alone = await node.store('ai:ann', 'Invoices', OTHER);
    const report = await node.cycle();
    assert.deepEqual(report.errors, []);
    assert.deepEqual(report.autonomy, {
      ...{ clusters_formed: 1, memories_consolidated: 2, memories_forgotten: 0, priority_adjustments: 0 },
      ...{ rollback_entries_written: 1, errors: [] },
    });
    assert.deepEqual(
      [report.auto_tagged, report.contradictions_found, report.dry_run, report.memories_eligible],
      [3, 0, false, 3],
    );
    assert.equal(report.operations_attempted, model.asked.length);
    assert.deepEqual(node.metadataOf(alone)['auto_tags'], ['deploy', 'window']);
    assert.deepEqual([node.plain(one), node.plain(other)], [null, null]);
    const [joined] = node.rows("source = 'consolidation'");
    assert.deepEqual(
      [joined!['title'], joined!['content'], joined!['owner_id'], JSON.parse(String(joined!['tags']))],
      ['[consolidated] Deploy window', WINDOW_AGAIN, 'ai:ann', ['mine']],
    );
    const [kept] = node.rows("namespace = '_curator/reports'");
    assert.deepEqual(JSON.parse(String(kept!['content'])), report);
    const [record] = node.rows("namespace = '_curator/rollback'");
    const seen = await node.as('ai:bob').call('memory_get', { id: record!['id'] });
    assert.equal(seen.ok, false, 'another agent sees no record');
  });

  it('says what it would do without asking or writing, and then does that', async () => {
    await node.store('ai:ann', 'Deploy window', WINDOW);
    await node.store('ai:ann', 'Window of deploys', WINDOW_AGAIN);
    const before = node.operations();
    const said = await node.preview();
    assert.deepEqual([node.operations(), model.asked.length, said.dry_run], [before, 0, true]);
    assert.equal(node.db.prepare('SELECT count(*) FROM jobs').pluck().get(), 0);
    const did = await node.cycle();
    const facts = ({ auto_tagged, operations_attempted, autonomy }: typeof did) => ({
      ...{ auto_tagged, operations_attempted },
      joined: autonomy.memories_consolidated,
      records: autonomy.rollback_entries_written,
    });
    assert.deepEqual(facts(said), facts(did));
  });

  it('restores exactly what was, keeps that from being done again, and rolls back once', async () => {
    const ids = [
      await node.store('ai:ann', 'Deploy window', WINDOW, { tags: ['mine'], priority: 7 }),
      await node.store('ai:ann', 'Window of deploys', WINDOW_AGAIN, { metadata: { scope: 'private' } }),
      await node.store('ai:ann', 'Windows', `${WINDOW_AGAIN} Really.`, { metadata: { scope: 'private' } }),
    ];
    await node
      .as('ai:ann')
      .run('memory_link', { source_id: ids[1], target_id: ids[2], relation: 'related_to' });
    model.says = honest('no', `${WINDOW_AGAIN} Really.`);
    const tagged = await node.cycle({ max_ops: 6 });
    assert.equal(tagged.autonomy.memories_consolidated, 2, JSON.stringify(tagged));
    const [record] = node.rows("namespace = '_curator/rollback'");
    const archived = node.db
      .prepare('SELECT id, title, content, metadata FROM archived_memories ORDER BY id')
      .all() as Fields[];
    const done = await node.rollBack({ id: record!['id'] });
    const [first] = done['rolled_back'] as Fields[];
    assert.deepEqual(new Set(first!['restored'] as string[]), new Set([ids[1], ids[2]]));
    for (const { id, title, content, metadata } of archived) {
      const now = node.plain(String(id))!;
      assert.deepEqual(
        [now['title'], now['content'], now['metadata'], now['tier'], now['access_count']],
        [title, content, JSON.parse(String(metadata)), 'long', 0],
      );
    }
    assert.equal(node.rows("source = 'consolidation'").length, 0, 'what was made is in the archive');
    const links = (await node.as('ai:ann').run('memory_get_links', { id: ids[1] }))['links'] as Fields[];
    assert.equal(links.length, 1, 'their links are there again');
    const again = await node.rollBack({ id: record!['id'] });
    assert.equal((again['rolled_back'] as Fields[])[0]!['already'], true);
    assert.equal((await node.cycle()).autonomy.memories_consolidated, 0, 'it is not done again');
    assert.deepEqual(await node.rollBack({ last: 5 }), { rolled_back: [], failed: [] });
  });

  it('archives the older one of two memories that contradict each other, by rollback too', async () => {
    const old = await node.store('ai:ann', 'Deploy window', WINDOW);
    const young = await node.store('ai:ann', 'Deploy window now', WINDOW.replace('Sundays', 'Mondays'));
    model.says = honest('yes');
    const before = node.plain(old)!;
    const report = await node.cycle();
    assert.deepEqual(
      [report.autonomy.memories_forgotten, report.autonomy.memories_consolidated, report.errors],
      [1, 0, []],
    );
    assert.equal(node.plain(old), null);
    const kept = node.db.prepare('SELECT metadata FROM archived_memories WHERE id = ?').pluck().get(old);
    const found = [node.metadataOf(young), JSON.parse(String(kept)) as Fields]
      .map((metadata) => metadata['confirmed_contradictions'])
      .filter((each) => each !== undefined);
    assert.ok(['[["' + old + '"]]', '[["' + young + '"]]'].includes(JSON.stringify(found)), 'asked once');
    const done = await node.rollBack({ last: 1 });
    assert.deepEqual((done['rolled_back'] as Fields[])[0]!['restored'], [old]);
    const { metadata: _m, ...back } = node.plain(old)!;
    const { metadata: _b, ...was } = before;
    assert.deepEqual(back, was);
  });

  it('forgets nothing because a memory says that it contradicts another', async () => {
    const victim = await node.store('ai:ann', 'Deploy window', WINDOW);
    await node.store('ai:eve', 'Deploy window', WINDOW.replace('Sundays', 'Mondays'), {
      namespace: 'eve',
      metadata: { confirmed_contradictions: [victim], auto_tags: ['x'], curated_at: ago(0) },
    });
    await node.store('ai:eve', 'Deploy windows', WINDOW.replace('Sundays', 'Mondays'));
    model.says = honest('yes');
    const report = await node.cycle();
    assert.equal(report.autonomy.memories_forgotten, 0);
    assert.notEqual(node.plain(victim), null);
  });

  it('never puts memories of different owners, scopes or namespaces together', async () => {
    const ids = [
      await node.store('ai:ann', 'a', WINDOW),
      await node.store('ai:bob', 'b', WINDOW_AGAIN),
      await node.store('ai:ann', 'c', WINDOW_AGAIN, { metadata: { scope: 'private' } }),
      await node.store('ai:ann', 'd', WINDOW_AGAIN, { namespace: 'elsewhere' }),
    ];
    model.says = honest('yes');
    const report = await node.cycle();
    assert.deepEqual(
      [report.autonomy.clusters_formed, report.contradictions_found, report.autonomy.memories_forgotten],
      [0, 0, 0],
    );
    assert.ok(ids.every((id) => node.plain(id) !== null));
    for (const { prompt, system } of model.asked)
      if (!system.startsWith('You tag')) assert.fail(`compared: ${prompt}`);
  });

  it('raises what is read often and lowers what nobody reads, at most once in a week, and undoes it', async () => {
    const read = await node.store('ai:ann', 'Read', OTHER, { namespace: 'a' });
    const dead = await node.old(40, 'Dead', WINDOW, { namespace: 'b' });
    node.db
      .prepare('UPDATE memories SET access_count = 12, last_accessed_at = ? WHERE id = ?')
      .run(ago(1), read);
    const report = await node.cycle();
    assert.equal(report.autonomy.priority_adjustments, 2, JSON.stringify(report));
    assert.deepEqual([node.plain(read)!['priority'], node.plain(dead)!['priority']], [6, 4]);
    assert.equal((await node.cycle()).autonomy.priority_adjustments, 0);
    const done = await node.rollBack({ last: 2 });
    assert.equal((done['rolled_back'] as unknown[]).length, 2);
    assert.deepEqual([node.plain(read)!['priority'], node.plain(dead)!['priority']], [5, 5]);
    assert.equal(node.metadataOf(read)['priority_adjusted_at'], undefined);
    assert.equal((await node.cycle()).autonomy.priority_adjustments, 0, 'it is left alone from then on');
  });

  it('asks no more than max_ops questions, and says how many it did not ask', async () => {
    for (let n = 0; n < 6; n += 1)
      await node.store('ai:ann', `note ${n}`, `${OTHER} ${'x'.repeat(n + 1)}${n}`, { namespace: `n${n}` });
    const report = await node.cycle({ max_ops: 4 });
    assert.deepEqual([report.operations_attempted, model.asked.length, report.auto_tagged], [4, 4, 4]);
    const next = await node.cycle({ max_ops: 4 });
    assert.deepEqual([next.auto_tagged, model.asked.length], [2, 6], 'the rest comes in the next cycle');
  });

  it('curates only the namespaces that are included and not excluded', async () => {
    const inside = await node.store('ai:ann', 'i', WINDOW, { namespace: 'team/a' });
    const outside = await node.store('ai:ann', 'o', WINDOW, { namespace: 'other' });
    const excluded = await node.store('ai:ann', 'e', WINDOW, { namespace: 'team/b' });
    await node.cycle({ include_namespaces: ['team/**'], exclude_namespaces: ['team/b'] });
    assert.deepEqual(
      [inside, outside, excluded].map((id) => node.metadataOf(id)['auto_tags'] !== undefined),
      [true, false, false],
    );
  });

  it('is for the operator alone, and nobody may take its name', async () => {
    const refused = await node.call(curatorBegin, {}, agent('ai:ann'));
    assert.equal(!refused.ok && refused.error.code, 'FORBIDDEN');
    const rollback = await node.call(curatorRollback, { last: 1 }, agent('ai:ann'));
    assert.equal(!rollback.ok && rollback.error.code, 'FORBIDDEN');
    const claimed = await node
      .as('ai:ann')
      .call('memory_store', { title: 't', content: 'c', agent_id: 'ai:curator' });
    assert.equal(!claimed.ok && claimed.error.code, 'VALIDATION_FAILED');
    const placed = await node
      .as('ai:ann')
      .call('memory_store', { title: 't', content: 'c', namespace: '_curator/rollback' });
    assert.equal(placed.ok, false);
  });

  for (const mood of ['dead', 'cut', 'page', 'other-shape', 401, 500, 503] as const)
    it(`changes nothing and says so while the model answers with ${mood}`, async () => {
      const one = await node.store('ai:ann', 'Deploy window', WINDOW);
      const other = await node.store('ai:ann', 'Window of deploys', WINDOW_AGAIN);
      model.mood = mood;
      const before = [node.plain(one), node.plain(other)];
      const report = await node.cycle();
      assert.deepEqual([node.plain(one), node.plain(other)], before);
      assert.deepEqual([report.auto_tagged, report.autonomy.memories_consolidated], [0, 0]);
      assert.ok(report.errors.length > 0, JSON.stringify(report));
    });

  it('takes nothing but tags from a hostile answer, and joins nothing by it', async () => {
    const one = await node.store('ai:ann', 'Deploy window', WINDOW);
    const other = await node.store(
      'ai:ann',
      'Window of deploys',
      `${WINDOW_AGAIN} ${HOSTILE_ANSWER.replaceAll(/[\u0000\u001b]/g, '')}`,
    );
    const before = [node.plain(one)!, node.plain(other)!];
    model.says = HOSTILE_ANSWER;
    const report = await node.cycle();
    assert.deepEqual([report.autonomy.memories_consolidated, report.autonomy.memories_forgotten], [0, 0]);
    for (const was of before) {
      const now = node.plain(String(was['id']))!;
      const { auto_tags: _t, curated_at: _c, ...metadata } = now['metadata'] as Fields;
      assert.deepEqual({ ...now, metadata }, was);
    }
  });

  it('joins nothing by a summary that leaves out what the notes say', async () => {
    const one = await node.store('ai:ann', 'Deploy window', WINDOW);
    await node.store('ai:ann', 'Window of deploys', WINDOW_AGAIN);
    model.says = honest('no', 'All is well.');
    const report = await node.cycle();
    assert.equal(report.autonomy.memories_consolidated, 0);
    assert.match(report.autonomy.errors[0] ?? '', /LLM_FAILED.*leaves out/);
    assert.notEqual(node.plain(one), null);
  });
});

describe('a curator without a model, or with few questions left', { timeout: 60_000 }, () => {
  it('says that no model is configured, and still changes priorities', async () => {
    const node = await CuratorNode.open(null);
    try {
      await node.old(40, 'Dead', WINDOW);
      const report = await node.cycle();
      assert.match(report.errors[0] ?? '', /^no LLM client configured/);
      assert.deepEqual([report.operations_attempted, report.autonomy.priority_adjustments], [0, 1]);
    } finally {
      await node.close();
    }
  });

  it('ends with a true report when the questions of the day are used up', async () => {
    const model = await ModelServer.start();
    model.says = honest();
    const node = await CuratorNode.open(model, { llmCallsPerDay: 2 });
    try {
      for (let n = 0; n < 4; n += 1) await node.store('ai:ann', `note ${n}`, WINDOW, { namespace: `n${n}` });
      const report = await node.cycle();
      assert.deepEqual([report.auto_tagged, model.asked.length], [2, 2], JSON.stringify(report));
      assert.match(report.errors[0] ?? '', /LLM_LIMIT/);
      assert.equal(report.operations_skipped_cap, 1);
    } finally {
      await node.close();
      await model.close();
    }
  });
});
