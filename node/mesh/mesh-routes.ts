import { errorRow } from '../../protocol/base/errors.js';
import * as limits from '../../protocol/base/limits.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import type { Signer } from '../../protocol/base/seams.js';
import { instantFromMs } from '../../protocol/base/time.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { WHOAMI_PATH } from '../../protocol/peers/whoami.js';
import type { ReceivedMessage } from '../../protocol/wire/transport.js';
import { API_PREFIX } from '../bindings/api-prefix.js';
import { JSON_TYPE } from '../http/exchange.js';
import type { MessageOrigin, PeerRoute } from '../http/peer-route.js';
import { parseQuery } from '../http/query-string.js';
import type { Reply } from '../http/service-route.js';
import { acceptJoin } from './forming/accept-join.js';
import { JOIN_PATH } from './forming/join-messages.js';
import { parseJson } from './forming/mesh-folder.js';
import type { MeshState, StateSeams } from './forming/mesh-state.js';
import {
  MEMBERSHIP_PATH,
  type MeshStatusAnswer,
  OPERATIONS_PATH,
  type OperationStatus,
  ROSTER_BODY,
  ROSTER_PATH,
  STATUS_PATH,
} from './mesh-answers.js';
import type { MeshRoster } from './mesh-roster.js';
import { answerWhoami } from './whoami.js';

/** Identifies the peer that sent a message, or refuses the message. */
export type PeerGate = (message: ReceivedMessage) => Promise<Result<Peer>>;

export interface MeshRoutesParts extends StateSeams {
  readonly state: MeshState;
  readonly roster: MeshRoster;
  readonly peerId: string;
  readonly gate: PeerGate;
  /** True for the certificate that this node presents to peers that were wired by hand. */
  readonly isOwn: (fingerprint: string) => boolean;
  /** Signs the answer to who this node is; null without a key. */
  readonly signer: Signer | null;
  readonly status: () => MeshStatusAnswer;
  /** The same with the peers' memories compared. */
  readonly compared: () => Promise<Result<MeshStatusAnswer>>;
  /** An operation by its id, or the last one about a memory. */
  readonly operation: (id: string) => Promise<Result<OperationStatus>>;
  /** A member has called. */
  readonly contacted: (peerId: string) => void;
}

/** The routes that form and show a mesh; `receive/sync-routes.ts` has those of replication. */
export function meshRoutes(parts: MeshRoutesParts): readonly PeerRoute[] {
  return [...memberRoutes(parts), ...operatorRoutes(parts)];
}

/** The routes that nodes call. */
function memberRoutes(parts: MeshRoutesParts): readonly PeerRoute[] {
  return [
    {
      kind: 'peer',
      name: 'mesh_join',
      method: 'POST',
      path: JOIN_PATH,
      summary: 'Join the mesh with an invitation.',
      access: 'guests',
      bodyBytesMax: limits.JOIN_BODY_BYTES_MAX,
      answer: async (message) => reply(await join(parts, message)),
    },
    {
      kind: 'peer',
      name: 'mesh_roster',
      method: 'POST',
      path: ROSTER_PATH,
      summary: 'Exchange the statements about members.',
      access: 'peers',
      bodyBytesMax: limits.ROSTER_BODY_BYTES_MAX,
      answer: async (message) => reply(await exchange(parts, message)),
    },
    {
      kind: 'peer',
      name: 'mesh_membership',
      method: 'GET',
      path: MEMBERSHIP_PATH,
      summary: 'What the authority states about the node that asks; a removed node learns of it here.',
      access: 'guests',
      answer: async ({ fingerprint }) => reply(membershipOf(parts, fingerprint)),
    },
    {
      kind: 'peer',
      name: 'mesh_whoami',
      method: 'GET',
      path: WHOAMI_PATH,
      summary: 'Say who this node is, signed over the challenge of the query.',
      access: 'peers',
      answer: async ({ query }) => reply(answerWhoami(query, parts.peerId, parts.signer)),
    },
  ];
}

/** The routes that operators and their programs call. */
function operatorRoutes(parts: MeshRoutesParts): readonly PeerRoute[] {
  return [
    {
      kind: 'peer',
      name: 'mesh_status',
      method: 'GET',
      path: STATUS_PATH,
      summary: 'State of the mesh, for admins and for this machine.',
      // With a certificate it must be this node's own: so the command line needs neither port nor key.
      access: 'peers',
      answer: async (message, origin) => {
        const asker = askerOf(parts, message, origin);
        if (asker === 'stranger') return reply(NOT_FOR_YOU);
        const query = parseQuery(message.query);
        const compare = query.ok && query.value.get('compare') === 'true';
        const answer = compare ? await parts.compared() : ok(parts.status());
        return reply(asker === 'operator' || !answer.ok ? answer : ok(withoutNamespaces(answer.value)));
      },
    },
    {
      kind: 'peer',
      name: 'mesh_operation',
      method: 'GET',
      path: `${OPERATIONS_PATH}/{id}`,
      summary:
        'Which nodes have an operation, or the last one about a memory; for admins and for this machine.',
      access: 'peers',
      answer: async (message, origin) => {
        const asker = askerOf(parts, message, origin);
        if (asker === 'stranger') return reply(NOT_FOR_YOU);
        const id = message.path.slice(`${API_PREFIX}${OPERATIONS_PATH}/`.length);
        const answer = await parts.operation(decodeURIComponent(id));
        return reply(asker === 'operator' || !answer.ok ? answer : ok(withoutHeader(answer.value)));
      },
    },
  ];
}

/**
 * Who asks: an admin or this node's own command line, a caller on this machine, or somebody else. Behind a proxy every
 * client is on this machine, so such a caller learns how the mesh is, and of no row.
 */
