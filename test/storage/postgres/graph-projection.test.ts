import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../../../node/seams.js';
import { instantFromMs } from '../../../protocol/base/time.js';
import { RELATIONS } from '../../../protocol/links/link.js';
import { initialiseServer } from '../../../storage/postgres/initialise-server.js';
import { openPostgres } from '../../../storage/postgres/open-postgres.js';
import { PostgresConnection } from '../../../storage/postgres/postgres-connection.js';
import { InlineStore } from '../../../storage/sql/inline-store.js';
import { linking, OPERATOR, storing, UNLIMITED } from '../../support/memories.js';
import { hasExtension, PostgresServer, withoutServer } from '../../support/postgres-server.js';

const START = { identity: { peerId: 'peer-0000000000000001' }, nowMs: 1, freshEpoch: '00112233aabbccdd' };
const START_MS = Date.parse('2026-03-01T12:00:00.000Z');
const NODES = 12;
const STEPS = 150;
const idOf = (number: number) => `0000000${number.toString(16)}-0000-4000-8000-000000000000`;

const skip = withoutServer || (hasExtension('age') ? false : 'this server does not have AGE');

describe('the projection of links', { skip }, () => {
  let server: PostgresServer;
  before(async () => {
    server = await PostgresServer.start();
    await server.ask('postgres', 'CREATE ROLE mnemesh LOGIN');
  });
  after(() => server.stop());

  /** As docs/postgres-extensions.md says for those who ask by Cypher. */
  const withCypher = (url: string) => {
    const name = url.slice(url.lastIndexOf('/') + 1);
    return server.ask(name, `ALTER DATABASE ${name} SET search_path = "$user", public, ag_catalog`);
  };

  const initialised = (url: string) => {
    const done = initialiseServer({ url, statementTimeoutMs: 30_000 }, { nowMs: 1, dim: null });
    assert.ok(done.ok);
    return done.value;
  };

  function storeOn(url: string, clock: { nowMs: number }): InlineStore {
    return new InlineStore({
      db: openPostgres({ url, statementTimeoutMs: 30_000 }, START),
      clock: { nowMs: () => clock.nowMs, monotonicMs: () => systemClock.monotonicMs() },
      scheduler: systemScheduler,
      random: systemRandom,
      crypto: systemCrypto,
      reportBug: (error) => {
        throw error;
      },
      signer: null,
      policy: UNLIMITED,
      shared: false,
    });
  }

  /** Links that are made, ended and removed in a drawn order. */
  async function drawn(store: InlineStore, clock: { nowMs: number }, seed: number): Promise<void> {
    let state = seed;
    const next = (below: number) => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return (state >> 8) % below;
    };
    for (let number = 0; number < NODES; number += 1) {
      const made = await store.execute(storing({ id: idOf(number), title: `title ${number}`, tier: 'long' }));
      assert.ok(made.ok, JSON.stringify(made));
    }
    for (let step = 0; step < STEPS; step += 1) {
      clock.nowMs += 60_000;
      const [source, target] = [next(NODES), next(NODES)];
      if (source === target) continue;
      const key = { source_id: idOf(source), target_id: idOf(target), relation: RELATIONS[next(3)]! };
      const what = next(8);
      if (what === 0) {
        const { source_id: sourceId, target_id: targetId, relation } = key;
        await store.execute({ kind: 'drop-links', sourceId, targetId, relation, viewer: OPERATOR });
      } else if (what <= 2) {
        const validUntil = instantFromMs(clock.nowMs);
        await store.execute({ kind: 'invalidate-link', link: key, validUntil, viewer: OPERATOR, by: 'ai:b' });
      } else {
        const now = instantFromMs(clock.nowMs);
        const asked = {
          valid_from: what === 3 ? instantFromMs(clock.nowMs - 600_000) : null,
          valid_until: null,
        };
        const link = { ...linking(key.source_id, key.target_id).link, ...key, created_at: now, ...asked };
        await store.execute({ kind: 'create-link', link, asked, viewer: OPERATOR, by: 'ai:a' });
      }
    }
  }

  /** What Cypher reaches from a memory in one to `depth` hops at an instant. */
  async function reached(url: string, from: string, depth: number, at: string): Promise<string[]> {
    const found = new Set<string>();
    for (let hops = 1; hops <= depth; hops += 1) {
      const path = Array.from({ length: hops }, (_, hop) => `-[r${hop}]->(m${hop}:Memory)`).join('');
      const holds = Array.from(
        { length: hops },
        (_, hop) => `r${hop}.valid_from <= '${at}' AND r${hop}.valid_until > '${at}'`,
      ).join(' AND ');
      const rows = await server.ask(
        url.slice(url.lastIndexOf('/') + 1),
        `SELECT DISTINCT id::text FROM ag_catalog.cypher('memory_graph', $$
           MATCH (a:Memory {id: '${from}'})${path} WHERE ${holds} RETURN m${hops - 1}.id $$) AS (id ag_catalog.agtype)`,
      );
      for (const { id } of rows)
        found.add(JSON.parse(String(id).startsWith('"') ? String(id) : `"${id}"`) as string);
    }
    found.delete(from);
    return [...found].sort();
  }

  it('finds by Cypher what a walk finds, whatever happened to the links', async () => {
    const url = await server.database();
    assert.deepEqual(initialised(url).projection, { created: true, rebuilt: true, problem: null });
    await withCypher(url);
    const clock = { nowMs: START_MS };
    const store = storeOn(url, clock);
    await drawn(store, clock, 7);
    let nonEmpty = 0;
    for (const at of [clock.nowMs, START_MS + STEPS * 30_000]) {
      for (let number = 0; number < NODES; number += 1) {
        const validAt = instantFromMs(at);
        const walked = await store.query({
          ...({
            kind: 'walk-graph',
            id: idOf(number),
            viewer: OPERATOR,
            now: instantFromMs(clock.nowMs),
          } as const),
          moment: { validAt, believedAt: null },
          ...{ maxDepth: 3, limit: 1000, allowedAgents: null, relations: null },
        });
        assert.ok(walked.ok, JSON.stringify(walked));
        const ids = new Set<string>(walked.value.memories.map((each) => each.target_id));
        ids.delete(idOf(number));
        assert.deepEqual(await reached(url, idOf(number), 3, validAt), [...ids].sort());
        nonEmpty += ids.size > 0 ? 1 : 0;
      }
    }
    assert.ok(nonEmpty > NODES, 'most of the walks find something');
    // What was written one by one is what a graph made at once would be.
    assert.deepEqual(initialised(url).projection, { created: true, rebuilt: false, problem: null });
    await store.close();
  });

  it('is undone with the transaction of its link, and made again where it differs', async () => {
    const url = await server.database();
    const name = url.slice(url.lastIndexOf('/') + 1);
    initialised(url);
    const db = new PostgresConnection({ url, statementTimeoutMs: 30_000, readOnly: false });
    const edges = async () =>
      Number((await server.ask(name, 'SELECT count(*) FROM memory_graph._ag_label_edge'))[0]!['count']);
    const insert = `INSERT INTO memory_links (source_id, target_id, relation, created_at)
      VALUES (?, ?, 'related_to', '2026-01-01T00:00:00.000Z')`;
    db.exec('BEGIN');
    db.prepare(insert).run('a"b', 'c\\d');
    db.exec('ROLLBACK');
    assert.equal(await edges(), 0);
    db.prepare(insert).run('a"b', 'c\\d');
    db.prepare(insert).run('a"b', 'e');
    assert.equal(await edges(), 2);
    assert.equal(db.graphEngine(), 'age+cte');
    await server.ask(name, 'DELETE FROM memory_graph.related_to');
    assert.equal(initialised(url).projection.rebuilt, true);
    assert.equal(await edges(), 2);
    await server.ask(name, 'DELETE FROM memory_links');
    assert.deepEqual(
      await server.ask(name, 'SELECT count(*)::int AS n FROM memory_graph."Memory"'),
      [{ n: 0 }],
      'a vertex goes with its last link',
    );
    // Without the extension links are written all the same.
    await server.ask(name, 'DROP EXTENSION age CASCADE');
    db.prepare(insert).run('a', 'b');
    assert.equal(db.graphEngine(), 'cte');
    assert.equal(initialised(url).projection.rebuilt, true);
    assert.equal(await edges(), 1);
    db.close();
  });

  it('is written for a role that may not read it, which hears that it has recursive queries alone', async () => {
    const url = await server.database();
    const name = url.slice(url.lastIndexOf('/') + 1);
    initialised(url);
    await server.ask(
      name,
      `GRANT USAGE ON SCHEMA public TO mnemesh; GRANT SELECT, INSERT, DELETE ON ALL TABLES IN SCHEMA public TO mnemesh`,
    );
    const asRole = {
      url: url.replace('//postgres@', '//mnemesh@'),
      statementTimeoutMs: 30_000,
      readOnly: false,
    };
    const db = new PostgresConnection(asRole);
    assert.equal(db.graphEngine(), 'cte');
    db.prepare(`INSERT INTO memory_links (source_id, target_id, relation, created_at)
      VALUES ('a', 'b', 'related_to', '2026-01-01T00:00:00.000Z')`).run();
    await server.ask(
      name,
      `GRANT USAGE ON SCHEMA ag_catalog, memory_graph TO mnemesh; GRANT SELECT ON ALL TABLES IN SCHEMA memory_graph TO mnemesh`,
    );
    assert.equal(db.graphEngine(), 'age+cte');
    db.close();
  });

  it('leaves a graph of somebody else alone', async () => {
    const url = await server.database();
    const name = url.slice(url.lastIndexOf('/') + 1);
    await withCypher(url);
    await server.ask(name, "CREATE EXTENSION age; SELECT ag_catalog.create_graph('memory_graph')");
    const { projection } = initialised(url);
    assert.equal(projection.created, false);
    assert.match(projection.problem!, /something else that is called memory_graph/);
  });
});
