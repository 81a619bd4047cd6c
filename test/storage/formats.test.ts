import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ScrubReport } from '../../actors/maintenance/scrub.js';
import { systemCrypto } from '../../node/seams.js';
import { parseRfc3339Ms } from '../../protocol/base/time.js';
import { inspectDatabase } from '../../storage/sqlite/inspect/inspect-database.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { type DatabaseFacts, databaseFacts } from '../support/formats/database-facts.js';
import { databaseOf, type Expected, expectedOf, formatsKept } from '../support/formats/format-folders.js';
import { formatPeer, openFormat } from '../support/formats/format-node.js';
import { deleting, linking, storing, updating } from '../support/memories.js';
import type { Replica } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';

/** Words of operations that every format has. */
const WORDS = 'archive delete epoch expire life link promote purge restore store update'.split(' ');
const REASONS = ['bad_signature', 'invalid', 'out_of_scope', 'unknown_kind'];

for (const format of formatsKept()) {
  describe(`a database of format ${format}`, () => {
    let expected: Expected;
    let path: string;
    let one: Replica;
    before(() => {
      expected = expectedOf(format);
      path = databaseOf(format, temporaryFolder('format'));
      one = openFormat(path, 'ash', parseRfc3339Ms(expected.ended_at)! + 60_000, '00000000feedfeed');
    });
    after(() => one.store.close());

    const facts = () => databaseFacts(one.store, one.db);
    const inspected = () => {
      const { publicKey } = formatPeer('ash').signer;
      const found = inspectDatabase(path, expected.ended_at, systemCrypto, publicKey);
      assert.ok(found.ok, JSON.stringify(found));
      return found.facts;
    };

    it('holds something of everything', () => {
      const { log, siblings, setAside, namespaceMeta, audit, agents, archived, tombstones, links, quotas } =
        expected.facts;
      const entries = Object.values(log);
      const taken = entries.filter(({ parked }) => parked === null);
      assert.deepEqual(
        lacking(
          WORDS,
          taken.map(({ kind }) => kind),
        ),
        [],
      );
      assert.deepEqual(
        lacking(
          REASONS,
          entries.map(({ parked }) => parked),
        ),
        [],
      );
      assert.ok(
        taken.some(({ payload }) => !payload),
        'a superseded payload was let go',
      );
      const origins = new Set(Object.keys(log).map((opId) => opId.slice(0, opId.lastIndexOf('/'))));
      assert.ok(origins.size >= 3, `${origins.size} origins`);
      const conflicts = expected.facts.conflicts.map(({ kind }) => kind);
      assert.deepEqual(lacking(['title', 'version'], conflicts), []);
      for (const some of [siblings, setAside, namespaceMeta, audit, agents, quotas])
        assert.ok(some.length > 0, JSON.stringify(some));
      for (const some of [archived, tombstones, links]) assert.ok(Object.keys(some).length > 0);
      assert.ok(agents.some(({ pubkey_b64 }) => pubkey_b64 !== undefined));
    });

    it('opens, and shows what it showed', async () => {
      assertShown(await facts(), expected.facts);
    });

    it('is whole, its log and its audit chain too', () => {
      const { damage, audit, content } = inspected();
      assert.deepEqual(damage, []);
      assert.deepEqual([audit?.problem, audit?.head], [null, 'sound']);
      assert.deepEqual(content?.log.problems, []);
      assert.deepEqual(one.audit(), []);
    });

    it('has nothing that a scrub repairs', async () => {
      const report = await scrubbed(one);
      const { rows, operations, complete } = report;
      const { memories, links, namespaceMeta, counts } = expected.facts;
      assert.deepEqual(
        [rows['memory'], rows['link'], rows['standard'], complete],
        [Object.keys(memories).length, Object.keys(links).length, namespaceMeta.length, true],
      );
      assert.equal(operations, (await facts()).counts.commits);
      assert.ok(operations >= counts.commits);
      assertSound(report);
      assertShown(await facts(), expected.facts);
    });

    it('has nothing parked that can take effect now', async () => {
      const retry = { kind: 'retry-parked', after: 0, skip: 0, limit: 100 } as const;
      assert.equal(((await one.run(retry)) as { readonly applied: number }).applied, 0);
      assertShown(await facts(), expected.facts);
    });

    it('is written on', async () => {
      const { memories } = expected.facts;
      const opened = await facts();
      const [edited, removed, linked] = idsOf(memories, ['Every field', 'Promoted', 'The sky is blue']);
      await one.run(updating(edited, { content: 'written by the release of today' }));
      await one.run(deleting(removed));
      await one.run(linking(linked, edited));
      const { stored } = (await one.run(storing({ title: 'New in an old database' }))) as {
        readonly stored: { readonly id: string };
      };
      const now = await facts();
      const before = memories[edited] as { readonly version: number };
      const after = now.memories[edited] as { readonly version: number; readonly content: string };
      assert.deepEqual(
        [after.content, after.version],
        ['written by the release of today', before.version + 1],
      );
      assert.equal(now.memories[removed], undefined);
      assert.ok(now.tombstones[removed] !== undefined);
      const untouched = ({
        [edited]: _e,
        [removed]: _r,
        [stored.id]: _n,
        ...rest
      }: DatabaseFacts['memories']) => rest;
      assert.deepEqual(untouched(now.memories), untouched(memories));
      assert.equal(Object.keys(now.log).length, Object.keys(opened.log).length + 4);
      assert.deepEqual(one.audit(), []);
      assertSound(await scrubbed(one));
    });

    it('goes on under its own origin, and is whole when it is closed', async () => {
      const known = await one.store.query({ kind: 'known-origins' });
      const { ended_at } = expected;
      await one.store.close();
      assert.deepEqual([inspected().damage, inspected().content?.log.problems], [[], []]);
      one = openFormat(path, 'ash', parseRfc3339Ms(ended_at)! + 120_000, '00000000feedfeed');
      const again = await one.store.query({ kind: 'known-origins' });
      assert.deepEqual(again, known);
      assert.ok(
        known.ok && Object.keys(expected.facts.log).some((opId) => opId.startsWith(known.value.self)),
      );
    });
  });
}

