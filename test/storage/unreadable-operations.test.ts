import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemCrypto } from '../../node/seams.js';
import { Kinds } from '../../protocol/kinds/kinds.js';
import { headerHash } from '../../protocol/log/operation-log.js';
import { KINDS } from '../../protocol/release.js';
import { aMemory, storing } from '../support/memories.js';
import { replica, upgradedTo } from '../support/replicas.js';
import { aSticker, MORE_KINDS, stickerKind, stickerKindOf } from '../support/throwaway-kinds.js';
import { apply, recordCase, repair, rowOf, START_MS } from './kind-cases.js';

describe('an operation whose effect this release cannot read', () => {
  const colour = (name: string) => aSticker({ colour: name });

  it('leaves the row that it made, and is named', async () => {
    const later = new Kinds([...KINDS.all, stickerKindOf(['plain', 'red', 'ultraviolet'])]);
    const newer = replica('a', START_MS, undefined, later);
    const made = recordCase(stickerKind, { id: 's', namespace: 'team' }, () => colour('ultraviolet'));
    await made.put(newer, 1);
    const held = newer.db.prepare('SELECT * FROM records').all();
    const older = upgradedTo(MORE_KINDS, newer);
    const subject = { kind: 'sticker', id: 's' };
    for (const dryRun of [true, false]) {
      const done = await repair(older, { subjects: [subject], dryRun });
      const place = { origin: 'peer-a/epocha', seq: 1, kind: 'sticker', subject: 's', namespace: 'team' };
      assert.deepEqual([done.unreadable, done.repaired, done.sound], [[place], [], 0]);
      assert.deepEqual(older.db.prepare('SELECT * FROM records').all(), held);
    }
    // A later one that can be read does not need it.
    const after = recordCase(stickerKind, { id: 's', namespace: 'team' }, () => colour('red'));
    const seen = { 'peer-a/epocha': 1 };
    older.db.exec('DELETE FROM records');
    apply(older, {
      ...{ mutation: 'write', ...subject, word: 'sticker.put', namespace: 'team', seen, before: null },
      image: colour('red'),
    });
    const done = await repair(older, {
      subjects: [subject],
      recount: [{ kind: 'sticker', namespace: 'team' }],
    });
    assert.deepEqual([done.unreadable, rowOf(older, after.kind, 's')?.image], [[], colour('red')]);
  });

  it('is kept for a release that can, where it comes from another node', async () => {
    const later = new Kinds([...KINDS.all, stickerKindOf(['plain', 'ultraviolet'])]);
    const newer = replica('a', START_MS, undefined, later);
    await recordCase(stickerKind, { id: 's', namespace: 'team' }, () => colour('ultraviolet')).put(newer, 1);
    const operations = await newer.read();
    const oldest = replica('b', START_MS);
    const older = replica('c', START_MS, undefined, MORE_KINDS);
    const op_id = 'peer-a/epocha/1';
    assert.deepEqual((await oldest.apply(operations)).parked, [{ op_id, reason: 'unknown_kind' }]);
    assert.deepEqual((await older.apply(operations)).parked, [{ op_id, reason: 'invalid' }]);
    for (const held of [oldest, older]) {
      const upgraded = upgradedTo(later, held);
      await upgraded.run({ kind: 'retry-parked', after: 0, skip: 0, limit: 10 });
      assert.equal(rowOf(upgraded, later.of('sticker'), 's')?.namespace, 'team');
      assert.deepEqual(upgraded.audit(), []);
    }
  });

  it('leaves a memory as it is', async () => {
    const one = replica('a', START_MS);
    const memory = aMemory({ namespace: 'team' });
    await one.run(storing(memory));
    const [operation] = await one.read();
    const payload = operation!.payload!.replace('"tier":"mid"', '"tier":"eternal"');
    assert.notEqual(payload, operation!.payload);
    const payloadHash = systemCrypto.sha256Hex(payload);
    one.db.prepare('UPDATE operations SET payload = ?, payload_hash = ?').run(payload, payloadHash);
    const head = headerHash({ ...operation!, payloadHash }, systemCrypto);
    one.db.prepare('UPDATE log_state SET chain_head = ?').run(head);
    const before = await one.state();
    const subject = { kind: 'memory', id: memory.id };
    const done = await repair(one, { subjects: [subject], recount: [{ kind: 'memory', namespace: 'team' }] });
    const place = { origin: 'peer-a/epocha', seq: 1, kind: 'memory', subject: memory.id, namespace: 'team' };
    assert.deepEqual([done.unreadable, done.repaired, done.recounted, done.sound], [[place], [], [], 0]);
    assert.deepEqual(await one.state(), before);
  });
});
