import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { problemsOf } from '../../actors/mesh/scrub-duty.js';
import { detailsOf } from '../../protocol/base/result.js';
import { operationId } from '../../protocol/log/operation-log.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import type { Command } from '../../protocol/release.js';
import {
  type RepairOutcome,
  type RepairSubjects,
  repairOf,
} from '../../protocol/replication/repair-subjects.js';
import { aMemory, deleting, linking, OPERATOR, storing, updating } from '../support/memories.js';
import { type Replica, replica, verified } from '../support/replicas.js';
import { scrubbed } from '../support/scrubbed.js';
import { ofLink, ofMemories, ofMemory, rowsIn } from '../support/subjects.js';

const START_MS = 1_772_000_000_000;

const repair = async (one: Replica, request: Partial<RepairSubjects>) =>
  (await one.run(repairOf(request))) as RepairOutcome;

const marked = ({ db }: Replica) => db.prepare('SELECT id FROM suspects ORDER BY 1').pluck().all();

/** A command that meets a damaged row changes nothing but that the row is marked. */
async function refused(one: Replica, command: Command, id: string): Promise<void> {
  const before = [await one.state(), (await one.read()).length];
  const result = await one.store.execute(command);
  assert.ok(!result.ok, JSON.stringify(result));
  assert.deepEqual(
    [result.error.code, detailsOf(result.error, 'DATA_DAMAGED')?.damaged_id],
    ['DATA_DAMAGED', id],
  );
  assert.ok(marked(one).includes(id));
  assert.deepEqual([await one.state(), (await one.read()).length], before);
}

function audited(one: Replica): string[] {
  try {
    return one.audit();
  } catch (error) {
    return [String(error)];
  }
}

/** Everything that a repair has to bring back, but for the number of a row. */
const facts = async (one: Replica) => ({
  state: await one.state(),
  audit: audited(one),
  rows: one.db
    .prepare(
      `SELECT id, tags, seen, hex(digest), (SELECT count(*) FROM memories_fts_docsize d WHERE d.id = rid) AS indexed
       FROM memories ORDER BY id`,
    )
    .all(),
});

/** A replica with three memories, one of them edited, one deleted, and a link. */
async function furnished() {
  const one = replica('a', START_MS);
  const ids: string[] = [];
  for (const title of ['first', 'second', 'third', 'gone']) {
    const memory = aMemory({ title, content: `the content of ${title}`, namespace: 'team' });
    ids.push(memory.id);
    await one.run(storing(memory));
  }
  await one.run(updating(ids[0]!, { content: 'the content of first, edited' }));
  await one.run(deleting(ids[3]!));
  await one.run(linking(ids[0]!, ids[1]!));
  assert.deepEqual(one.audit(), []);
  return { one, ids, link: `${ids[0]}|${ids[1]}|related_to` };
}

