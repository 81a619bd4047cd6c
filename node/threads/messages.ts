import type { NodePolicy } from '../../protocol/decide/node-policy.js';
import type { Answers, Query } from '../../protocol/release.js';
import type { DatabasePlace } from '../../storage/open/open.js';
import type { SelfCheckPage } from '../../storage/port.js';

/** The start data of a storage thread. */
export interface StorageThreadData {
  readonly place: DatabasePlace;
  readonly peerId: string;
  /** Where the writer finds the machine's key; keys are never sent. */
  readonly keyDir: string;
  readonly policy: NodePolicy;
}

/** To a storage thread: one batch, or the request to end. */
export type ToThread<C> = { readonly batch: readonly C[] } | 'close';

/** From a storage thread: it is open, the results of the oldest batch, or a bug for the log. */
export type FromThread<R> =
  | 'ready'
  | { readonly results: readonly R[] }
  | { readonly bug: { readonly message: string; readonly stack: string | undefined } };

/** The request to a reader thread for one page of the engine's integrity check. */
export interface SelfCheck {
  readonly kind: 'self-check';
  readonly cursor: string | null;
}

export type Reading = Query | SelfCheck;
export type Read = Answers[Query['kind']] | SelfCheckPage;