const lacking = (wanted: readonly string[], there: readonly (string | null)[]) =>
  wanted.filter((each) => !there.includes(each));

/** Ids of memories by their titles; the first that has one. */
function idsOf(memories: DatabaseFacts['memories'], titles: readonly string[]): [string, string, string] {
  const rows = Object.entries(memories) as [string, { readonly title: string }][];
  return titles.map((title) => rows.find(([, row]) => row.title === title)![0]) as [string, string, string];
}

/** Operations by which an upgrade of a form gives rows that stood in no log a place in it. */
const isOfUpgrade = ({ kind }: DatabaseFacts['log'][string]) => kind === 'standard.put';

/** Everything is there as it was: by parts, so that a difference is named. */
function assertShown(shown: DatabaseFacts, expected: DatabaseFacts): void {
  const plain = JSON.parse(JSON.stringify(shown)) as DatabaseFacts;
  const added = Object.keys(plain.log).filter((opId) => expected.log[opId] === undefined);
  for (const opId of added) assert.ok(isOfUpgrade(plain.log[opId]!), opId);
  const log = Object.fromEntries(Object.entries(plain.log).filter(([opId]) => !added.includes(opId)));
  const counts = { ...plain.counts, commits: plain.counts.commits - added.length };
  for (const name of Object.keys(expected) as (keyof DatabaseFacts)[])
    assert.deepEqual({ ...plain, log, counts }[name], expected[name], name);
}

/** A scrub found nothing to repair. */
function assertSound(report: ScrubReport): void {
  const { repaired, damaged_operations, lost_count, digests } = report;
  assert.deepEqual(
    { repaired, damaged_operations, lost_count, digests },
    { repaired: [], damaged_operations: 0, lost_count: 0, digests: [] },
  );
}
