import { operationId } from '../../protocol/log/operation-log.js';
import type { OperationPlace } from '../../protocol/log/ranges.js';
import type { WireOperation } from '../../protocol/log/wire-operation.js';
import type { Peer } from '../../protocol/peers/peer.js';
import { checkOperationsReply } from '../../protocol/wire/ranges-messages.js';
import type { PeerClient } from './peer-client.js';

/**
 * Asks peers, one after the other, for operations that are missing here. Operations that no peer sends are left out. An
 * operation whose payload every peer has let go comes as its header.
 */
export async function askBack(
  client: PeerClient,
  peers: readonly Peer[],
  places: readonly OperationPlace[],
): Promise<readonly WireOperation[]> {
  const found = new Map<string, WireOperation>();
  const headers = new Map<string, WireOperation>();
  let missing = places;
  for (const peer of peers) {
    missing = missing.filter(({ origin, seq }) => !found.has(operationId(origin, seq)));
    if (missing.length === 0) break;
    if (peer.url === null || peer.state !== 'member') continue;
    const asked = new Set(missing.map(({ origin, seq }) => operationId(origin, seq)));
    const bare = missing.map(({ origin, seq }) => ({ origin, seq }));
    const answer = await client.ask(peer, { kind: 'operations', places: bare }, checkOperationsReply);
    if (!answer.ok) continue;
    for (const operation of answer.reply.operations) {
      const id = operationId(operation.origin, operation.seq);
      if (asked.has(id)) (operation.payload === null ? headers : found).set(id, operation);
    }
  }
  return [...new Map([...headers, ...found]).values()];
}