function askerOf(
  { state, peerId, isOwn }: Pick<MeshRoutesParts, 'state' | 'peerId' | 'isOwn'>,
  { fingerprint }: ReceivedMessage,
  { admin, loopback }: MessageOrigin,
): 'operator' | 'local' | 'stranger' {
  if (fingerprint !== null)
    return isOwn(fingerprint) || state.memberOf(fingerprint) === peerId ? 'operator' : 'stranger';
  if (admin) return 'operator';
  return loopback ? 'local' : 'stranger';
}

/** How far an operation has come, without what it says of its row. */
function withoutHeader({ op_id, peer_id, acks, needed, met, acknowledgements }: OperationStatus) {
  return { op_id, peer_id, acks, needed, met, acknowledgements };
}

/** How the mesh is, without the names of namespaces. */
function withoutNamespaces({ compared, replication, ...status }: MeshStatusAnswer): MeshStatusAnswer {
  const unnamed = <P extends object>(peers: readonly P[]) =>
    peers.map((peer) => ({ ...peer, differing: [] }));
  return {
    ...status,
    replication: replication === null ? null : { ...replication, peers: unnamed(replication.peers) },
    ...(compared === undefined ? {} : { compared: compared === null ? null : unnamed(compared) }),
  };
}

const NOT_FOR_YOU = fail(
  'ADMIN_REQUIRED',
  'admin role required: use the agent id of an admin, or call from this machine',
);

/** Recognises a member only by its certificate: the gate where no signatures are verified, or not yet. */
export function certificateGate(state: MeshState, roster: MeshRoster): PeerGate {
  return async ({ fingerprint }) => {
    const peerId = state.memberOf(fingerprint);
    const peer = peerId === null ? null : roster.find(peerId);
    return peer === null || peer.state !== 'member'
      ? fail('FORBIDDEN', 'only members of the mesh may ask this')
      : ok(peer);
  };
}

async function join(parts: MeshRoutesParts, message: ReceivedMessage): Promise<Result<unknown>> {
  const { state } = parts;
  const formed = state.formed;
  if (formed === null) return fail('FORBIDDEN', 'this node belongs to no mesh');
  const options = { ...parts, folder: state.folder, invites: state.invites, roster: formed.roster };
  const joined = await acceptJoin(options, state.inviteOf(message.fingerprint), bodyOf(message));
  if (!joined.ok) {
    parts.log.warn({ code: joined.error.code, reason: joined.error.message }, 'a node was not let in');
    return joined;
  }
  parts.log.info({ members: joined.value.statements.length }, 'a node joined the mesh');
  state.reload();
  return joined;
}

async function exchange(parts: MeshRoutesParts, message: ReceivedMessage): Promise<Result<unknown>> {
  const peer = await parts.gate(message);
  if (!peer.ok) return failed(peer.error);
  const { formed } = parts.state;
  const body = ROSTER_BODY.safeParse(bodyOf(message));
  if (formed === null || !body.success) return fail('VALIDATION_FAILED', 'expected {statements: […]}');
  const { statements } = body.data;
  if (statements.length > limits.ROSTER_ENTRIES_MAX) {
    return fail('VALIDATION_FAILED', `a roster has at most ${limits.ROSTER_ENTRIES_MAX} entries`);
  }
  await takeStatements(parts, statements, peer.value.peerId);
  parts.contacted(peer.value.peerId);
  const known = parts.state.formed?.statements ?? formed.statements;
  return ok({ statements: [...known.values()], wall_clock: instantFromMs(parts.clock.nowMs()) });
}

/** The statement about the node with a certificate, as the authority signed it. */
function membershipOf(
  { state }: Pick<MeshRoutesParts, 'state'>,
  fingerprint: string | null,
): Result<unknown> {
  const peerId = state.memberOf(fingerprint) ?? state.departedOf(fingerprint);
  const stated = peerId === null ? undefined : state.formed?.statements.get(peerId);
  return stated === undefined
    ? fail('FORBIDDEN', 'only nodes that are or were members of the mesh may ask this')
    : ok({ statements: [stated] });
}

/** Takes a peer's statements about members. Logs the invalid ones and takes the others. */
export async function takeStatements(
  { state, log }: Pick<MeshRoutesParts, 'state' | 'log'>,
  statements: readonly unknown[],
  from: string,
): Promise<void> {
  const formed = state.formed;
  if (formed === null) return;
  const known = formed.statements;
  const fresh = statements.filter((each) => {
    const { statement } = (each ?? {}) as { statement?: { peer_id?: unknown; serial?: unknown } };
    const { peer_id: id, serial } = statement ?? {};
    const before = typeof id === 'string' ? known.get(id)?.statement.serial : undefined;
    return before === undefined || typeof serial !== 'number' || serial > before;
  });
  if (fresh.length === 0) return;
  const { changed, refused } = await formed.roster.merge(fresh);
  if (refused.length > 0) {
    log.warn(
      { code: 'ROSTER_STATEMENT_REFUSED', from, refused: refused.slice(0, 5) },
      'a statement about a member is not valid and was not taken',
    );
  }
  if (changed.length > 0) {
    log.info({ from, peers: changed.slice(0, 20) }, 'the roster has changed');
    state.reload();
  }
}

const bodyOf = (message: ReceivedMessage) => parseJson(new TextDecoder().decode(message.body));

function reply(result: Result<unknown>): Reply {
  if (result.ok) return { status: 200, contentType: JSON_TYPE, body: JSON.stringify(result.value) };
  const { code, message, details } = result.error;
  const body = JSON.stringify({ error: message, code, ...details });
  return { status: errorRow(code).http, contentType: JSON_TYPE, body };
}