describe('a row that is not what the log says', () => {
  const damages: readonly {
    name: string;
    damage: (one: Replica, id: string) => void;
    problem: string;
  }[] = [
    {
      name: 'a flipped byte in the content',
      damage: ({ db }, id) =>
        db.prepare("UPDATE memories SET content = 'X' || substr(content, 2) WHERE id = ?").run(id),
      problem: 'damaged',
    },
    {
      name: 'a flipped byte in the title',
      damage: ({ db }, id) => db.prepare("UPDATE memories SET title = 'Xirst' WHERE id = ?").run(id),
      problem: 'damaged',
    },
    {
      name: 'a flipped byte in the digest',
      damage: ({ db }, id) => db.prepare('UPDATE memories SET digest = zeroblob(32) WHERE id = ?').run(id),
      problem: 'damaged',
    },
    {
      name: 'another owner',
      damage: ({ db }, id) =>
        db.prepare(`UPDATE memories SET metadata = '{"agent_id":"ai:thief"}' WHERE id = ?`).run(id),
      problem: 'damaged',
    },
    {
      name: 'a vector of versions that is another',
      damage: ({ db }, id) => db.prepare("UPDATE memories SET seen = '{}' WHERE id = ?").run(id),
      problem: 'damaged',
    },
    {
      name: 'a column that cannot be read any more',
      damage: ({ db }, id) => db.prepare("UPDATE memories SET tags = '[' WHERE id = ?").run(id),
      problem: 'damaged',
    },
    {
      name: 'a row that is gone',
      damage: ({ db }, id) => db.prepare('DELETE FROM memories WHERE id = ?').run(id),
      problem: 'missing',
    },
    {
      name: 'an entry of the full text that is gone',
      damage: ({ db }, id) =>
        db.prepare('DELETE FROM memories_fts WHERE rowid = (SELECT rid FROM memories WHERE id = ?)').run(id),
      problem: 'damaged',
    },
  ];
  for (const { name, damage, problem } of damages) {
    it(`is made anew from the log: ${name}`, async () => {
      const { one, ids } = await furnished();
      const before = await facts(one);
      damage(one, ids[0]!);
      assert.notDeepEqual(await facts(one), before);
      const found = await repair(one, { subjects: ofMemories(ids), dryRun: true, recount: rowsIn('team') });
      assert.deepEqual(found.repaired, [{ kind: 'memory', subject: ids[0], namespace: 'team', problem }]);
      assert.notDeepEqual(await facts(one), before);
      const done = await repair(one, { subjects: ofMemories(ids), recount: rowsIn('team') });
      assert.deepEqual(done.repaired, found.repaired);
      assert.deepEqual(await facts(one), before);
      const again = await repair(one, { subjects: ofMemories(ids), recount: rowsIn('team') });
      assert.deepEqual([again.repaired, again.recounted, again.sound], [[], [], 4]);
      // What was made anew is found by its words again.
      const words = one.db
        .prepare("SELECT count(*) AS n FROM memories_fts WHERE memories_fts MATCH 'edited'")
        .get();
      assert.deepEqual(words, { n: 1 });
    });
  }

  it('goes when no operation made it', async () => {
    const { one, ids } = await furnished();
    const before = await one.state();
    one.db
      .prepare(
        `INSERT INTO memories (id, tier, namespace, title, content, created_at, updated_at, ns_id, digest)
         SELECT 'nobody-made-it', tier, namespace, 'smuggled', content, created_at, updated_at, ns_id, digest
         FROM memories WHERE id = ?`,
      )
      .run(ids[1]);
    const done = await repair(one, { subjects: [ofMemory('nobody-made-it')], recount: rowsIn('team') });
    const surplus = { kind: 'memory', subject: 'nobody-made-it', namespace: 'team', problem: 'surplus' };
    assert.deepEqual(done.repaired, [surplus]);
    assert.deepEqual([await one.state(), one.audit()], [before, []]);
  });

  it('goes when it was deleted', async () => {
    const { one, ids } = await furnished();
    const before = await one.state();
    const gone = ids[3]!;
    one.db.prepare('DELETE FROM tombstones WHERE id = ?').run(gone);
    one.db
      .prepare(
        `INSERT INTO memories (id, tier, namespace, title, content, created_at, updated_at, ns_id, digest)
         SELECT ?, tier, namespace, 'gone', content, created_at, updated_at, ns_id, digest FROM memories WHERE id = ?`,
      )
      .run(gone, ids[1]);
    const done = await repair(one, { subjects: [ofMemory(gone)], recount: rowsIn('team') });
    assert.equal(done.repaired[0]!.problem, 'surplus');
    assert.deepEqual([await one.state(), one.audit()], [before, []]);
    assert.equal(one.db.prepare('SELECT count(*) AS n FROM tombstones').pluck().get(), 1);
  });

  it('is repaired for links too', async () => {
    const { one, link } = await furnished();
    const before = await one.state();
    one.db.prepare("UPDATE memory_links SET attest_level = 'self_signed'").run();
    assert.equal((await repair(one, { subjects: [ofLink(link)] })).repaired[0]!.problem, 'damaged');
    assert.deepEqual([await one.state(), one.audit()], [before, []]);
    one.db.prepare('DELETE FROM memory_links').run();
    assert.equal((await repair(one, { subjects: [ofLink(link)] })).repaired[0]!.problem, 'missing');
    assert.deepEqual([await one.state(), one.audit()], [before, []]);
    one.db
      .prepare(
        `INSERT INTO memory_links (source_id, target_id, relation, created_at, namespace, digest)
         SELECT target_id, source_id, relation, created_at, namespace, digest FROM memory_links`,
      )
      .run();
    const surplus = link.split('|').slice(0, 2).reverse().concat('related_to').join('|');
    const done = await repair(one, { subjects: [ofLink(surplus)], recount: rowsIn('team') });
    assert.equal(done.repaired[0]!.problem, 'surplus');
    assert.deepEqual([await one.state(), one.audit()], [before, []]);
  });

  it('is a digest that is not the sum of its rows', async () => {
    const { one } = await furnished();
    one.db.prepare("UPDATE namespace_digests SET digest = zeroblob(32) WHERE namespace = 'team'").run();
    assert.notDeepEqual(one.audit(), []);
    assert.deepEqual((await repair(one, { recount: rowsIn('team', 'nowhere') })).recounted, rowsIn('team'));
    assert.deepEqual(one.audit(), []);
  });

  it('keeps concurrent versions', async () => {
    const { one, ids } = await furnished();
    const other = replica('b', START_MS);
    await other.apply(await one.read());
    await one.run(updating(ids[1]!, { content: 'here' }));
    await other.run(updating(ids[1]!, { content: 'there' }));
    await one.apply(await other.read());
    const before = await one.state();
    one.db.prepare('DELETE FROM siblings').run();
    one.db.prepare('UPDATE memories SET version = 99 WHERE id = ?').run(ids[1]);
    assert.equal((await repair(one, { subjects: [ofMemory(ids[1]!)] })).repaired.length, 1);
    assert.deepEqual([await one.state(), one.audit()], [before, []]);
    assert.equal(one.db.prepare('SELECT count(*) FROM siblings').pluck().get(), 2);
  });

  it('counts for the right namespace again when that lost its name, and is made anew once', async () => {
    const { one, ids } = await furnished();
    one.db.prepare("UPDATE namespaces SET name = 'tean' WHERE name = 'team'").run();
    assert.equal((await repair(one, { subjects: ofMemories(ids) })).repaired.length, 3);
    assert.deepEqual((await repair(one, { subjects: ofMemories(ids) })).repaired, []);
    assert.deepEqual(one.audit(), []);
  });
});

