import type { PeerId } from '../base/meanings.js';
import type { Failure } from '../base/result.js';
import { type Home, homeOf, notHome } from '../decide/home.js';
import { ownOrigin, type Reading } from '../decide/reads.js';
import { peerOfOrigin } from '../log/wire-operation.js';

/** This node in the mesh. */
export function* ownPeer(): Reading<PeerId> {
  return peerOfOrigin((yield* ownOrigin()).origin);
}

/** The home of a subject where it is this node, or the failure that names the other one. */
export function* homeHere(id: string): Reading<{ readonly home: Home } | { readonly elsewhere: Failure }> {
  const home = yield* homeOf(id);
  return home.peerId === (yield* ownPeer()) ? { home } : { elsewhere: notHome(id, home) };
}
