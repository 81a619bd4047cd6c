import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { TRAVERSAL_LINKS_MAX, TRAVERSAL_MS_MAX } from '../../protocol/base/limits.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import { KINDS } from '../../protocol/release.js';
import type { Connection } from '../../storage/sql/connection.js';
import { Reader } from '../../storage/sql/reader.js';
import { addLinks, addMemories, graphDatabase } from '../support/graph.js';
import { OPERATOR, tenant } from '../support/memories.js';
import { onlyOnSqlite } from '../support/test-store.js';

const LINKS = 50_000;
const NOW = '2026-06-01T00:00:00.000Z';
const NO_MOMENT = { validAt: NOW, believedAt: null };

describe('a memory with 50,000 links', { timeout: 180_000 }, () => {
  let db: Connection;
  let reader: Reader;
  before(() => {
    db = graphDatabase();
    // Its clock stands still: how long a walk takes depends on what else the machine does.
    reader = new Reader(db, systemCrypto);
    addMemories(db, ['hub', 'near', 'far', 'lonely', 'crowd']);
    const leaves = Array.from({ length: LINKS }, (_, index) => `leaf-${index}`);
    addMemories(db, leaves, 'ai:alice');
    addLinks(
      db,
      leaves.map((leaf) => ['hub', leaf, 'related_to']),
    );
    addLinks(db, [
      ['near', 'hub', 'related_to'],
      ['leaf-7', 'far', 'related_to'],
    ]);
    const many = leaves.flatMap((leaf): [string, string, string][] => [
      ['crowd', leaf, 'related_to'],
      ['crowd', leaf, 'depends_on'],
    ]);
    addLinks(db, many);
  });
  after(() => db.close());

  const walk = (id: string, viewer: Viewer, maxDepth = 3, using = reader) => {
    const bounds = { maxDepth, limit: 200, allowedAgents: null, relations: null };
    const answer = using.run({ kind: 'walk-graph', id, viewer, now: NOW, moment: NO_MOMENT, ...bounds });
    assert.ok(answer.ok);
    return answer.value;
  };

  it('is walked without reading all of its links', () => {
    const { memories, stopped, spent } = walk('near', OPERATOR);
    assert.equal(stopped, null);
    assert.equal(memories.length, 200);
    assert.ok(spent < 1000, `${spent} links were read`);
  });

  it('is walked within the budget when the caller may see none of its targets', () => {
    const { memories, stopped, spent } = walk('near', tenant('ai:bob'));
    assert.deepEqual(
      memories.map(({ target_id }) => target_id),
      ['hub'],
    );
    assert.equal(stopped, null);
    assert.ok(spent > LINKS && spent < TRAVERSAL_LINKS_MAX);
  });

  it('lies on paths that are found within the budget', () => {
    const bounds = { targetId: 'far', maxDepth: 7, maxResults: 1, moment: NO_MOMENT };
    const answer = reader.run({ kind: 'find-paths', id: 'near', viewer: OPERATOR, now: NOW, ...bounds });
    assert.ok(answer.ok);
    assert.deepEqual([answer.value.paths, answer.value.stopped], [[['near', 'hub', 'leaf-7', 'far']], null]);
  });

  it('ends a walk that reads too many links, with the part that was found', () => {
    addLinks(db, [
      ['lonely', 'hub', 'related_to'],
      ['lonely', 'crowd', 'related_to'],
    ]);
    const { memories, stopped, spent } = walk('lonely', tenant('ai:bob'), 5);
    assert.deepEqual([stopped, spent], ['links', TRAVERSAL_LINKS_MAX]);
    assert.deepEqual(memories.map(({ target_id }) => target_id).sort(), ['crowd', 'hub']);
  });

  it('ends a walk that takes too long, with the part that was found', () => {
    let ms = 0;
    const slow = {
      monotonicMs: () => {
        ms += 10;
        return ms;
      },
    };
    const { memories, stopped, spent } = walk(
      'near',
      tenant('ai:bob'),
      3,
      new Reader(db, systemCrypto, KINDS, slow),
    );
    assert.equal(stopped, 'time');
    assert.deepEqual(
      memories.map(({ target_id }) => target_id),
      ['hub'],
    );
    assert.ok(spent < 100 * TRAVERSAL_MS_MAX);
  });

  it('is read through an index', { skip: onlyOnSqlite('it asks for the plan of SQLite') }, () => {
    const plan = db
      .prepare(
        `EXPLAIN QUERY PLAN SELECT target_id FROM memory_links l WHERE source_id = ? ORDER BY
         coalesce(l.valid_from, l.created_at), l.created_at, l.target_id, l.relation`,
      )
      .all('hub') as { detail: string }[];
    const steps = plan.map(({ detail }) => detail);
    assert.equal(steps.length, 1, steps.join('\n'));
    assert.match(steps[0]!, /memory_links_walk/);
  });

  it('has a timeline of which only the page is read', () => {
    const span = { since: null, until: null, believedAt: null, limit: 10 };
    const answer = reader.run({ kind: 'graph-timeline', id: 'hub', viewer: OPERATOR, now: NOW, ...span });
    assert.ok(answer.ok);
    assert.deepEqual([answer.value.events.length, answer.value.spent], [10, 10]);
  });
});