describe('an operation that the log lost', () => {
  async function twoAlike() {
    const { one, ids } = await furnished();
    const other = replica('b', START_MS);
    await other.apply(await one.read());
    return { one, other, ids };
  }
  const at = async (one: Replica, seq: number) =>
    (await one.read()).find((operation) => operation.seq === seq) as WireOperation;

  it('is named when a row needs it, and taken back by its hash alone', async () => {
    const { one, other, ids } = await twoAlike();
    const before = await other.state();
    other.db.prepare("UPDATE operations SET payload = 'X' || substr(payload, 2) WHERE origin_seq = 5").run();
    other.db.prepare("UPDATE memories SET content = 'damaged' WHERE id = ?").run(ids[0]);
    const found = await repair(other, { subjects: [ofMemory(ids[0]!)] });
    const origin = 'peer-a/epocha';
    assert.deepEqual(found.missing, [{ origin, seq: 5, kind: 'memory', subject: ids[0], namespace: 'team' }]);
    assert.deepEqual(found.repaired, []);
    const genuine = await at(one, 5);
    const wrong = [
      { ...genuine, subject: ids[1]! },
      { ...genuine, seq: 4 },
      { ...genuine, origin: 'peer-a/other' },
    ];
    for (const each of wrong) {
      const refused = await repair(other, { operations: [verified(each)] });
      assert.deepEqual([refused.restored, refused.refused], [0, 1]);
    }
    const done = await repair(other, { operations: [verified(genuine)] });
    assert.deepEqual([done.restored, done.repaired.length], [1, 1]);
    assert.deepEqual([await other.state(), other.audit()], [before, []]);
  });

  it('does not matter when a later one stands', async () => {
    const { other, ids } = await twoAlike();
    other.db.prepare('UPDATE operations SET payload = NULL WHERE origin_seq = 1').run();
    const found = await repair(other, { subjects: ofMemories(ids) });
    assert.deepEqual([found.missing, found.sound], [[], 4]);
  });

  it('comes back when its whole row is gone', async () => {
    const { one, other } = await twoAlike();
    const before = await other.state();
    for (const seq of [2, 7]) {
      other.db.prepare('DELETE FROM operations WHERE origin_seq = ?').run(seq);
      assert.notDeepEqual(other.audit(), []);
      const done = await repair(other, { operations: [verified(await at(one, seq))] });
      assert.equal(done.restored, 1);
      assert.deepEqual([await other.state(), other.audit()], [before, []]);
    }
  });

  it('that made a row is asked for, and the row left alone, when the log has lost it', async () => {
    const { one, other, ids } = await twoAlike();
    const before = await other.state();
    const last = other.db
      .prepare('SELECT origin_seq FROM memories WHERE id = ?')
      .pluck()
      .get(ids[0]) as number;
    other.db.prepare('DELETE FROM operations WHERE origin_seq = ?').run(last);
    const found = await repair(other, { subjects: ofMemories(ids) });
    assert.deepEqual(found.repaired, []);
    assert.deepEqual(
      found.missing.map(({ seq, subject }) => [seq, subject]),
      [[last, ids[0]]],
    );
    assert.deepEqual(await other.state(), before);
    await repair(other, { operations: [verified(await at(one, last))] });
    assert.deepEqual([await other.state(), other.audit()], [before, []]);
  });

  it('comes back when its header is damaged', async () => {
    const { one, other } = await twoAlike();
    other.db.prepare("UPDATE operations SET subject = 'other', namespace = 'x' WHERE origin_seq = 3").run();
    await repair(other, { operations: [verified(await at(one, 3))] });
    assert.deepEqual(other.audit(), []);
  });

  const strays = {
    'another number': 'UPDATE operations SET origin_seq = 99 WHERE origin_seq = 3',
    'another origin': "UPDATE operations SET origin = 'peer-c/epocha' WHERE origin_seq = 3",
  };
  for (const [name, sql] of Object.entries(strays)) {
    it(`is mended where it is when it stands under ${name}`, async () => {
      const { one, other } = await twoAlike();
      other.db.prepare(sql).run();
      await repair(other, { operations: [verified(await at(one, 3))] });
      assert.deepEqual([await other.read(), other.audit()], [await one.read(), []]);
    });
  }

  it('gets the next position where none is free, and others go on behind it', async () => {
    const { one, other } = await twoAlike();
    other.db.prepare("UPDATE operations SET origin_seq = 99, hlc = 'none' WHERE origin_seq = 3").run();
    await repair(other, { operations: [verified(await at(one, 3))] });
    assert.equal((await one.read()).length, (await other.read()).filter(({ seq }) => seq < 99).length);
    const memory = aMemory({ title: 'later', content: 'later', namespace: 'team' });
    await other.run(storing(memory));
    await one.run(storing(aMemory({ title: 'of a', content: 'of a', namespace: 'team' })));
    const more = await one.read({ 'peer-a/epocha': 7 });
    assert.equal((await other.apply(more)).applied, more.length);
  });

  it('hinders no other when its header cannot be read, and comes back', async () => {
    const { one, other } = await twoAlike();
    const before = await other.read();
    other.db.prepare("UPDATE operations SET seen = '{' WHERE origin_seq = 3").run();
    assert.equal((await other.read()).length, before.length);
    await repair(other, { operations: [verified(await at(one, 3))] });
    assert.deepEqual([await other.read(), other.audit()], [before, []]);
  });
});

