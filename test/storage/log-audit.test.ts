import assert from 'node:assert/strict';
import { it } from 'node:test';
import { storing, updating, OPERATOR as viewer } from '../support/memories.js';
import { type Replica, replica } from '../support/replicas.js';

const NOW_MS = Date.UTC(2026, 10, 21);
const created_at = new Date(NOW_MS).toISOString();

/** A replica with a memory of two versions, one that is gone, a link, a link that is gone, and a standard. */
async function audited(): Promise<Replica> {
  const [one, other] = [replica('one', NOW_MS), replica('other', NOW_MS)];
  for (const id of ['kept', 'gone']) await one.run(storing({ id, title: id }));
  const ends = { source_id: 'kept', target_id: 'gone' };
  const unset = { valid_from: null, valid_until: null, observed_by: null, signature: null, signed_at: null };
  const later = {
    public_key: null,
    retired_at: null,
    believed_until: null,
    believed_from: null,
    earlier: [],
  };
  for (const relation of ['related_to', 'supersedes'] as const) {
    const link = { ...ends, relation, created_at, ...unset, attest_level: 'unsigned', ...later, rest: {} };
    await one.run({ kind: 'import-link', link });
  }
  await one.run({ kind: 'drop-links', sourceId: 'kept', targetId: 'gone', relation: 'supersedes', viewer });
  await one.run({ kind: 'set-standard', namespace: 'team', standardId: null, parent: 'global', viewer });
  await other.apply(await one.read());
  await one.run(updating('kept', { content: 'by one' }));
  await other.run(updating('kept', { content: 'by the other' }));
  await one.run({ kind: 'archive-memories', ids: ['gone'], reason: 'archive', viewer });
  await one.apply(await other.read());
  return one;
}

const LINK = /^link kept\|gone\|related_to/;

/** What is done to the rows, and the problems that the audit has to name. */
const DAMAGE: readonly (readonly [sql: string, ...problems: readonly RegExp[]])[] = [
  ["UPDATE memories SET content = 'else'", /^memory kept is \{/, /^quota/, /^the digest of memory/],
  ["UPDATE memories SET seen = '{}'", /^memory kept is stamped/],
  ["UPDATE memory_links SET valid_until = '2026'", LINK, /^the digest of link/],
  ["UPDATE memory_links SET hlc = 'else'", /^link .* is stamped/],
  ['DELETE FROM memory_links', /^link .* has operations and no row/, /^the digest of link/],
  ["UPDATE records SET payload = '{}'", /^standard team is \{/, /^the digest of standard/],
  ["UPDATE records SET namespace = 'else'", /^standard team is stamped/, /^the digest/, /and no digest$/],
  [
    "UPDATE records SET kind = 'lamp'",
    /^standard .* no row/,
    /^lamp team has a row/,
    /^the digest/,
    /no digest$/,
  ],
  ["UPDATE tombstones SET facts = '{}' WHERE kind = 'memory'", /^the tombstone of memory gone says/],
  ["UPDATE tombstones SET reason = 'else' WHERE kind = 'link'", /^the tombstone of link .* says/],
  ["DELETE FROM tombstones WHERE kind = 'link'", /^link .* was removed and has no tombstone/],
  [
    "UPDATE tombstones SET id = 'kept' WHERE kind = 'memory'",
    /^memory gone was removed and has no tombstone/,
    /^memory kept has a tombstone and was not removed/,
  ],
  ['DELETE FROM siblings', /^memory kept has siblings {2}and not peer-/],
  ["UPDATE siblings SET subject = 'else'", /^memory kept has siblings/, /^memory else has siblings/],
  ["UPDATE namespace_digests SET entries = 7 WHERE kind = 'standard'", /^the digest of standard/],
  ["DELETE FROM namespace_digests WHERE kind = 'link'", /^link in global has rows and no digest/],
  ['UPDATE agent_quotas SET current_storage_bytes = 1', /^quota of .* says 1 bytes/],
  ['DELETE FROM agent_quotas', /has rows and no quota$/],
  ["UPDATE archived_memories SET title = 'else'", /^the archive of gone differs/],
  ['DELETE FROM memories_fts', /^0 rows in the full text/],
  ["UPDATE origins SET head = 'else'", /^origin peer-other.* ends elsewhere/],
  ['UPDATE log_state SET commit_sequence = 1', /^log_state is at 1/],
  [
    "UPDATE operations SET kind = 'lamp.put' WHERE kind = 'standard.put'",
    /broken|elsewhere/,
    /which means nothing/,
  ],
];

it('the audit finds nothing in a whole database, and every damage to its rows', async () => {
  const { db, audit, store } = await audited();
  assert.deepEqual(audit(), []);
  for (const [sql, ...expected] of DAMAGE) {
    db.exec('SAVEPOINT whole');
    assert.ok(db.prepare(sql).run().changes > 0, sql);
    const found = audit();
    db.exec('ROLLBACK TO whole; RELEASE whole');
    for (const problem of expected) {
      assert.ok(
        found.some((line) => problem.test(line)),
        `${sql}: ${problem} is not in ${found.join('\n')}`,
      );
    }
  }
  assert.deepEqual(audit(), []);
  await store.close();
});
