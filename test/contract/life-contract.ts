import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';

import { expiryRound } from '../../actors/maintenance/expiry.js';
import { TTL_SECONDS } from '../../protocol/base/limits.js';
import type { ConsolidateMemories } from '../../protocol/lifecycle/consolidate.js';
import { EMBED_STATES } from '../../protocol/memory/embed-state.js';
import type { ForgetFilter } from '../../protocol/memory/forget-filter.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import type { Store } from '../../storage/port.js';
import { aMemory, OPERATOR, storing, tenant } from '../support/memories.js';
import { auditStore, type StoreUnderTest } from './store-contract.js';

const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
const HOUR_MS = 3_600_000;
const at = (ms: number) => new Date(ms).toISOString();
const END = '9999-12-31T23:59:59.999Z';

/** What every store promises about the life cycle and the archive; run once for each engine. */
export function lifeContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`life cycle contract: ${name}`, () => {
    let under: StoreUnderTest;
    let store: Store;
    let nowMs = START_MS;
    beforeEach(async () => {
      under = await open();
      store = under.store;
      setNow(START_MS);
    });
    afterEach(async () => {
      await under.close();
      assert.deepEqual(auditStore(under), [], 'the log and the rows tell the same story');
    });

    const setNow = (ms: number) => {
      nowMs = ms;
      under.setNow(ms);
    };
    const code = (result: { ok: boolean; error?: { code: string } }) =>
      result.ok ? 'ok' : result.error?.code;
    const get = (id: string, viewer = OPERATOR) =>
      store.query({ kind: 'get-memory', id, viewer, now: at(nowMs) });
    const memoryOf = async (id: string) => {
      const read = await get(id);
      assert.ok(read.ok, JSON.stringify(read));
      return read.value.memory as MemoryRow;
    };
    const stored = async (...args: Parameters<typeof storing>) => {
      const result = await store.execute(storing(...args));
      assert.ok(result.ok, JSON.stringify(result));
      return memoryOf(result.value.stored.id);
    };
    const archive = async (ids: readonly string[], viewer = OPERATOR) => {
      const result = await store.execute({ kind: 'archive-memories', ids, reason: 'archive', viewer });
      assert.ok(result.ok, JSON.stringify(result));
      return result.value;
    };
    const restore = (id: string, viewer = OPERATOR) =>
      store.execute({ kind: 'restore-memory', id, ttlSeconds: TTL_SECONDS, viewer, archive: true });
    const purge = async (before = END, ownerId: string | null = null, limit = 100) => {
      const result = await store.execute({
        kind: 'purge-archive',
        by: 'ai:operator',
        before,
        ownerId,
        reason: 'request',
        limit,
      });
      assert.ok(result.ok);
      return result.value;
    };
    const listed = async (viewer = OPERATOR) => {
      const query = { kind: 'list-archive', namespace: null, viewer, limit: 100, offset: 0 } as const;
      const result = await store.query(query);
      assert.ok(result.ok);
      return result.value.archived;
    };
    const embed = async ({ rid, id, version }: MemoryRow, vector: readonly number[]) => {
      const result = await store.execute({
        kind: 'put-embeddings',
        rows: [
          {
            rid,
            id,
            version,
            state: EMBED_STATES.embedded,
            model: 'm',
            dim: vector.length,
            vectors: new Uint8Array(new Float32Array(vector).buffer),
          },
        ],
      });
      assert.ok(result.ok);
    };
    const rows = (sql: string) => {
      const db = under.connect();
      try {
        return db.prepare(sql).all() as Record<string, unknown>[];
      } finally {
        db.close();
      }
    };
    const stampless = (memory: MemoryRow) => {
      const { rid, hlc, origin, origin_seq, seen, edited, ...rest } = memory;
      void [rid, hlc, origin, origin_seq, seen, edited];
      return rest;
    };

    it('restores what was archived: every field, the embedding, tier and expiry', async () => {
      const before = await stored({
        tier: 'short',
        expires_at: at(START_MS + 5 * HOUR_MS),
        tags: ['a'],
        metadata: { agent_id: 'ai:a', deep: [1] },
        access_count: 3,
      });
      await embed(before, [1, 0]);
      assert.deepEqual(await archive([before.id]), { archived: [before.id], missing: [] });
      assert.equal(code(await get(before.id)), 'NOT_FOUND');
      assert.equal(rows('SELECT * FROM tombstones').length, 1);
      setNow(START_MS + HOUR_MS);
      const result = await restore(before.id);
      assert.ok(result.ok && !result.value.expiryRenewed);
      const after = await memoryOf(before.id);
      assert.deepEqual(stampless(after), stampless(before));
      const origin = Object.keys(after.seen)[0]!;
      assert.ok(after.seen[origin]! > before.seen[origin]!, 'it has seen its removal');
      assert.deepEqual(rows('SELECT rid, model, dim FROM memory_embeddings'), [
        { rid: after.rid, model: 'm', dim: 2 },
      ]);
      assert.equal(rows('SELECT * FROM tombstones').length, 0);
      assert.deepEqual(await listed(), []);
      const waiting = await store.query({ kind: 'pending-embeddings', afterRid: 0, limit: 9 });
      assert.deepEqual(waiting.ok && waiting.value.rows, [], 'nothing is embedded twice');
    });

    it('gives a row whose expiry has passed in the archive a new one', async () => {
      const row = await stored({ tier: 'mid', expires_at: at(START_MS + HOUR_MS) });
      await archive([row.id]);
      setNow(START_MS + 2 * HOUR_MS);
      const result = await restore(row.id);
      assert.ok(result.ok && result.value.expiryRenewed);
      assert.equal((await memoryOf(row.id)).expires_at, at(nowMs + TTL_SECONDS.mid * 1000));
    });

    it('refuses a restore onto a taken title or id and lets an expired holder give way', async () => {
      const row = await stored({ tier: 'long' });
      await archive([row.id]);
      const holder = await stored({ expires_at: at(START_MS + HOUR_MS) });
      assert.equal(code(await restore(row.id)), 'ARCHIVE_RESTORE_COLLISION');
      setNow(START_MS + 2 * HOUR_MS);
      assert.equal(code(await restore(row.id)), 'ok');
      assert.deepEqual(
        (await listed()).map(({ memory, archiveReason }) => [memory.id, archiveReason]),
        [[holder.id, 'ttl_expired']],
      );
      await archive([row.id]);
      // An import names what it has seen of its id: here the removal.
      const [tombstone] = rows(`SELECT seen FROM tombstones WHERE kind = 'memory' AND id = '${row.id}'`);
      const seen = JSON.parse(String(tombstone!['seen'])) as Record<string, number>;
      await stored({ id: row.id, title: 'imported under the same id', seen });
      assert.equal(code(await restore(row.id)), 'ARCHIVE_RESTORE_COLLISION');
    });

    it('treats rows of others alike with rows that are not there', async () => {
      const theirs = await stored({ title: 'theirs', metadata: { agent_id: 'ai:b' } });
      const hidden = await stored({ title: 'hidden', metadata: { agent_id: 'ai:b', scope: 'private' } });
      const tried = await archive([theirs.id, hidden.id, 'none'], tenant('ai:a'));
      assert.deepEqual(tried, { archived: [], missing: [theirs.id, hidden.id, 'none'] });
      await archive([theirs.id, hidden.id], tenant('ai:b'));
      assert.equal(code(await restore(hidden.id, tenant('ai:a'))), 'NOT_FOUND');
      assert.equal(code(await restore(theirs.id, tenant('ai:a'))), 'FORBIDDEN');
      assert.deepEqual(
        (await listed(tenant('ai:a'))).map(({ memory }) => memory.id),
        [theirs.id],
      );
      const stats = await store.query({ kind: 'archive-stats', viewer: tenant('ai:a') });
      assert.equal(stats.ok && stats.value.archived_total, 1);
      const found = await store.query({ kind: 'find-archived', id: hidden.id, viewer: tenant('ai:a') });
      assert.equal(code(found), 'NOT_FOUND');
    });

    it('purges by age and owner in bounded batches, and for good', async () => {
      for (let n = 0; n < 5; n += 1) {
        const { id } = await stored({ title: `a ${n}`, metadata: { agent_id: 'ai:a' } });
        await archive([id]);
      }
      setNow(START_MS + 48 * HOUR_MS);
      const late = await stored({ title: 'late', metadata: { agent_id: 'ai:b' } });
      await archive([late.id]);
      assert.deepEqual(await purge(at(START_MS - 1)), { purged: 0, more: false });
      assert.deepEqual(await purge(END, 'ai:c'), { purged: 0, more: false });
      assert.deepEqual(await purge(at(START_MS + HOUR_MS), null, 3), { purged: 3, more: true });
      assert.deepEqual(await purge(END, 'ai:a', 3), { purged: 2, more: false });
      assert.deepEqual(
        (await listed()).map(({ memory }) => memory.id),
        [late.id],
      );
      await purge();
      assert.equal(code(await restore(late.id)), 'NOT_FOUND');
      assert.equal(rows('SELECT * FROM tombstones').length, 6, 'a purge leaves the tombstones');
      assert.equal(rows("SELECT * FROM operations WHERE kind = 'purge'").length, 6);
    });

    it('purges in the maintenance round what the archive need not keep', async () => {
      const expired = await stored({ title: 'expired', expires_at: at(START_MS + 1) });
      const { id } = await stored({ title: 'kept' });
      await archive([id]);
      setNow(START_MS + 48 * HOUR_MS);
      await expiryRound(store, true);
      assert.equal((await listed()).length, 2, 'unset keeps everything');
      await expiryRound(store, true, at(START_MS + 24 * HOUR_MS));
      assert.deepEqual(
        (await listed()).map(({ memory }) => memory.id),
        [expired.id],
      );
      const [purged] = rows("SELECT payload FROM operations WHERE kind = 'purge'");
      assert.match(String(purged?.['payload']), /"reason":"retention"/);
    });

    const forget = async (filter: Partial<ForgetFilter>, limit = 100) => {
      const all = {
        namespace: null,
        tier: null,
        pattern: null,
        throughRid: null,
        viewer: OPERATOR,
        ...filter,
      };
      const counted = await store.query({ kind: 'count-forgettable', filter: all, now: at(nowMs) });
      assert.ok(counted.ok);
      const done = await store.execute({
        kind: 'forget-memories',
        filter: all,
        limit,
        archive: true,
        by: 'ai:operator',
      });
      assert.ok(done.ok);
      assert.equal(done.value.deleted, Math.min(counted.value.count, limit), 'the dry run tells the truth');
      return done.value;
    };

    it('forgets by any word, namespace and tier together, a batch at a time', async () => {
      await stored({ title: 'one', content: 'apples', namespace: 'x' });
      await stored({ title: 'two', content: 'a pear', namespace: 'x', tier: 'long' });
      await stored({ title: 'three', content: 'apples', namespace: 'y' });
      assert.deepEqual(await forget({ pattern: 'plum OR' }), { deleted: 0, more: false });
      assert.deepEqual(await forget({ pattern: '!!' }), { deleted: 0, more: false });
      assert.deepEqual(await forget({ pattern: 'apple pears', namespace: 'x' }, 1), {
        deleted: 1,
        more: true,
      });
      assert.deepEqual(await forget({ namespace: 'x', tier: 'mid' }), { deleted: 0, more: false });
      assert.deepEqual(await forget({ tier: 'long' }), { deleted: 1, more: false });
      assert.deepEqual(await forget({ throughRid: 2 }), { deleted: 0, more: false });
      assert.deepEqual(
        new Set((await listed()).map(({ archiveReason }) => archiveReason)),
        new Set(['forget']),
      );
    });

    it('forgets only what a tenant may change', async () => {
      await stored({ title: 'mine', metadata: { agent_id: 'ai:a' } });
      await stored({ title: 'nobody’s', metadata: {} });
      await stored({ title: 'theirs', metadata: { agent_id: 'ai:b' } });
      assert.deepEqual(await forget({ namespace: 'global', viewer: tenant('ai:a') }), {
        deleted: 2,
        more: false,
      });
    });

    const consolidating = (
      ids: readonly string[],
      rest: Partial<ConsolidateMemories> = {},
    ): ConsolidateMemories => ({
      kind: 'consolidate-memories',
      ids,
      result: { id: `sum-${ids.length}`, title: 'sum', namespace: 'global', tier: 'long', expiresAt: null },
      summary: null,
      onConflict: 'error',
      agentId: 'ai:caller',
      viewer: OPERATOR,
      archive: true,
      ...rest,
    });

    it('consolidates in one transaction, so a source that is gone costs nothing', async () => {
      const a = await stored({ title: 'a' });
      const b = await stored({ title: 'b' });
      const gone = await store.execute(consolidating([a.id, 'gone', b.id]));
      assert.deepEqual(!gone.ok && [gone.error.code, gone.error.details], [
        'NOT_FOUND',
        { missing: ['gone'] },
      ]);
      assert.deepEqual(await listed(), []);
      const done = await store.execute(consolidating([a.id, b.id]));
      assert.ok(done.ok && done.value.consolidated === 2 && done.value.autoSummary);
      assert.equal(code(await store.execute(consolidating([a.id, b.id]))), 'NOT_FOUND');
      assert.deepEqual((await memoryOf('sum-2')).metadata['derived_from'], [a.id, b.id]);
      assert.equal(code(await restore(a.id)), 'ok', 'a source can come back');
    });

    it('groups by namespace, first tag and audience', async () => {
      const make = (title: string, metadata: Record<string, unknown>, rest: object = {}) =>
        stored({ title, tags: ['t', title], metadata, ...rest });
      await make('1', { agent_id: 'ai:a' });
      await make('2', { agent_id: 'ai:a' }, { tier: 'short' });
      await make('3', { agent_id: 'ai:b' });
      await make('4', { agent_id: 'ai:a', scope: 'private' });
      const inner = { namespace: '_inner', title: '5', tags: ['t', '5'], metadata: { agent_id: 'ai:a' } };
      const received = await store.execute({
        ...{ kind: 'receive-memory', memory: aMemory(inner), allowedNamespaces: null, agentIds: [] },
        archive: true,
      });
      assert.ok(received.ok, JSON.stringify(received));
      await stored({ title: 'untagged' });
      const groups = async (countMin: number, shortOnly = false, viewer = OPERATOR) => {
        const query = { kind: 'consolidation-groups', namespace: null, shortOnly, countMin, viewer } as const;
        const result = await store.query({ ...query, now: at(nowMs) });
        assert.ok(result.ok);
        return result.value.groups.map(({ namespace, tag, titles }) => [namespace, tag, ...titles]);
      };
      assert.deepEqual(await groups(3), [['global', 't', '1', '2', '3']]);
      assert.deepEqual(await groups(2, false, tenant('ai:a')), [['global', 't', '1', '2']]);
      assert.deepEqual(await groups(2, true), []);
    });

    it('takes an edit back, and the undoing back', async () => {
      const before = await stored({ tags: ['x'], tier: 'long' });
      const update = async (patch: object) => {
        const result = await store.execute({
          kind: 'update-memory',
          id: before.id,
          patch,
          expectedVersion: null,
          viewer: OPERATOR,
          archive: true,
        });
        assert.ok(result.ok);
      };
      const undo = (dryRun = false) =>
        store.execute({ kind: 'undo-edit', id: before.id, dryRun, viewer: OPERATOR, archive: true });
      assert.equal(code(await undo()), 'NOT_FOUND');
      await update({ title: 'renamed', content: 'new', tags: [], metadata: { agent_id: 'ai:writer', k: 1 } });
      const dry = await undo(true);
      assert.deepEqual(dry.ok && dry.value.changed, ['title', 'content', 'tags', 'metadata']);
      assert.equal((await memoryOf(before.id)).title, 'renamed');
      const other = await stored();
      assert.equal(code(await undo()), 'CONFLICT');
      await archive([other.id]);
      assert.equal(code(await undo()), 'ok');
      const after = await memoryOf(before.id);
      assert.deepEqual(
        [after.title, after.content, after.tags, after.metadata, after.version],
        [before.title, before.content, before.tags, before.metadata, 3],
      );
      assert.equal(code(await undo()), 'ok');
      assert.equal((await memoryOf(before.id)).title, 'renamed');
    });

    it('restores what a named operation wrote, and nothing else', async () => {
      const before = await stored({ content: 'first' });
      const to = (id: string | undefined) =>
        store.execute({
          kind: 'undo-edit',
          id: before.id,
          to: id,
          dryRun: false,
          viewer: OPERATOR,
          archive: true,
        });
      const found = await store.query({ kind: 'find-operation', opId: before.id });
      const operation = found.ok ? found.value!.op_id : '';
      for (const content of ['second', 'third']) {
        const command = {
          kind: 'update-memory',
          id: before.id,
          patch: { content },
          expectedVersion: null,
        } as const;
        assert.equal(code(await store.execute({ ...command, viewer: OPERATOR, archive: true })), 'ok');
      }
      assert.equal(code(await to('no operation')), 'VALIDATION_FAILED');
      assert.equal(code(await to(`${operation}9999`)), 'CONFLICT');
      const second = await stored({ title: 'of another memory' });
      const other = await store.query({ kind: 'find-operation', opId: second.id });
      assert.equal(
        code(await to(other.ok ? other.value!.op_id : '')),
        'CONFLICT',
        'it is about another memory',
      );
      assert.equal(code(await to(operation)), 'ok');
      assert.equal((await memoryOf(before.id)).content, 'first');
      assert.equal(code(await to(undefined)), 'ok');
      assert.equal((await memoryOf(before.id)).content, 'third');
    });

    it('lets the winner stand and archives the loser', async () => {
      const winner = await stored({ title: 'right' });
      const loser = await stored({ title: 'wrong' });
      const command = { kind: 'resolve-memories', viewer: OPERATOR } as const;
      const same = await store.execute({ ...command, winnerId: winner.id, loserId: winner.id });
      assert.equal(code(same), 'VALIDATION_FAILED');
      assert.equal(code(await store.execute({ ...command, winnerId: winner.id, loserId: loser.id })), 'ok');
      assert.deepEqual((await memoryOf(winner.id)).metadata['supersedes'], [loser.id]);
      assert.equal((await listed())[0]?.archiveReason, 'superseded');
    });

    it('finds the nearest visible memory of exactly one namespace', async () => {
      const near = await stored({ title: 'near', metadata: { agent_id: 'ai:a' } });
      const nearer = await stored({ title: 'nearer', metadata: { agent_id: 'ai:b', scope: 'private' } });
      const elsewhere = await stored({ title: 'elsewhere', namespace: 'global/deep' });
      await stored({ title: 'unembedded', content: '東京' });
      await embed(near, [0.8, 0.6]);
      await embed(nearer, [1, 0]);
      await embed(elsewhere, [1, 0]);
      const nearest = async (viewer = OPERATOR, title = 'x', content = 'y') => {
        const queryVector = new Float32Array([1, 0]);
        const query = { kind: 'nearest-memory', namespace: 'global', queryVector, title, content } as const;
        const result = await store.query({ ...query, viewer, now: at(nowMs) });
        assert.ok(result.ok);
        return [result.value.nearest?.title, result.value.scanned];
      };
      assert.deepEqual(await nearest(), ['nearer', 2]);
      assert.deepEqual(await nearest(tenant('ai:a')), ['near', 1]);
      assert.deepEqual(await nearest(OPERATOR, 'unembedded', '東京'), ['unembedded', 3]);
    });
  });
}