describe('a scope', () => {
  it('that is widened lets stubs have their effect', async () => {
    const { one, ids } = await furnished();
    const other = replica('b', START_MS);
    const operations = await one.read();
    await other.apply(operations.map((each) => ({ ...each, payload: null })));
    assert.equal((await repair(other, { subjects: ofMemories(ids) })).missing.length, 4);
    const done = await repair(other, { operations: operations.map(verified) });
    assert.equal(done.restored, operations.length);
    assert.deepEqual(await other.state(), await one.state());
    assert.deepEqual(other.audit(), []);
  });

  it('that a memory leaves has it removed, and has it back with it', async () => {
    const { one, ids } = await furnished();
    const other = replica('b', START_MS);
    const [id] = ids as [string];
    await other.apply(await one.read());
    await one.run(updating(id, { namespace: 'secret' }));
    const have = { 'peer-a/epocha': 7 };
    const moved = (await one.read(have)).map((each) => ({ ...each, payload: null }));
    await other.apply(moved);
    const ask = await repair(other, { subjects: [ofMemory(id)] });
    const place = { origin: 'peer-a/epocha', seq: 8 };
    assert.deepEqual(ask.missing, [{ ...place, kind: 'memory', subject: id, namespace: 'secret' }]);
    const withheld = ask.missing.map(({ origin, seq }) => operationId(origin, seq));
    const done = await repair(other, { subjects: [ofMemory(id)], withheld });
    assert.equal(done.repaired[0]!.problem, 'elsewhere');
    assert.equal(other.db.prepare('SELECT count(*) FROM memories WHERE id = ?').pluck().get(id), 0);
    assert.deepEqual(other.audit(), []);
    // Nobody brings it back by looking again.
    assert.deepEqual((await repair(other, { subjects: [ofMemory(id)] })).repaired, []);
    assert.deepEqual((await repair(other, { subjects: [ofMemory(id)], withheld })).repaired, []);
    await one.run(updating(id, { namespace: 'team' }));
    await other.apply(await one.read({ 'peer-a/epocha': 8 }));
    assert.deepEqual(await other.state(), await one.state());
    assert.deepEqual(other.audit(), []);
  });
});

