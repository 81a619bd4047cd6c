import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MeshStatus } from '../../actors/mesh/parts.js';
import { checkMesh, type MeshFindings } from '../../node/doctor/check-mesh.js';
import type { MeshStatusAnswer, PeerReachability } from '../../node/mesh/mesh-answers.js';
import { peerStatus } from '../support/mesh-status.js';

const DAY_MS = 86_400_000;

const link: MeshStatus['peers'][number] = {
  ...peerStatus('peer-b'),
  url: 'https://b.example:9177',
  acked: 7,
  lagOperations: 0,
  lagSeconds: 0,
  operations: 7,
  skewMs: 3,
};
const reachability: PeerReachability = {
  peer_id: 'peer-b',
  name: null,
  url: link.url,
  state: 'member',
  reachable: true,
  last_contact: null,
  skew_ms: 3,
  problem: null,
  allowed_namespaces: null,
  serial: 1,
};
const replication: MeshStatus = {
  origin: 'peer-a/1',
  originSeq: 7,
  accepting: true,
  quorum: { configured: 2, needed: 2, members: 2 },
  peers: [link],
  underReplicated: 0,
  dlqDepth: 0,
  diverged: 0,
  quarantined: 0,
};
const compared = { ...reachability, equal: true, reachable: true, differing: [] };
const status: MeshStatusAnswer = {
  peer_id: 'peer-a',
  name: 'lab',
  mesh_id: 'ab'.repeat(32),
  url: 'https://a.example:9177',
  listening: true,
  problem: null,
  authority: true,
  state: 'member',
  certificate_fingerprint: null,
  certificate_expires: null,
  open_invites: 0,
  peers: [reachability],
  wired: [],
  hint_lines: [],
  replication,
  compared: [compared],
};

const codes = (changes: Partial<MeshFindings> = {}) => {
  const healthy = { status, meshId: 'ab'.repeat(32), certificateEndsMs: 1000 * DAY_MS, nowMs: 0 };
  return checkMesh({ ...healthy, ...changes }).findings.map(({ code, severity }) => `${severity} ${code}`);
};
const withStatus = (changes: Partial<MeshStatusAnswer>) => codes({ status: { ...status, ...changes } });
const withLink = (changes: Partial<typeof link>, more: Partial<MeshStatus> = {}) =>
  withStatus({ replication: { ...replication, ...more, peers: [{ ...link, ...changes }] } });

describe('what doctor finds about a mesh', () => {
  it('is nothing where all is well', () => assert.deepEqual(codes(), []));

  const rows: readonly (readonly [string, () => string[], string])[] = [
    ['no daemon', () => codes({ status: null }), 'INFO MESH_NOT_ASKED'],
    [
      'a certificate that ends',
      () => codes({ certificateEndsMs: 29 * DAY_MS }),
      'WARN MESH_CERTIFICATE_ENDS',
    ],
    ['one that has ended', () => codes({ certificateEndsMs: -DAY_MS }), 'CRIT MESH_CERTIFICATE_EXPIRED'],
    ['a removed node', () => withStatus({ state: 'departed' }), 'CRIT MESH_REMOVED'],
    ['a taken port', () => withStatus({ problem: 'EADDRINUSE' }), 'CRIT MESH_NOT_LISTENING'],
    ['a clock', () => withStatus({ peers: [{ ...reachability, skew_ms: -5001 }] }), 'WARN PEER_SKEW'],
    ['a silent peer', () => withLink({ state: 'cut', lagOperations: 3 }), 'WARN PEER_UNREACHABLE'],
    [
      'a peer that fell silent just now',
      () => withStatus({ compared: [{ ...compared, equal: null, reachable: false, problem: 'timeout' }] }),
      'WARN PEER_UNREACHABLE',
    ],
    ['a peer at rest', () => withLink({ quarantined: true }), 'WARN DELIVERIES_QUARANTINED'],
    [
      'rows that cannot be compared',
      () => withLink({ comparisonsFailed: 3, comparisonProblem: 'refused:too_large: HTTP 413' }),
      'WARN ROWS_NOT_COMPARED',
    ],
    [
      'a quorum without its nodes',
      () => withLink({}, { quorum: { configured: 3, needed: 2, members: 2 } }),
      'WARN QUORUM_LARGER_THAN_MESH',
    ],
    ['writes that wait', () => withLink({}, { accepting: false }), 'WARN WRITES_HELD'],
    [
      'an address of nobody',
      () => withStatus({ wired: [{ url: 'http://x', state: 'not_enrolled', peer_id: 'p', problem: 'why' }] }),
      'WARN PEER_ASTRAY',
    ],
    [
      'memories that differ',
      () => withStatus({ compared: [{ ...compared, equal: false, differing: ['a'] }] }),
      'WARN ROOTS_UNEQUAL',
    ],
  ];
  for (const [name, call, expected] of rows) it(name, () => assert.deepEqual(call(), [expected]));

  it('a node alone', () => {
    const alone = { ...replication, peers: [], quorum: { configured: 2, needed: 1, members: 1 } };
    assert.deepEqual(withStatus({ peers: [], compared: [], replication: alone }), [
      'INFO MESH_ALONE',
      'WARN QUORUM_LARGER_THAN_MESH',
    ]);
  });

  it('memories that differ while deliveries are under way are no alarm', () => {
    const late = { ...replication, peers: [{ ...link, lagOperations: 2 }] };
    const differing = [{ ...compared, equal: false, differing: ['a'] }];
    assert.deepEqual(withStatus({ replication: late, compared: differing }), ['INFO ROOTS_CATCHING_UP']);
  });
});
