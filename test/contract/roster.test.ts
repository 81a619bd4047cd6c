import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Listeners } from '../../actors/core/listeners.js';
import type { MeshState } from '../../node/mesh/forming/mesh-state.js';
import { MeshRoster } from '../../node/mesh/mesh-roster.js';
import { FileRoster } from '../../node/mesh/roster-from-files.js';
import { WiredRoster } from '../../node/mesh/wired-roster.js';
import type { Peer, Roster } from '../../protocol/peers/peer.js';
import type { RosterStatement, SignedStatement } from '../../protocol/peers/roster-statement.js';
import { ScriptedRoster } from '../actors/mesh/scripted.js';
import { SimRoster } from '../sim/sim-roster.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { TestRoster } from '../support/receiver-node.js';
import { type RosterUnderTest, rosterContract } from './roster-contract.js';

const SELF = 'peer-00000000000000ee';
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
const nothing = () => undefined;

const statementOf = (peer: Peer, serial: number): RosterStatement => ({
  mesh_id: 'cd'.repeat(32),
  peer_id: peer.peerId,
  url: peer.url,
  public_key: Buffer.from(peer.publicKey).toString('base64url'),
  fingerprints: peer.fingerprints,
  allowed_namespaces: peer.allowedNamespaces,
  allowed_sender_agent_ids: peer.allowedSenderAgentIds,
  state: peer.state,
  serial,
});

/** The statements of a mesh's authority; of its state that is all that the roster reads. */
function stated(manual: Roster | null = null): RosterUnderTest {
  const statements = new Map<string, SignedStatement>();
  const listeners = new Listeners();
  const state = { formed: { statements }, onChange: (listener: () => void) => listeners.add(listener) };
  const roster = new MeshRoster(state as unknown as MeshState, SELF, manual);
  const say = (peer: Peer) => {
    const serial = (statements.get(peer.peerId)?.statement.serial ?? 0) + 1;
    statements.set(peer.peerId, { statement: statementOf(peer, serial), signature: '' });
    listeners.tell();
  };
  return {
    roster,
    put: say,
    drop: (peer) => say({ ...peer, state: 'departed' }),
    look: nothing,
    close: () => roster.close(),
  };
}

/** Key files in a folder, at which it looks every two seconds. */
function files(): RosterUnderTest {
  const keyDir = temporaryFolder('roster-contract');
  const clock = { ms: 0, nowMs: () => clock.ms, monotonicMs: () => clock.ms };
  const roster = new FileRoster({ keyDir, scopes: null, trustPulls: false, clock, log: SILENT });
  const file = ({ peerId }: Peer, end: string) => join(keyDir, `${peerId}.${end}`);
  return {
    roster,
    put: (peer) => {
      writeFileSync(file(peer, 'pub'), peer.publicKey, { mode: 0o644 });
      writeFileSync(file(peer, 'fingerprints'), `# its certificates\n${peer.fingerprints.join('\n')}\n`);
    },
    drop: (peer) => rmSync(file(peer, 'pub')),
    look: () => {
      clock.ms += 2000;
      roster.peers();
    },
    close: nothing,
  };
}

/** Around another roster. */
const around = (inner: RosterUnderTest, wrap: (roster: Roster) => Roster): RosterUnderTest => ({
  ...inner,
  roster: wrap(inner.roster),
});

const nowhere = { urlOf: () => null, onChange: () => nothing };

/** One whose whole list is set. */
function listed(roster: Roster, set: (peers: Peer[]) => void): RosterUnderTest {
  const others = (peer: Peer) => roster.peers().filter(({ peerId }) => peerId !== peer.peerId);
  return {
    roster,
    put: (peer) => set([...others(peer), peer]),
    drop: (peer) => set(others(peer)),
    look: nothing,
    close: nothing,
  };
}

rosterContract('statements of the authority', () => stated());
rosterContract('key files', files);
rosterContract('key files behind the authority', () => {
  const inner = files();
  const mesh = new MeshRoster(
    { formed: null, onChange: () => nothing } as unknown as MeshState,
    SELF,
    inner.roster,
  );
  return { ...around(inner, () => mesh), close: () => mesh.close() };
});
rosterContract('key files with addresses', () => around(files(), (inner) => new WiredRoster(inner, nowhere)));
rosterContract('the roster of the simulator', () => {
  const roster = new SimRoster();
  return {
    roster,
    put: (peer) => roster.set(peer),
    drop: (peer) => roster.set({ ...peer, state: 'departed' }),
    look: nothing,
    close: nothing,
  };
});
rosterContract('the scripted roster of tests', () => {
  const roster = new ScriptedRoster([]);
  return listed(roster, (peers) => roster.set(peers));
});
rosterContract('the roster that tests change', () => {
  const roster = new TestRoster();
  return listed(roster, (peers) => {
    roster.list = peers;
  });
});
