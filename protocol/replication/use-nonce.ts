import { fail } from '../base/result.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type Done, decided } from '../decide/deciding.js';
import { useNonce } from './mutations.js';
import { nonceUsed } from './reads.js';

import type { UsedNonce } from './used-nonce.js';

/** Fails with x_memory_nonce_replay when the nonce was used before. */
export interface UseNonce {
  readonly kind: 'use-nonce';
  readonly nonce: UsedNonce;
}

/** Remembers a nonce for good. */
function* decideUseNonce({ nonce }: UseNonce): Deciding<Done> {
  const used = yield* nonceUsed(nonce);
  return used ? replayed() : decided({}, [useNonce({ nonce })]);
}

export const replayed = () => fail('x_memory_nonce_replay', 'this nonce was used before');

export const useNonceCommand = defineCommand({
  kind: 'use-nonce',
  decide: decideUseNonce,
  gate: 'no memory',
});
