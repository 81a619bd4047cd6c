import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parsePeerScopes, peerScopesProblem } from '../../node/config/peer-scopes.js';
import { FileRoster } from '../../node/mesh/roster-from-files.js';
import { coversNamespace } from '../../protocol/log/scope.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { agentKey } from '../support/signing.js';
import { TestPeer } from '../support/test-peer.js';

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

function rosterOf(keyDir: string, scopes: string | null = null, trustPulls = false) {
  const clock = { ms: 0, nowMs: () => clock.ms, monotonicMs: () => clock.ms };
  const roster = new FileRoster({ keyDir, scopes: parsePeerScopes(scopes), trustPulls, clock, log: SILENT });
  return { roster, clock };
}

const ids = (roster: FileRoster) => roster.peers().map(({ peerId }) => peerId);

describe('peers that are enrolled by key files', () => {
  it('are the public keys whose private keys are elsewhere', () => {
    const keyDir = temporaryFolder('roster');
    const [plain, nested] = [new TestPeer('plain'), new TestPeer('nested', 'site/node-2')];
    for (const peer of [plain, nested]) peer.enrol(keyDir);
    new TestPeer('the machine', 'daemon').enrol(keyDir);
    const local = agentKey('ai:local');
    writeFileSync(join(keyDir, 'ai:local.pub'), local.signer.publicKey);
    writeFileSync(join(keyDir, 'ai:local.priv'), local.seed, { mode: 0o600 });
    writeFileSync(join(keyDir, 'peer-short.pub'), 'short');
    writeFileSync(join(keyDir, 'peer-weak.pub'), Buffer.from([1, ...new Array<number>(31).fill(0)]));
    writeFileSync(join(keyDir, 'peer-old.pub.1700000000'), plain.signer.publicKey);
    const { roster } = rosterOf(keyDir);
    assert.deepEqual(ids(roster), [plain.peerId, nested.peerId].sort());
    const found = roster.find(plain.peerId)!;
    assert.deepEqual([...found.publicKey], [...plain.signer.publicKey]);
    assert.deepEqual(
      [found.state, found.url, found.pullDenied, found.allowedNamespaces],
      ['member', null, true, null],
    );
    assert.equal(roster.find('daemon'), null);
    assert.equal(rosterOf(keyDir, null, true).roster.find(plain.peerId)?.pullDenied, undefined);
  });

  it('have the scopes that the operator lists; others are strangers then', () => {
    const keyDir = temporaryFolder('roster');
    const [listed, other] = [new TestPeer('listed'), new TestPeer('other')];
    for (const peer of [listed, other]) peer.enrol(keyDir);
    const scopes = { [listed.peerId]: { allowed_namespaces: ['a/*'], allowed_sender_agent_ids: ['ai:x'] } };
    const { roster } = rosterOf(keyDir, JSON.stringify(scopes));
    assert.deepEqual(ids(roster), [listed.peerId]);
    const found = roster.find(listed.peerId)!;
    assert.deepEqual(
      [found.allowedNamespaces, found.allowedSenderAgentIds, found.pullDenied],
      [['a/*'], ['ai:x'], undefined],
    );
    assert.equal(roster.find(other.peerId), null);
  });

  it('come and go without a restart', () => {
    const keyDir = temporaryFolder('roster');
    const { roster, clock } = rosterOf(keyDir);
    let changes = 0;
    const stop = roster.onChange(() => {
      changes += 1;
    });
    assert.deepEqual(ids(roster), []);
    const peer = new TestPeer('late');
    peer.enrol(keyDir);
    assert.equal(roster.find(peer.peerId), null);
    clock.ms += 2000;
    assert.ok(roster.find(peer.peerId));
    writeFileSync(join(keyDir, `${peer.peerId}.fingerprints`), `# mine\nSHA256:${'AB:'.repeat(31)}AB\n`);
    clock.ms += 2000;
    assert.deepEqual(roster.find(peer.peerId)?.fingerprints, ['ab'.repeat(32)]);
    rmSync(join(keyDir, `${peer.peerId}.pub`));
    clock.ms += 2000;
    assert.equal(roster.find(peer.peerId), null);
    assert.equal(changes, 3);
    stop();
  });

  it('are nobody where others may write to the folder', () => {
    const keyDir = temporaryFolder('roster');
    const peer = new TestPeer('open');
    peer.enrol(keyDir);
    chmodSync(keyDir, 0o777);
    assert.deepEqual(ids(rosterOf(keyDir).roster), []);
    assert.deepEqual(ids(rosterOf(join(keyDir, 'missing')).roster), []);
    mkdirSync(join(keyDir, 'x.pub'));
    assert.deepEqual(ids(rosterOf(keyDir).roster), []);
  });
});

describe('SVC_FED_PEER_ATTESTATION', () => {
  const bad = [
    '[]',
    'x',
    '{"a b":{}}',
    '{"p":[]}',
    '{"p":{"allowed":[]}}',
    '{"p":{"allowed_namespaces":["a*"]}}',
    '{"p":{"allowed_namespaces":["**/a"]}}',
    '{"p":{"allowed_namespaces":[""]}}',
    '{"p":{"allowed_sender_agent_ids":["a b"]}}',
  ];
  for (const text of bad) {
    it(`${text} is refused`, () => {
      assert.notEqual(peerScopesProblem(text), null);
    });
  }

  it('takes what the reference has, and an empty scope is nothing', () => {
    for (const text of ['{}', '{"p":{}}', '{"p":{"allowed_namespaces":["**","a/*","a/**"]}}']) {
      assert.equal(peerScopesProblem(text), null, text);
    }
    assert.deepEqual(parsePeerScopes('{"p":{}}')?.get('p'), {
      allowedNamespaces: [],
      allowedSenderAgentIds: [],
    });
  });
});

it('a star is one segment, two are any end', () => {
  const rows = [
    ['**', 'a/b', true],
    ['a/**', 'a/b/c', true],
    ['a/**', 'ab', false],
    ['a/*', 'a/b', true],
    ['a/*', 'a/b/c', false],
    ['a/*', 'a', false],
    ['*', 'a', true],
    ['*', 'a/b', false],
    ['a', 'a', true],
    ['a', 'a/b', false],
  ] as const;
  for (const [glob, namespace, matches] of rows)
    assert.equal(coversNamespace(glob, namespace), matches, `${glob} ${namespace}`);
});
