import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ScrubReport } from '../../actors/maintenance/scrub.js';
import { systemCrypto } from '../../node/seams.js';
import { parseRfc3339Ms } from '../../protocol/base/time.js';
import { inspectDatabase } from '../../storage/sqlite/inspect/inspect-database.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { type DatabaseFacts, databaseFacts } from '../support/formats/database-facts.js';
import { keptDatabase, keptFacts, keptLog } from '../support/formats/format-files.js';
import { formatNode, formatPeer, openFormat } from '../support/formats/format-node.js';
import { tableCounts } from '../support/formats/format-tables.js';
import { deleting, linking, storing, updating } from '../support/memories.js';
import type { Replica } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';
import { asSqlite } from '../support/test-store.js';

const expected = keptFacts();

/** Words of operations that it has. */
const WORDS = 'archive delete epoch expire life link promote purge restore store update'.split(' ');
const REASONS = ['bad_signature', 'invalid', 'out_of_scope', 'unknown_kind'];
const RECORDS = 'adoption alias pending receipt remembered rule standard vote'.split(' ');
/** Tables without a row in it. */
const EMPTY = [
  'coming_embeddings',
  'coming_states',
  'database_owner',
  'encoders',
  'integrity_notes',
  'memory_embeddings',
  'near_duplicates',
  'near_duplicates_through',
  'subscription_dlq',
  'subscription_events',
  'suspects',
  'transcript_line_dedup',
];

/** Tables that came after it, without a row. */
const LATER_INDEXES = ['memories_mentioned', 'memories_persona', 'memories_atoms'];
const LATER_TABLES = {
  confidence_shadow_observations: 0,
  erasures: 0,
  jobs: 0,
  kept_copies: 0,
  lease_term: 0,
  minted_token: 0,
  model_use: 0,
  skill_upload: 0,
};

describe('the kept database', () => {
  let path: string;
  let one: Replica;
  before(() => {
    path = keptDatabase(temporaryFolder('format'));
    one = openFormat(path, 'ash', parseRfc3339Ms(expected.ended_at)! + 60_000, '00000000feedfeed');
  });
  after(() => one.store.close());

  const facts = () => databaseFacts(one.store, asSqlite(one.db));
  const inspected = () => {
    const { publicKey } = formatPeer('ash').signer;
    const found = inspectDatabase(path, expected.ended_at, systemCrypto, publicKey);
    assert.ok(found.ok, JSON.stringify(found));
    return found.facts;
  };

  it('gets the indexes of memories that came after it', () => {
    const indexes = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'memories'";
    const names = one.db.prepare(indexes).pluck().all();
    for (const name of LATER_INDEXES) assert.ok(names.includes(name), name);
  });

  it('holds something of everything', () => {
    const { log, siblings, setAside, records, audit, agents, archived, tombstones, links, quotas } =
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
    const kinds = new Set(Object.keys(records).map((each) => each.slice(0, each.indexOf(' '))));
    assert.deepEqual([...kinds].sort(), RECORDS);
    const empty = Object.entries(expected.tables).flatMap(([table, rows]) => (rows === 0 ? [table] : []));
    assert.deepEqual(empty, EMPTY);
    const conflicts = expected.facts.conflicts.map(({ kind }) => kind);
    assert.deepEqual(lacking(['title', 'version'], conflicts), []);
    for (const some of [siblings, setAside, audit, agents, quotas])
      assert.ok(some.length > 0, JSON.stringify(some));
    for (const some of [archived, tombstones, links]) assert.ok(Object.keys(some).length > 0);
    assert.ok(agents.some(({ pubkey_b64 }) => pubkey_b64 !== undefined));
  });

  it('opens, and shows what it showed', async () => {
    assert.deepEqual(tableCounts(asSqlite(one.db)), { ...LATER_TABLES, ...expected.tables });
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
    const { memories, counts } = expected.facts;
    assert.deepEqual(
      [rows['memory'], rows['link'], rows['standard'], complete],
      [Object.keys(memories).length, expected.tables['memory_links'], 3, true],
    );
    assert.equal(operations, counts.commits);
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
    await one.run(updating(edited, { content: 'written by a later release' }));
    await one.run(deleting(removed));
    await one.run(linking(linked, edited));
    const { stored } = (await one.run(storing({ title: 'New in an old database' }))) as {
      readonly stored: { readonly id: string };
    };
    const now = await facts();
    const before = memories[edited] as { readonly version: number };
    const after = now.memories[edited] as { readonly version: number; readonly content: string };
    assert.deepEqual([after.content, after.version], ['written by a later release', before.version + 1]);
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
    assert.ok(known.ok && Object.keys(expected.facts.log).some((opId) => opId.startsWith(known.value.self)));
  });
});

describe('the kept log', () => {
  it('is taken by a new node, which then has all of it', async () => {
    const fresh = formatNode(
      temporaryFolder('format'),
      'fresh.db',
      'fresh',
      parseRfc3339Ms(expected.ended_at)!,
    );
    await fresh.take(keptLog());
    const there = JSON.parse(
      JSON.stringify(await databaseFacts(fresh.store, asSqlite(fresh.db))),
    ) as DatabaseFacts;
    const { facts } = expected;
    assert.deepEqual(logged(there), logged(facts));
    assert.deepEqual(replicated(there.memories), replicated(facts.memories));
    assert.deepEqual(there.links, facts.links);
    assert.deepEqual(there.records, facts.records);
    assert.deepEqual(Object.keys(there.tombstones), Object.keys(facts.tombstones));
    assert.deepEqual(there.agents, facts.agents);
    assert.deepEqual(fresh.audit(), []);
    await fresh.store.close();
  });
});

/** What was written, and why it has no effect; that a node may not hold something has two names. */
const logged = ({ log }: DatabaseFacts) =>
  Object.fromEntries(
    Object.entries(log).map(([opId, { parked, payload, ...header }]) => {
      const isOut = parked === 'elsewhere' || (parked === null && !payload);
      return [opId, { ...header, parked: isOut ? 'out_of_scope' : parked }];
    }),
  );

/** How often a row was read is each node's own. */
const replicated = (memories: DatabaseFacts['memories']) =>
  Object.entries(memories as Record<string, Record<string, unknown>>).map(
    ([id, { access_count: _count, last_accessed_at: _at, ...row }]) => [id, row],
  );

const lacking = (wanted: readonly string[], there: readonly (string | null)[]) =>
  wanted.filter((each) => !there.includes(each));

/** Ids of memories by their titles; the first that has one. */
function idsOf(memories: DatabaseFacts['memories'], titles: readonly string[]): [string, string, string] {
  const rows = Object.entries(memories) as [string, { readonly title: string }][];
  return titles.map((title) => rows.find(([, row]) => row.title === title)![0]) as [string, string, string];
}

/** Everything is there as it was: by parts, so that a difference is named. */
function assertShown(shown: DatabaseFacts, facts: DatabaseFacts): void {
  const plain = JSON.parse(JSON.stringify(shown)) as DatabaseFacts;
  for (const name of Object.keys(facts) as (keyof DatabaseFacts)[])
    assert.deepEqual(plain[name], facts[name], name);
}

/** A scrub found nothing to repair. */
function assertSound(report: ScrubReport): void {
  const { repaired, damaged_operations, lost_count, digests } = report;
  assert.deepEqual(
    { repaired, damaged_operations, lost_count, digests },
    { repaired: [], damaged_operations: 0, lost_count: 0, digests: [] },
  );
}
