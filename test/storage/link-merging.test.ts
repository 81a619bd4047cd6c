import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Link } from '../../protocol/links/link.js';
import { type LinkSqlRow, linkFromSql } from '../../storage/sql/kinds/link-table.js';
import { linking, OPERATOR, storing } from '../support/memories.js';
import fc from '../support/properties.js';
import { type Replica, replica } from '../support/replicas.js';
import { HAVE, tombstones } from './kind-cases.js';

const START_MS = Date.parse('2026-02-01T00:00:00.000Z');
const KEY = { source_id: 'left', target_id: 'right', relation: 'related_to' } as const;

type Act = 'link' | 'end' | 'drop';

async function act(one: Replica, what: Act): Promise<void> {
  const now = new Date(one.nowMs).toISOString();
  const named = { viewer: OPERATOR, by: 'ai:a' };
  const link: Link = { ...linking('left', 'right').link, created_at: now, valid_from: now };
  const asked = { valid_from: null, valid_until: null };
  // An end of a link that is not there changes nothing.
  if (what === 'end')
    await one.store.execute({ kind: 'invalidate-link', link: KEY, validUntil: null, ...named });
  else if (what === 'link') await one.run({ kind: 'create-link', link, asked, ...named });
  else
    await one.run({
      ...{ kind: 'drop-links', sourceId: 'left', targetId: 'right' },
      relation: null,
      ...named,
    });
}

const pass = async (from: Replica, to: Replica) => to.apply(await from.read(HAVE(to)));

/** Three replicas that have both ends, and maybe the link. */
async function mesh(linked: boolean): Promise<readonly [Replica, Replica, Replica]> {
  const all = ['a', 'b', 'c'].map((name, at) => replica(name, START_MS + at * 1000));
  const [a, b, c] = all as [Replica, Replica, Replica];
  for (const id of ['left', 'right']) await a.run(storing({ id, title: id, namespace: 'team' }));
  if (linked) await act(a, 'link');
  for (const to of [b, c]) await pass(a, to);
  return [a, b, c];
}

/** What a replica holds; the order of a version vector's members says nothing. */
async function stateOf(one: Replica) {
  const gone = tombstones(one) as Record<string, string>[];
  return { state: await one.state(), gone: gone.map((row) => ({ ...row, seen: JSON.parse(row['seen']!) })) };
}

async function together(all: readonly Replica[]): Promise<Link | null> {
  for (let round = 0; round < 2; round += 1) {
    for (const from of all) for (const to of all) if (from !== to) await pass(from, to);
  }
  const [first, ...others] = await Promise.all(all.map(stateOf));
  for (const other of others) assert.deepEqual(other, first);
  for (const one of all) assert.deepEqual(one.audit(), []);
  const row = all[0]!.db.prepare('SELECT * FROM memory_links').get() as LinkSqlRow | undefined;
  return row === undefined ? null : linkFromSql(row);
}

describe('concurrent acts on one link', () => {
  const outcomes: readonly (readonly [acts: readonly Act[], link: 'ended' | 'holds' | 'gone'])[] = [
    [['end', 'drop'], 'ended'],
    [['drop', 'end'], 'ended'],
    [['end', 'end'], 'ended'],
    [['drop', 'drop'], 'gone'],
  ];
  for (const [[first, second], expected] of outcomes) {
    it(`${first} and ${second}: the link ${expected === 'gone' ? 'is gone' : expected}`, async () => {
      const [a, b, c] = await mesh(true);
      await act(a, first!);
      await act(b, second!);
      const link = await together([a, b, c]);
      assert.equal(link === null ? 'gone' : link.retired_at === null ? 'holds' : 'ended', expected);
    });
  }

  it('an invalidation stands before a link that was made again without seeing it, and a third knows who lost', async () => {
    const [a, b, c] = await mesh(true);
    await act(b, 'drop');
    await act(a, 'end');
    for (const one of [a, b, c]) one.nowMs += 60_000;
    await act(b, 'link');
    const link = await together([a, b, c]);
    assert.notEqual(link!.retired_at, null);
    const losers = c.db.prepare('SELECT origin, winner FROM conflicts ORDER BY origin_seq').all() as {
      readonly origin: string;
      readonly winner: string;
    }[];
    assert.ok(losers.length > 0);
    for (const { origin, winner } of losers)
      assert.ok(origin.startsWith('peer-b/') && winner.startsWith('peer-a/'), JSON.stringify(losers));
    // Who has seen the end may make the link again.
    await act(c, 'link');
    assert.equal((await together([a, b, c]))!.retired_at, null);
  });

  it('end equal everywhere, whatever they were and in whatever order they came', async () => {
    const step = fc.oneof(
      fc.record({ at: fc.nat(2), what: fc.constantFrom<Act>('link', 'end', 'drop') }),
      fc.record({ at: fc.nat(2), from: fc.nat(2) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(step, { maxLength: 14 }), async (linked, steps) => {
        const all = await mesh(linked);
        for (const one of steps) {
          const node = all[one.at]!;
          node.nowMs += 1000;
          if ('what' in one) await act(node, one.what);
          else if (one.from !== one.at) await pass(all[one.from]!, node);
        }
        await together(all);
        for (const one of all) await one.store.close();
      }),
      { numRuns: 60 },
    );
  });
});
