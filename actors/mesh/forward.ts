import { fail, type Result } from '../../protocol/base/result.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { Command } from '../../protocol/release.js';
import type { PeerClient } from './peer-client.js';

/**
 * Passes a command on to the home node of its subject and returns the home's answer. HOME_UNREACHABLE at once where the
 * home cannot be called, and after the request timeout where it does not answer; in the second case the outcome is
 * unknown.
 */
export async function forwardTo(
  client: PeerClient,
  peer: Peer | null,
  peerId: string,
  command: Command,
): Promise<Result<Readonly<Record<string, unknown>>>> {
  if (peer === null || peer.url === null || peer.state !== 'member')
    return unreachable(peerId, 'this node has no address for it');
  const delivered = await client.forward(peer, command);
  return delivered.ok ? delivered.reply.outcome : unreachable(peerId, delivered.message);
}

function unreachable(peerId: string, cause: string): Result<never> {
  const message = `the home node ${peerId} cannot be reached (${cause}); try again, or adopt its subjects with "mesh adopt"`;
  return fail('HOME_UNREACHABLE', message, { home: peerId });
}
