import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { editStamp } from '../../protocol/kinds/version.js';
import { EMBED_STATES } from '../../protocol/memory/embed-state.js';
import type { Store } from '../../storage/port.js';
import type { Connection } from '../../storage/sql/connection.js';
import { auditDatabase } from '../support/log-audit.js';
import { aMemory, anyMemory, OPERATOR, recalling, storing, tenant } from '../support/memories.js';

/** A store under test, on a database file of its own. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Another connection to its database. */
  connect(): Connection;
  /** Moves the store's wall clock. */
  setNow(ms: number): void;
  close(): Promise<void>;
}

/** What is wrong with the database of a store, which may be closed. */
export function auditStore(under: StoreUnderTest): string[] {
  const db = under.connect();
  try {
    return auditDatabase(db);
  } finally {
    db.close();
  }
}

const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
const at = (ms: number) => new Date(ms).toISOString();

/** What every store promises; run once for each engine (design: conventions, "One contract suite"). */
export function storeContract(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`store contract: ${name}`, () => {
    let under: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      under = await open();
      under.setNow(START_MS);
      store = under.store;
    });
    afterEach(async () => {
      await under.close();
      assert.deepEqual(auditStore(under), [], 'the log and the rows tell the same story');
    });

    const get = (id: string, viewer = OPERATOR, nowMs = START_MS) =>
      store.query({ kind: 'get-memory', id, viewer, now: at(nowMs) });
    const stored = async (...args: Parameters<typeof storing>) => {
      const result = await store.execute(storing(...args));
      assert.ok(result.ok, JSON.stringify(result));
      return memoryOf(result.value.stored.id);
    };
    const memoryOf = async (id: string) => {
      const read = await get(id);
      assert.ok(read.ok, JSON.stringify(read));
      return read.value.memory;
    };
    const code = (result: { ok: boolean; error?: { code: string } }) =>
      result.ok ? 'ok' : result.error?.code;
    const listed = async (viewer = OPERATOR, nowMs = START_MS) => {
      const filter = { ...anyMemory(at(nowMs)), viewer };
      const result = await store.query({ kind: 'list-memories', filter, family: null });
      assert.ok(result.ok);
      return result.value.memories.map((memory) => memory.title);
    };

    it('keeps every field of a memory', async () => {
      const memory = aMemory({
        title: 'Überschrift 题目 🧠',
        content: 'line one\r\nline two\twith a tab',
        tags: ['a', 'b,c', 'd"e'],
        priority: 9,
        confidence: 0.25,
        tier: 'long',
        namespace: 'a/b/c',
        kind: 'decision',
        metadata: { agent_id: 'ai:writer', attest_level: 'claimed', nested: { deep: [1, null, 'x'] } },
        citations: [{ uri: 'doc:1', accessed_at: '2026-01-01T00:00:00.000Z' }],
        source_uri: 'doc:spec',
        source_span: { start: 3, end: 9 },
        expires_at: '2027-01-01T00:00:00.000Z',
      });
      const result = await store.execute({ ...storing(), memory });
      assert.ok(result.ok);
      const read = await get(memory.id);
      assert.ok(read.ok);
      const { rid, life_at, hlc, origin, origin_seq, seen, created_hlc, edited, ...kept } = read.value
        .memory as never as Record<string, unknown>;
      const {
        hlc: _h,
        origin: _o,
        origin_seq: _s,
        seen: _v,
        created_hlc: _c,
        edited: _e,
        ...expected
      } = memory;
      assert.deepEqual(kept, expected);
      assert.equal(typeof hlc, 'string');
      assert.equal(created_hlc, hlc);
      assert.equal(edited, editStamp({ hlc: String(hlc), origin: String(origin), seq: Number(origin_seq) }));
      assert.equal(origin_seq, 1);
      assert.deepEqual(seen, { [String(origin)]: 1 });
      void rid;
      void life_at;
    });

    it('refuses a taken title and names the row only to those who may see it', async () => {
      const holder = await stored({ metadata: { agent_id: 'ai:a', scope: 'private' } });
      const same = await store.execute(storing({}, { viewer: tenant('ai:a') }));
      assert.equal(code(same), 'CONFLICT');
      assert.deepEqual(!same.ok && same.error.details, { existing_id: holder.id });
      const other = await store.execute(storing({}, { viewer: tenant('ai:b') }));
      assert.equal(code(other), 'CONFLICT');
      assert.equal(!other.ok && other.error.details, undefined);
      assert.deepEqual(await listed(), ['a title']);
    });

    it('makes the next free title on conflict version', async () => {
      await stored();
      const second = await stored({}, { onConflict: 'version' });
      const third = await stored({}, { onConflict: 'version' });
      assert.equal(second.title, 'a title (2)');
      assert.equal(third.title, 'a title (3)');
    });

    it('merges into the stored row: maximum of priority and tier, kept id and owner', async () => {
      const first = await stored({ priority: 8, tier: 'long', expires_at: null });
      const result = await store.execute(
        storing(
          { content: 'newer', priority: 3, tier: 'short', metadata: { agent_id: 'ai:writer', x: 1 } },
          {
            onConflict: 'merge',
          },
        ),
      );
      assert.ok(result.ok);
      const { stored: summary, created } = result.value;
      assert.equal(created, false);
      assert.equal(summary.id, first.id);
      const memory = await memoryOf(first.id);
      assert.equal(memory.content, 'newer');
      assert.equal(memory.priority, 8);
      assert.equal(memory.tier, 'long');
      assert.equal(memory.version, 2);
      assert.equal(memory.metadata['agent_id'], 'ai:writer');
      assert.equal(memory.metadata['x'], 1);
    });

    it('does not let a tenant merge into the row of another', async () => {
      await stored({ metadata: { agent_id: 'ai:a' } });
      const result = await store.execute(storing({}, { onConflict: 'merge', viewer: tenant('ai:b') }));
      assert.equal(code(result), 'CONFLICT');
    });

    it('updates a subset of fields, never lowers the tier, and counts versions', async () => {
      const memory = await stored({ tier: 'long' });
      const result = await store.execute({
        kind: 'update-memory',
        id: memory.id,
        patch: { priority: 9, tier: 'short', tags: ['x'] },
        expectedVersion: 1,
        viewer: OPERATOR,
        archive: true,
      });
      assert.ok(result.ok);
      assert.equal(result.value.memory.version, 2);
      assert.equal(result.value.memory.tier, 'long');
      assert.equal(result.value.memory.title, memory.title);
      assert.deepEqual(result.value.memory.tags, ['x']);
      const stale = await store.execute({
        kind: 'update-memory',
        id: memory.id,
        patch: { priority: 1 },
        expectedVersion: 1,
        viewer: OPERATOR,
        archive: true,
      });
      assert.equal(code(stale), 'VERSION_CONFLICT');
      assert.deepEqual(!stale.ok && stale.error.details, {
        status: 'conflict',
        id: memory.id,
        expected_version: 1,
        current_version: 2,
      });
    });

    it('refuses an update onto a taken title and keeps the row findable under its new one', async () => {
      const a = await stored({ title: 'alpha' });
      await stored({ title: 'beta' });
      const update = (title: string) =>
        store.execute({
          kind: 'update-memory',
          id: a.id,
          patch: { title },
          expectedVersion: null,
          viewer: OPERATOR,
          archive: true,
        });
      assert.equal(code(await update('beta')), 'CONFLICT');
      assert.equal(code(await update('gamma')), 'ok');
      assert.deepEqual((await listed()).sort(), ['beta', 'gamma']);
    });

    it('hides a row from tenants who may not see it, on every path', async () => {
      const secret = await stored({ title: 'secret', metadata: { agent_id: 'ai:a', scope: 'private' } });
      const b = tenant('ai:b');
      assert.equal(code(await get(secret.id, b)), 'NOT_FOUND');
      assert.equal(code(await get(secret.id.slice(0, 8), b)), 'NOT_FOUND');
      assert.deepEqual(await listed(b), []);
      const remove = await store.execute({ kind: 'delete-memory', id: secret.id, archive: true, viewer: b });
      assert.equal(code(remove), 'NOT_FOUND');
      assert.equal(code(await get(secret.id, tenant('ai:a'))), 'ok');
    });

    it("refuses a change of another tenant's row without saying whose it is", async () => {
      const memory = await stored({ metadata: { agent_id: 'ai:a' } });
      const result = await store.execute({
        kind: 'delete-memory',
        id: memory.id,
        archive: true,
        viewer: tenant('ai:b'),
      });
      assert.equal(code(result), 'FORBIDDEN');
      assert.ok(!JSON.stringify(result).includes('ai:a'));
    });

    it('resolves a unique prefix and refuses an ambiguous one', async () => {
      const a = aMemory({ id: 'abc11111-0000-4000-8000-000000000000', title: 'one' });
      const b = aMemory({ id: 'abc22222-0000-4000-8000-000000000000', title: 'two' });
      await store.execute({ ...storing(), memory: a });
      await store.execute({ ...storing(), memory: b });
      assert.equal(code(await get('abc')), 'AMBIGUOUS_ID_PREFIX');
      const found = await get('abc1');
      assert.ok(found.ok);
      assert.equal(found.value.memory.id, a.id);
      assert.equal(code(await get('%')), 'NOT_FOUND');
    });

    it('deletes with a tombstone, and frees the title', async () => {
      const memory = await stored();
      const result = await store.execute({
        kind: 'delete-memory',
        id: memory.id,
        archive: true,
        viewer: OPERATOR,
      });
      assert.ok(result.ok);
      assert.equal(code(await get(memory.id)), 'NOT_FOUND');
      assert.equal(code(await store.execute(storing())), 'ok');
    });

    it('hides an expired row at once and lets its title go to a new one', async () => {
      const old = await stored({ expires_at: at(START_MS + 1000) });
      const later = START_MS + 2000;
      assert.equal(code(await get(old.id, OPERATOR, later)), 'NOT_FOUND');
      assert.deepEqual(await listed(OPERATOR, later), []);
      under.setNow(later);
      assert.equal(code(await store.execute(storing())), 'ok');
      assert.deepEqual(await listed(OPERATOR, later), ['a title']);
    });

    it('collects expired rows in bounded batches', async () => {
      for (let n = 0; n < 5; n += 1) await stored({ title: `t${n}`, expires_at: at(START_MS + 1 + n) });
      await stored({ title: 'stays' });
      under.setNow(START_MS + 10_000);
      const first = await store.execute({ kind: 'expire-memories', limit: 3, archive: true });
      assert.deepEqual(first.ok && first.value, { expired: 3, more: true });
      const second = await store.execute({ kind: 'expire-memories', limit: 3, archive: true });
      assert.deepEqual(second.ok && second.value, { expired: 2, more: false });
      assert.deepEqual(await listed(), ['stays']);
    });

    it('promotes a mid row at its fifth access and extends an expiry only as a floor', async () => {
      const policy = { extendSeconds: { short: 3600, mid: 86_400, long: null }, promoteAccessCount: 5 };
      const mid = await stored({ title: 'mid', expires_at: at(START_MS + 7 * 86_400_000) });
      const short = await stored({ title: 'short', tier: 'short', expires_at: at(START_MS + 60_000) });
      const touch = (count: number) =>
        store.execute({
          kind: 'touch-memories',
          touches: [mid, short].map((row) => ({ id: row.id, count, lastAt: at(START_MS) })),
          policy,
        });
      await touch(4);
      const before = await get(mid.id);
      assert.ok(before.ok && before.value.memory.tier === 'mid');
      assert.equal(before.value.memory.expires_at, mid.expires_at);
      await touch(1);
      const after = await get(mid.id);
      assert.ok(after.ok);
      assert.equal(after.value.memory.tier, 'long');
      assert.equal(after.value.memory.expires_at, null);
      assert.equal(after.value.memory.access_count, 5);
      assert.equal(after.value.memory.version, 1, 'being read is not an update');
      const extended = await get(short.id);
      assert.ok(extended.ok);
      assert.equal(extended.value.memory.expires_at, at(START_MS + 3_600_000));
    });

    it('stores vectors beside the version they were made from, and drops them with the text', async () => {
      const memory = await stored();
      const pending = await store.query({ kind: 'pending-embeddings', afterRid: 0, limit: 10 });
      assert.ok(pending.ok);
      const [row] = pending.value.rows;
      assert.equal(row?.id, memory.id);
      const vectors = new Uint8Array(new Float32Array([1, 0, 0]).buffer);
      const put = (version: number) =>
        store.execute({
          kind: 'put-embeddings',
          rows: [
            {
              rid: row!.rid,
              id: row!.id,
              version,
              state: EMBED_STATES.embedded,
              model: 'm',
              dim: 3,
              vectors,
            },
          ],
        });
      assert.deepEqual(await put(7), { ok: true, value: { stored: 0 } });
      assert.deepEqual(await put(1), { ok: true, value: { stored: 1 } });
      const progress = async () => {
        const result = await store.query({ kind: 'embedding-progress' });
        assert.ok(result.ok);
        return result.value;
      };
      const facts = {
        memories: 1,
        skipped: 0,
        failed: 0,
        cut: 0,
        searched: { model: 'm', dim: 3 },
        coming: null,
      };
      assert.deepEqual(await progress(), { pending: 0, embedded: 1, ...facts });
      const patch = { content: 'changed' };
      await store.execute({
        kind: 'update-memory',
        id: memory.id,
        patch,
        expectedVersion: null,
        viewer: OPERATOR,
        archive: true,
      });
      assert.deepEqual(await progress(), { pending: 1, embedded: 0, ...facts, searched: null });
      assert.deepEqual(await store.query({ kind: 'count-pending-embeddings' }), {
        ok: true,
        value: { pending: 1 },
      });
    });

    it('gives the database to one owner, and to a daemon before an MCP process', async () => {
      const claim = (holder: string, role: 'daemon' | 'mcp') =>
        store.execute({ kind: 'claim-ownership', holder, role, leaseMs: 10_000 });
      assert.deepEqual(await claim('mcp-1', 'mcp'), {
        ok: true,
        value: { owned: true, fencing: 1, holder: 'mcp-1' },
      });
      const second = await claim('mcp-2', 'mcp');
      assert.equal(second.ok && second.value.owned, false);
      const daemon = await claim('daemon-1', 'daemon');
      assert.deepEqual(daemon.ok && daemon.value, { owned: true, fencing: 2, holder: 'daemon-1' });
      const lost = await claim('mcp-1', 'mcp');
      assert.equal(lost.ok && lost.value.owned, false);
      under.setNow(START_MS + 11_000);
      const taken = await claim('mcp-1', 'mcp');
      assert.deepEqual(taken.ok && taken.value, { owned: true, fencing: 3, holder: 'mcp-1' });
    });

    it('answers a batch of commands each for itself', async () => {
      const results = await Promise.all([
        store.execute(storing({ title: 'x' })),
        store.execute(storing({ title: 'x' })),
        store.execute(storing({ title: 'y' })),
        store.execute({ kind: 'delete-memory', id: 'nothing', archive: true, viewer: OPERATOR }),
      ]);
      assert.deepEqual(results.map(code), ['ok', 'CONFLICT', 'ok', 'NOT_FOUND']);
      assert.deepEqual((await listed()).sort(), ['x', 'y']);
    });

    it('finds a stored word by recall and by search, and not after a delete', async () => {
      const memory = await stored({ title: 'harbour', content: 'the ferry leaves at noon' });
      const recall = () =>
        store.query({
          kind: 'recall-memories',
          request: recalling('when does the ferry leave?', at(START_MS)),
        });
      const found = await recall();
      assert.ok(found.ok);
      assert.deepEqual(
        found.value.rows.map((row) => row.memory.id),
        [memory.id],
      );
      assert.equal(found.value.mode, 'keyword');
      await store.execute({ kind: 'delete-memory', id: memory.id, archive: true, viewer: OPERATOR });
      const gone = await recall();
      assert.ok(gone.ok && gone.value.rows.length === 0);
    });

    it('gives a prepared recall the answer of an unprepared one', async () => {
      for (const title of ['ferry one', 'ferry two', 'harbour']) await stored({ title });
      const request = recalling('ferry two', at(START_MS));
      const plain = await store.query({ kind: 'recall-memories', request });
      const preparing = store.query({ kind: 'prepare-recall', key: 'k', request });
      const prepared = await store.query({ kind: 'recall-memories', request, prepared: 'k' });
      assert.ok((await preparing).ok);
      assert.deepEqual(prepared, plain);
      assert.ok(plain.ok && plain.value.rows.length === 2);
      const again = await store.query({ kind: 'recall-memories', request, prepared: 'k' });
      assert.deepEqual(again, plain, 'a key that is gone changes nothing');
    });

    it('counts what is there', async () => {
      await stored({ title: 'a', namespace: 'one' });
      await stored({ title: 'b', namespace: 'one', tier: 'long' });
      await stored({ title: 'c', namespace: 'two', expires_at: at(START_MS + 1000) });
      const stats = await store.query({ kind: 'store-stats', viewer: OPERATOR, now: at(START_MS) });
      assert.ok(stats.ok);
      const { db_size_bytes, ...counts } = stats.value;
      assert.ok(db_size_bytes > 0);
      assert.deepEqual(counts, {
        total: 3,
        by_tier: [
          { tier: 'mid', count: 2 },
          { tier: 'long', count: 1 },
        ],
        by_namespace: [
          { namespace: 'one', count: 2 },
          { namespace: 'two', count: 1 },
        ],
        expiring_soon: 1,
        links_count: 0,
      });
    });
  });
}
