import { JSON_TYPE } from '../../http/exchange.js';
import type { PeerRoute } from '../../http/peer-route.js';
import type { SyncReceiver } from './sync-receiver.js';

/** The routes by which nodes replicate (interface §4.10). */
export function syncRoutes(receiver: Pick<SyncReceiver, 'handle'>): readonly PeerRoute[] {
  const answer: PeerRoute['answer'] = async (message) => {
    const { status, body, headers = {} } = await receiver.handle(message);
    return { status, contentType: JSON_TYPE, body, headers: Object.entries(headers).flat() };
  };
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
