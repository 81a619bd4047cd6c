import {
  COMMANDS_PATH,
  PULL_PATH,
  PUSH_PATH,
  RANGES_PATH,
  SINCE_PATH,
} from '../../../protocol/wire/message-paths.js';
import { API_PREFIX } from '../../bindings/api-prefix.js';
import { JSON_TYPE } from '../../http/exchange.js';
import type { PeerRoute } from '../../http/peer-route.js';
import type { SyncReceiver } from './sync-receiver.js';

type Receiver = Pick<SyncReceiver, 'handle'>;

const answerOf =
  (receiver: Receiver): PeerRoute['answer'] =>
  async (message) => {
    const { status, body, headers = {} } = await receiver.handle(message);
    return { status, contentType: JSON_TYPE, body, headers: Object.entries(headers).flat() };
  };

/** The path of a route below the API prefix. */
const routePath = (path: string): string => path.slice(API_PREFIX.length);

/** The routes by which nodes replicate (interface §4.10). */
export function syncRoutes(receiver: Receiver): readonly PeerRoute[] {
  const answer = answerOf(receiver);
  return [
    {
      kind: 'peer',
      name: 'sync_push',
      method: 'POST',
      path: routePath(PUSH_PATH),
      summary: 'Take the writes of a peer; signed with X-Memory-Sig, X-Memory-Nonce and X-Peer-Id.',
      access: 'peers',
      repeatable: true,
      answer,
    },
    {
      kind: 'peer',
      name: 'sync_since',
      method: 'GET',
      path: routePath(SINCE_PATH),
      summary: 'Give a peer the operations that it lacks; signed like a push.',
      access: 'peers',
      answer,
    },
  ];
}

/** The route of a pull with many origins, whose cursor is too long for a query. */
export function pullRoutes(receiver: Receiver): readonly PeerRoute[] {
  return [
    {
      kind: 'peer',
      name: 'mesh_pull',
      method: 'POST',
      path: routePath(PULL_PATH),
      summary: 'The question of `GET /sync/since` as a body, for long cursors; signed like a push.',
      access: 'peers',
      answer: answerOf(receiver),
    },
  ];
}

/** The route by which nodes compare their rows (design: mesh, "Anti-entropy"). */
export function rangesRoutes(receiver: Receiver): readonly PeerRoute[] {
  const answer = answerOf(receiver);
  return [
    {
      kind: 'peer',
      name: 'mesh_ranges',
      method: 'POST',
      path: routePath(RANGES_PATH),
      summary:
        'Compare digests of the memories that both may hold, and send operations that a peer lost; signed like a push.',
      access: 'peers',
      repeatable: true,
      answer,
    },
  ];
}

/** The route by which nodes pass on commands that only the home of a subject decides (design: kinds). */
export function commandRoutes(receiver: Receiver): readonly PeerRoute[] {
  return [
    {
      kind: 'peer',
      name: 'mesh_commands',
      method: 'POST',
      path: routePath(COMMANDS_PATH),
      summary: 'Decide a request as the home of its subject, for another node; signed like a push.',
      access: 'peers',
      answer: answerOf(receiver),
    },
  ];
}
