import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join as path } from 'node:path';
import { after, describe, it } from 'node:test';
import { peerOfCertificate } from '../../../node/mesh/forming/certificate.js';
import { guestCertificate } from '../../../node/mesh/forming/guest-certificate.js';
import { formatToken, parseToken } from '../../../node/mesh/forming/join-token.js';
import { RosterFile } from '../../../node/mesh/forming/roster-file.js';
import { systemClock } from '../../../node/seams.js';
import type { SignedStatement } from '../../../protocol/peers/roster-statement.js';
import { askRaw } from '../../support/mesh.js';
import { formed, formingHome, invitation, join, openMeshHost } from '../../support/mesh-node.js';
import { until } from '../../support/wait.js';

let shiftMs = 0;
const clock = { nowMs: () => systemClock.nowMs() + shiftMs, monotonicMs: () => systemClock.monotonicMs() };
const first = formingHome(clock);
const facts = await formed(first);
const one = await openMeshHost(first);
after(() => one.close());
const port = facts.listen!.port;
const members = () => [...new RosterFile(first.folder, first).read().values()].map((each) => each.statement);

describe('joining a mesh', () => {
  it('keeps keys in files for the owner alone, in a folder of the same kind', () => {
    assert.equal(statSync(first.folder.path).mode & 0o777, 0o700);
    for (const name of readdirSync(first.folder.path)) {
      assert.equal(statSync(path(first.folder.path, name)).mode & 0o077, 0, name);
    }
  });

  it('needs one token: certificate, roster and scope come with it', async () => {
    const second = formingHome();
    const joined = await join(second, invitation(first, 600, ['team/**']));
    assert.ok(joined.ok, JSON.stringify(joined));
    const certificate = new X509Certificate(readFileSync(second.folder.nodeCertPath));
    assert.equal(peerOfCertificate(certificate), second.identity.peerId);
    assert.equal(second.folder.isAuthority, false);
    const known = new RosterFile(second.folder, second).read();
    assert.deepEqual([...known.keys()].sort(), [first.identity.peerId, second.identity.peerId].sort());
    const own = known.get(second.identity.peerId)!.statement;
    assert.deepEqual([own.allowed_namespaces, own.state, own.serial], [['team/**'], 'member', 1]);
    assert.ok(one.host.roster.find(second.identity.peerId), 'the running node knows it without a restart');
  });

  it('refuses a token that was used, to another node, and answers the same node again', async () => {
    const token = invitation(first);
    const [third, fourth] = [formingHome(), formingHome()];
    assert.equal((await join(third, token)).ok, true);
    const again = await join(fourth, token);
    assert.match(again.ok ? '' : again.error.message, /used already/);
    assert.equal(again.ok || again.error.code, 'FORBIDDEN');
    assert.equal(existsSync(fourth.folder.factsPath), false);
    assert.equal(
      members().some(({ peer_id }) => peer_id === fourth.identity.peerId),
      false,
    );
  });

  it('lets exactly one of several nodes use a token at the same time', async () => {
    const token = invitation(first);
    const results = await Promise.all([1, 2, 3, 4].map(() => join(formingHome(), token)));
    assert.equal(results.filter(({ ok }) => ok).length, 1, JSON.stringify(results));
  });

  it('refuses a token that has expired', async () => {
    const token = invitation(first, 60);
    shiftMs = 61_000;
    const late = await join(formingHome(), token);
    shiftMs = 0;
    assert.match(late.ok ? '' : late.error.message, /expired/);
  });

  it('has no HTTP for a wrong secret', async () => {
    const token = { ...invitation(first), secret: Buffer.alloc(32, 7) };
    const before = members().length;
    const refused = await join(formingHome(), token);
    assert.equal(refused.ok, false);
    assert.equal((await askRaw(port, guestCertificate(token.secret, systemClock.nowMs()))).text, '');
    assert.equal(members().length, before);
  });

  it('lets an invitation open nothing but the way in', async () => {
    const guest = guestCertificate(invitation(first).secret, systemClock.nowMs());
    for (const route of ['/api/v1/health', '/api/v1/mesh/status', '/api/v1/mesh/whoami']) {
      assert.match((await askRaw(port, guest, route)).text, /^HTTP\/1\.1 403/, route);
    }
  });

  it('refuses an authority that is not the one that invited, before anything is sent', async () => {
    const refused = await join(formingHome(), { ...invitation(first), meshId: 'ab'.repeat(32) });
    assert.match(refused.ok ? '' : refused.error.message, /another authority/);
  });

  it('gives a member another certificate with another token, and the former stays good', async () => {
    const node = formingHome();
    assert.equal((await join(node, invitation(first))).ok, true);
    const old = {
      cert: readFileSync(node.folder.nodeCertPath, 'utf8'),
      key: readFileSync(node.folder.nodeKeyPath, 'utf8'),
    };
    assert.equal((await join(node, invitation(first))).ok, true);
    const next = {
      cert: readFileSync(node.folder.nodeCertPath, 'utf8'),
      key: readFileSync(node.folder.nodeKeyPath, 'utf8'),
    };
    assert.notEqual(old.cert, next.cert);
    for (const client of [old, next]) assert.match((await askRaw(port, client)).text, /^HTTP\/1\.1 200/);
  });

  it('tells the members of who joined, and lets who was removed hear of nothing but that', async () => {
    const [peer, late] = [formingHome(), formingHome()];
    assert.equal((await join(peer, invitation(first))).ok, true);
    const two = await openMeshHost(peer);
    try {
      assert.equal((await join(late, invitation(first))).ok, true);
      await until('a member hears of the new one', () => two.host.roster.find(late.identity.peerId) !== null);
      const client = {
        cert: readFileSync(late.folder.nodeCertPath, 'utf8'),
        key: readFileSync(late.folder.nodeKeyPath, 'utf8'),
      };
      const at = peer.folder.facts()!.listen!.port;
      assert.match((await askRaw(at, client)).text, /^HTTP\/1\.1 200/);
      const removed = await one.host.state.formed!.roster.state(first.folder.authority()!, (known) => ({
        ok: true,
        value: { ...known.get(late.identity.peerId)!.statement, fingerprints: [], state: 'departed' },
      }));
      assert.equal(removed.ok, true);
      await until(
        'a member hears of the removal',
        () => two.host.roster.find(late.identity.peerId)?.state === 'departed',
      );
      for (const route of ['/api/v1/health', '/api/v1/mesh/status', '/api/v1/mesh/whoami'])
        assert.match((await askRaw(at, client, route)).text, /^HTTP\/1\.1 403/, route);
      const { text } = await askRaw(at, client, '/api/v1/mesh/membership');
      const told = JSON.parse(text.slice(text.indexOf('\r\n\r\n'))) as { statements: SignedStatement[] };
      assert.deepEqual(
        told.statements.map(({ statement }) => [statement.peer_id, statement.state]),
        [[late.identity.peerId, 'departed']],
        'it hears of itself and of nobody else',
      );
      assert.ok(two.host.roster.find(late.identity.peerId), 'its key still verifies what it wrote');
    } finally {
      await two.close();
    }
  });
});

describe('a token', () => {
  const token = { url: 'https://node1.example:9177', meshId: 'cd'.repeat(32), secret: Buffer.alloc(32, 9) };

  it('says what went in', () => {
    const read = parseToken(` ${formatToken(token)}\n`);
    assert.ok(read.ok);
    assert.deepEqual([read.value.url, read.value.meshId], [token.url, token.meshId]);
    assert.deepEqual(Buffer.from(read.value.secret), token.secret);
  });

  it('is refused when it is torn or changed, without being shown', () => {
    const text = formatToken(token);
    for (let index = 0; index < text.length; index += 7) {
      const changed = text.slice(0, index) + (text[index] === 'A' ? 'B' : 'A') + text.slice(index + 1);
      for (const wrong of [changed, text.slice(0, index)]) {
        const read = parseToken(wrong);
        assert.equal(read.ok, false, wrong);
        assert.equal(read.ok ? '' : read.error.message.includes(text.slice(20, 40)), false);
      }
    }
  });
});