describe('a write on top of a damaged row', () => {
  const damages = {
    'a flipped byte in the content': "UPDATE memories SET content = 'X' || substr(content, 2) WHERE id = ?",
    'another owner': `UPDATE memories SET metadata = '{"agent_id":"ai:thief"}' WHERE id = ?`,
    'a version that it has not seen': `UPDATE memories SET seen = '{"peer-a/epocha":99}' WHERE id = ?`,
    'a later stamp': "UPDATE memories SET hlc = '9' || substr(hlc, 2) WHERE id = ?",
    'a number of another operation': 'UPDATE memories SET origin_seq = 2 WHERE id = ?',
    'metadata that is none': "UPDATE memories SET metadata = 'null' WHERE id = ?",
    'tags that cannot be read': "UPDATE memories SET tags = '[' WHERE id = ?",
  };
  const patch = { priority: 9 };
  for (const [name, sql] of Object.entries(damages)) {
    it(`is refused, and after the repair builds on what was written: ${name}`, async () => {
      const { one, ids } = await furnished();
      const two = replica('b', START_MS);
      await two.apply(await one.read());
      one.db.prepare(sql).run(ids[0]);
      await refused(one, updating(ids[0]!, patch), ids[0]!);
      await scrubbed(one);
      await one.run(updating(ids[0]!, patch));
      await two.apply(await one.read());
      assert.deepEqual([await one.state(), one.audit()], [await two.state(), []]);
      const row = two.db.prepare('SELECT content, priority, metadata FROM memories WHERE id = ?').get(ids[0]);
      const metadata = '{"agent_id":"ai:writer","attest_level":"claimed"}';
      assert.deepEqual(row, { content: 'the content of first, edited', priority: 9, metadata });
    });

    it(`of another node is refused as a whole, and merged after the repair: ${name}`, async () => {
      const { one, ids } = await furnished();
      const two = replica('b', START_MS);
      await two.apply(await one.read());
      await two.run(updating(ids[1]!, patch));
      await two.run(updating(ids[0]!, patch));
      one.db.prepare(sql).run(ids[0]);
      const batch = { kind: 'apply-operations', from: 'peer-b', heads: [], nonce: null } as const;
      const operations = (await two.read()).map(verified);
      await refused(one, { ...batch, operations }, ids[0]!);
      await scrubbed(one);
      await one.apply(await two.read());
      assert.deepEqual([await one.state(), one.audit()], [await two.state(), []]);
    });

    it(`that removes it is refused, and after the repair removes what was written: ${name}`, async () => {
      const { one, ids } = await furnished();
      one.db.prepare(sql).run(ids[0]);
      await refused(one, deleting(ids[0]!), ids[0]!);
      await scrubbed(one);
      await one.run(deleting(ids[0]!));
      assert.deepEqual(one.audit(), []);
      const kept = one.db.prepare('SELECT content, tags FROM archived_memories WHERE id = ?').get(ids[0]);
      assert.deepEqual(kept, { content: 'the content of first, edited', tags: '[]' });
    });
  }

  for (const [type, value] of Object.entries({ text: "'of another type'", nothing: 'NULL', number: '7' })) {
    it(`is refused for a digest that is no digest any more, until the repair: ${type}`, async () => {
      const { one, ids } = await furnished();
      one.db.prepare(`UPDATE memories SET digest = ${value} WHERE id = ?`).run(ids[0]);
      await refused(one, updating(ids[0]!, patch), ids[0]!);
      await scrubbed(one);
      await one.run(updating(ids[0]!, patch));
      assert.deepEqual(one.audit(), []);
    });
  }

  it('costs its neighbours in the batch nothing', async () => {
    const { one, ids } = await furnished();
    one.db.prepare("UPDATE memories SET content = 'damaged' WHERE id = ?").run(ids[1]);
    const results = await Promise.all(ids.slice(0, 3).map((id) => one.store.execute(updating(id, patch))));
    assert.deepEqual(
      results.map((result) => (result.ok ? 'ok' : result.error.code)),
      ['ok', 'DATA_DAMAGED', 'ok'],
    );
    assert.deepEqual(marked(one), [ids[1]]);
  });

  it('is refused for every damaged row of a command, and then removes what was written', async () => {
    const one = replica('a', START_MS);
    const two = replica('b', START_MS);
    const ids: string[] = [];
    for (let n = 0; n < 10; n += 1) {
      const memory = aMemory({ title: `row ${n}`, content: `content ${n}`, namespace: 'team' });
      ids.push(memory.id);
      await one.run(storing(memory));
    }
    one.db.prepare("UPDATE memories SET content = 'damaged' WHERE rid % 2 = 0").run();
    const archiving = { kind: 'archive-memories', ids, reason: 'test', viewer: OPERATOR } as const;
    await refused(one, archiving, ids[1]!);
    await scrubbed(one);
    await one.run(archiving);
    assert.deepEqual(one.audit(), []);
    const kept = one.db.prepare("SELECT count(*) FROM archived_memories WHERE content <> 'damaged'").pluck();
    assert.equal(kept.get(), 10);
    await two.apply(await one.read());
    assert.deepEqual(await two.state(), await one.state());
  });

  const headers = {
    'what it had seen': `UPDATE operations SET seen = '{"peer-a/epocha":1,"peer-b/epochb":9}' WHERE origin_seq = 2`,
    'its stamp': "UPDATE operations SET hlc = '9' || substr(hlc, 2) WHERE origin_seq = 2",
    'its kind': "UPDATE operations SET kind = 'none' WHERE origin_seq = 2",
  };
  for (const [name, sql] of Object.entries(headers)) {
    it(`does not take from the log what its chain does not vouch for: ${name}`, async () => {
      const [one, two] = [replica('a', START_MS), replica('b', START_MS)];
      const memory = aMemory({ title: 'contended', content: 'one', namespace: 'team' });
      await one.run(storing(memory));
      await two.apply(await one.read());
      await one.run(updating(memory.id, { content: 'two' }));
      const genuine = await one.read();
      one.db.prepare(sql).run();
      two.nowMs += 1000;
      await two.run(updating(memory.id, { content: 'meanwhile, elsewhere' }));
      one.nowMs += 2000;
      await one.run(updating(memory.id, { priority: 9 }));
      const sent = (await one.read()).filter(({ seq }) => seq > 2);
      assert.deepEqual(sent[0]!.seen, { 'peer-a/epocha': 2 });
      // The other edit is named as lost, and not gone without a word.
      await two.apply([genuine[1]!, ...sent]);
      const lost = two.db.prepare('SELECT origin FROM conflicts').pluck().all();
      assert.ok(lost.includes('peer-b/epochb'));
      assert.deepEqual((await repair(one, { subjects: [ofMemory(memory.id)] })).repaired, []);
      await repair(one, { operations: [verified(genuine[1]!)] });
      assert.deepEqual(
        [(await repair(one, { subjects: [ofMemory(memory.id)] })).sound, one.audit()],
        [1, []],
      );
    });
  }

  it('is refused while no log that can be reached tells what the row was', async () => {
    const { one, ids } = await furnished();
    one.db.prepare("UPDATE memories SET content = 'all that is left' WHERE id = ?").run(ids[0]);
    one.db.prepare('UPDATE operations SET payload = NULL WHERE subject = ?').run(ids[0]);
    await refused(one, updating(ids[0]!, patch), ids[0]!);
    const report = await scrubbed(one);
    assert.equal(report.suspects, 1);
    assert.ok(problemsOf(report) > 0);
    await refused(one, updating(ids[0]!, patch), ids[0]!);
    assert.deepEqual(marked(one), [ids[0]]);
  });

  it('takes the row from a peer where the own log lost it', async () => {
    const { one, ids } = await furnished();
    const two = replica('b', START_MS);
    await two.apply(await one.read());
    one.db.prepare("UPDATE memories SET content = 'all that is left' WHERE id = ?").run(ids[0]);
    one.db.prepare('UPDATE operations SET payload = NULL WHERE subject = ?').run(ids[0]);
    await refused(one, updating(ids[0]!, patch), ids[0]!);
    const report = await scrubbed(one, two);
    assert.equal(report.suspects, 0);
    await one.run(updating(ids[0]!, patch));
    await two.apply(await one.read());
    assert.deepEqual([await one.state(), one.audit()], [await two.state(), []]);
  });

  it('takes stamps as they stand where the log lost the operation of the row', async () => {
    const { one, ids } = await furnished();
    const seq = one.db.prepare('SELECT origin_seq FROM memories WHERE id = ?').pluck().get(ids[1]) as number;
    one.db.prepare('DELETE FROM operations WHERE origin_seq = ?').run(seq);
    await one.run(updating(ids[1]!, patch));
    assert.deepEqual((await one.read()).at(-1)?.seen ?? {}, {});
    assert.equal(one.db.prepare('SELECT priority FROM memories WHERE id = ?').pluck().get(ids[1]), 9);
  });

  it('is refused as long as nobody can read the row, and changes nothing', async () => {
    const { one, ids } = await furnished();
    one.db.prepare("UPDATE memories SET tags = '[' WHERE id = ?").run(ids[0]);
    one.db.prepare('UPDATE operations SET payload = NULL WHERE subject = ?').run(ids[0]);
    const before = await one.state();
    await refused(one, updating(ids[0]!, patch), ids[0]!);
    const report = await scrubbed(one);
    assert.equal(report.suspects, 1);
    await refused(one, updating(ids[0]!, patch), ids[0]!);
    assert.deepEqual(await one.state(), before);
  });

  const filter = { namespace: 'team', tier: null, pattern: null, throughRid: null, viewer: OPERATOR };
  const sweeps = {
    'expire-memories': { kind: 'expire-memories', limit: 2, archive: true },
    'forget-memories': { kind: 'forget-memories', filter, limit: 2, archive: true, by: 'ai:tester' },
  } as const;
  for (const [name, sweep] of Object.entries(sweeps)) {
    it(`does not hold up ${name}, which leaves suspects out`, async () => {
      const one = replica('a', START_MS);
      const ids: string[] = [];
      for (const n of [1, 2, 3, 4, 5]) {
        const expires_at = new Date(START_MS + n * 1000).toISOString();
        const memory = aMemory({ title: `row ${n}`, content: 'short-lived', namespace: 'team', expires_at });
        ids.push(memory.id);
        await one.run(storing(memory));
      }
      const lost = ids.slice(0, 2);
      one.db.prepare("UPDATE memories SET tags = '[' WHERE id = ?").run(lost[0]);
      one.db.prepare("UPDATE memories SET content = 'damaged' WHERE id = ?").run(lost[1]);
      if (name === 'expire-memories') one.nowMs += 60_000;
      for (const id of lost) await refused(one, sweep, id);
      assert.equal(((await one.run(sweep)) as { more: boolean }).more, true);
      assert.equal(((await one.run(sweep)) as { more: boolean }).more, false);
      assert.deepEqual(one.db.prepare('SELECT id FROM memories ORDER BY rid').pluck().all(), lost);
      await scrubbed(one);
      await one.run(sweep);
      assert.deepEqual(one.db.prepare('SELECT id FROM memories').pluck().all(), []);
      assert.deepEqual(one.audit(), []);
    });
  }

  it('does not hold up a purge, which leaves suspects out', async () => {
    const { one, ids } = await furnished();
    await one.run(deleting(ids[0]!));
    one.db.prepare("UPDATE tombstones SET hlc = '9' || substr(hlc, 2) WHERE id = ?").run(ids[0]);
    one.nowMs += 60_000;
    const before = new Date(one.nowMs).toISOString();
    const purge = {
      kind: 'purge-archive',
      before,
      ownerId: null,
      reason: 'request',
      limit: 100,
      by: 'ai:tester',
    } as const;
    await refused(one, purge, ids[0]!);
    assert.equal(((await one.run(purge)) as { purged: number }).purged, 1);
    await scrubbed(one);
    assert.equal(((await one.run(purge)) as { purged: number }).purged, 1);
    assert.deepEqual(one.audit(), []);
  });

  it('does not hold up the touches of other rows', async () => {
    const { one, ids } = await furnished();
    const policy = { extendSeconds: { short: null, mid: null, long: null }, promoteAccessCount: 1 };
    one.db.prepare("UPDATE memories SET content = 'damaged' WHERE id = ?").run(ids[0]);
    const touches = ids
      .slice(0, 3)
      .map((id) => ({ id, count: 1, lastAt: new Date(one.nowMs).toISOString() }));
    one.db.prepare("UPDATE memories SET tier = 'mid' WHERE id = ?").run(ids[0]);
    const touch = { kind: 'touch-memories', touches, policy } as const;
    await refused(one, touch, ids[0]!);
    assert.equal(((await one.run(touch)) as { touched: number }).touched, 2);
  });

  it('does not undo to what the log does not say', async () => {
    const { one, ids } = await furnished();
    one.db.prepare("UPDATE operations SET payload = replace(payload, 'content', 'c0ntent')").run();
    const undo = { kind: 'undo-edit', id: ids[0]!, viewer: OPERATOR, dryRun: false, archive: true } as const;
    await assert.rejects(one.run(undo), /CONFLICT/);
  });
});

