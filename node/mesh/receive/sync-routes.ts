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

/** The routes by which nodes replicate (interface §4.10). */
export function syncRoutes(receiver: Receiver): readonly PeerRoute[] {
  const answer = answerOf(receiver);
  return [
    {
      kind: 'peer',
      name: 'sync_push',
      method: 'POST',
      path: '/sync/push',
      summary: 'Take what a peer has written; signed with X-Memory-Sig, X-Memory-Nonce and X-Peer-Id.',
      access: 'peers',
      answer,
    },
    {
      kind: 'peer',
      name: 'sync_since',
      method: 'GET',
      path: '/sync/since',
      summary: 'Give a peer what it has missed; signed like a push.',
      access: 'peers',
      answer,
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
      path: '/mesh/ranges',
      summary: 'Compare digests of what both may hold, and give back what a peer lost; signed like a push.',
      access: 'peers',
      answer,
    },
  ];
}

/** The route by which nodes pass on what only the home of a subject decides (design: kinds). */
export function commandRoutes(receiver: Receiver): readonly PeerRoute[] {
  return [
    {
      kind: 'peer',
      name: 'mesh_commands',
      method: 'POST',
      path: '/mesh/commands',
      summary: 'Decide a request as the home of its subject, for another node; signed like a push.',
      access: 'peers',
      answer: answerOf(receiver),
    },
  ];
}
