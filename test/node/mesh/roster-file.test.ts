import assert from 'node:assert/strict';
import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { renewOwnCertificate } from '../../../node/mesh/forming/form.js';
import { RosterFile } from '../../../node/mesh/forming/roster-file.js';
import {
  type RosterStatement,
  type SignedStatement,
  statementBytes,
} from '../../../protocol/peers/roster-statement.js';
import { formed, formingHome } from '../../support/mesh-node.js';

describe('the roster', () => {
  const node = formingHome();
  let roster: RosterFile;
  let own: SignedStatement;
  const signed = (statement: RosterStatement, key = node.folder.authority()!.key): SignedStatement => ({
    statement,
    signature: sign('sha256', statementBytes(statement), createPrivateKey(key)).toString('base64'),
  });

  before(async () => {
    await formed(node);
    roster = new RosterFile(node.folder, node);
    own = roster.read().get(node.identity.peerId)!;
  });

  it('takes a newer statement, and never an older or an equal one', async () => {
    const third = signed({ ...own.statement, url: 'https://new.example:1', serial: 3 });
    assert.deepEqual((await roster.merge([third])).changed, [node.identity.peerId]);
    for (const serial of [1, 2, 3]) {
      const old = signed({ ...own.statement, url: 'https://old.example:1', serial });
      assert.deepEqual(await roster.merge([old]), { changed: [], refused: [] });
    }
    assert.equal(roster.read().get(node.identity.peerId)?.statement.url, 'https://new.example:1');
  });

  it('refuses what is forged, and takes its neighbours', async () => {
    const other = formingHome();
    await formed(other);
    const newer = { ...own.statement, serial: 50 };
    const forged: unknown[] = [
      signed(newer, other.folder.authority()!.key),
      { ...signed(newer), statement: { ...newer, allowed_namespaces: null, url: 'https://evil.example:1' } },
      signed({ ...newer, mesh_id: 'ab'.repeat(32) }),
      signed({ ...newer, peer_id: 'peer-00000000000000aa' }),
      { ...signed(newer), signature: '' },
      { statement: { ...newer, surplus: 1 }, signature: 'x' },
      null,
      'text',
    ];
    const good = signed({ ...own.statement, serial: 60 });
    const made = await roster.merge([...forged, good]);
    assert.equal(made.refused.length, forged.length, JSON.stringify(made));
    assert.deepEqual(made.changed, [node.identity.peerId]);
    assert.equal(roster.read().get(node.identity.peerId)?.statement.serial, 60);
  });

  it('believes no line of its file that the authority has not signed', () => {
    const text = readFileSync(node.folder.rosterPath, 'utf8');
    writeFileSync(node.folder.rosterPath, text.replace('"serial": 60', '"serial": 61'));
    assert.equal(roster.read().size, 0);
    writeFileSync(node.folder.rosterPath, text);
    assert.equal(roster.read().size, 1);
  });

  it('loses nothing when several write at once', async () => {
    const authority = node.folder.authority()!;
    const many = Array.from({ length: 12 }, () => new RosterFile(node.folder, node));
    const results = await Promise.all(
      many.map((each) =>
        each.state(authority, (known) => ({ ok: true, value: known.get(node.identity.peerId)!.statement })),
      ),
    );
    const serials = results.map((result) => (result.ok ? result.value.statement.serial : -1));
    assert.deepEqual(
      serials.sort((one, two) => one - two),
      Array.from({ length: 12 }, (_, index) => 61 + index),
    );
  });

  it('keeps the certificate before the one in force, and no older one', async () => {
    const fingerprints = () => roster.read().get(node.identity.peerId)!.statement.fingerprints;
    const first = fingerprints()[0];
    const renewed = [await renewOwnCertificate(node), await renewOwnCertificate(node)];
    const made = renewed.map((each) => (each.ok ? each.value.fingerprint : ''));
    assert.deepEqual(fingerprints(), [...made].reverse());
    assert.equal(fingerprints().includes(first!), false);
    assert.equal(node.folder.nodeFingerprint(), made[1]);
  });
});