describe('a tombstone that is not what was written', () => {
  const damages = {
    'what it has seen': `UPDATE tombstones SET seen = '{"peer-a/epocha":2,"peer-b/epochb":9}'`,
    'unreadable, what it has seen': "UPDATE tombstones SET seen = '{'",
    'its stamp': "UPDATE tombstones SET hlc = '9' || substr(hlc, 2)",
    'its word': "UPDATE tombstones SET word = 'expire'",
    'its reason': "UPDATE tombstones SET reason = 'none'",
    'its version': "UPDATE tombstones SET facts = json_set(facts, '$.version', 99)",
    'its title': "UPDATE tombstones SET facts = json_set(facts, '$.title', 'none')",
    'another operation': 'UPDATE tombstones SET origin_seq = 1',
  };
  async function buried() {
    const one = replica('a', START_MS);
    const memory = aMemory({ title: 'gone', content: 'one', namespace: 'team' });
    await one.run(storing(memory));
    await one.run(deleting(memory.id));
    return { one, memory, right: one.db.prepare('SELECT * FROM tombstones').get() };
  }
  for (const [name, sql] of Object.entries(damages)) {
    it(`is found by a scrub, and made anew: ${name}`, async () => {
      const { one, memory, right } = await buried();
      const scrub = { kind: 'scrub-tombstones', after: null, limit: 10 } as const;
      const none = { looked: 1, suspects: [], next: null };
      assert.deepEqual(await one.store.query(scrub), { ok: true, value: none });
      one.db.prepare(sql).run();
      assert.deepEqual(await one.store.query(scrub), {
        ok: true,
        value: { ...none, suspects: [ofMemory(memory.id)] },
      });
      const done = await repair(one, { subjects: [ofMemory(memory.id)] });
      const damaged = { kind: 'memory', subject: memory.id, namespace: 'team', problem: 'damaged' };
      assert.deepEqual(done.repaired, [damaged]);
      assert.deepEqual(one.db.prepare('SELECT * FROM tombstones').get(), right);
      assert.deepEqual((await repair(one, { subjects: [ofMemory(memory.id)] })).repaired, []);
    });
  }

  const ttlSeconds = { short: 60, mid: 60, long: null };
  const builders = {
    'import-memory': ({ id }: { id: string }) =>
      ({
        kind: 'import-memory',
        memory: aMemory({ id, title: 'back', namespace: 'team' }),
        archive: true,
      }) as const,
    'restore-memory': ({ id }: { id: string }) =>
      ({ kind: 'restore-memory', id, viewer: OPERATOR, archive: true, ttlSeconds }) as const,
  };
  for (const [kind, command] of Object.entries(builders)) {
    for (const name of ['what it has seen', 'unreadable, what it has seen', 'its stamp'] as const) {
      it(`is no ground for ${kind}: ${name}`, async () => {
        const { one, memory } = await buried();
        one.db.prepare(damages[name]).run();
        await refused(one, command(memory), memory.id);
        await scrubbed(one);
        await one.run(command(memory));
        assert.deepEqual((await one.read()).at(-1)!.seen, { 'peer-a/epocha': 2 });
        assert.deepEqual(one.audit(), []);
      });
    }
  }

  it('is no ground for what comes from another node', async () => {
    const { one, memory } = await buried();
    const two = replica('b', START_MS + 5000);
    await two.apply((await one.read()).slice(0, 1));
    await two.run(updating(memory.id, { content: 'meanwhile, elsewhere' }));
    one.db.prepare(damages['what it has seen']).run();
    const batch = { kind: 'apply-operations', from: 'peer-b', heads: [], nonce: null } as const;
    const operations = (await two.read({ 'peer-a/epocha': 1 })).map(verified);
    await refused(one, { ...batch, operations }, memory.id);
    await scrubbed(one);
    await one.apply(await two.read({ 'peer-a/epocha': 1 }));
    await two.apply((await one.read()).slice(1, 2));
    assert.deepEqual([await one.state(), one.audit()], [await two.state(), []]);
  });
});
