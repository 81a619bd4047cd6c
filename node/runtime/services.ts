import type { MachineIdentity } from '../identity/machine-key.js';
import { TellingStore } from '../operations/telling-store.js';
import type { Services } from '../pipeline/call.js';
import { ReadLimiter } from '../pipeline/read-limits.js';
import { systemClock, systemCrypto, systemRandom, systemScheduler } from '../seams.js';
import { AdviceBudget } from './advice-budget.js';
import { RememberedSessions } from './recall-sessions.js';
import { RememberedVerifications } from './verifications.js';

/** What differs between a daemon and an inline node. */
type OwnParts = Pick<
  Services,
  | 'store'
  | 'hooks'
  | 'semantic'
  | 'reranker'
  | 'models'
  | 'tokens'
  | 'touches'
  | 'settings'
  | 'log'
  | 'condition'
  | 'catalogue'
  | 'isMember'
  | 'members'
  | 'onDecision'
  | 'tracing'
  | 'examine'
  | 'screen'
>;

/** The services of a node: its own parts, and what every node of this machine shares. */
export function servicesOf(identity: MachineIdentity, own: OwnParts): Services {
  const { hooks, isMember } = own;
  const { peerId } = identity;
  return {
    ...own,
    reads: new ReadLimiter({ settings: own.settings, crypto: systemCrypto }),
    store: new TellingStore(own.store, {
      ...{ hooks, isMember, peerId, settings: own.settings },
      ...{ clock: systemClock, crypto: systemCrypto },
    }),
    recallSessions: new RememberedSessions(),
    verifications: new RememberedVerifications(),
    storeAdvice: new AdviceBudget(systemClock, systemScheduler),
    clock: systemClock,
    random: systemRandom,
    crypto: systemCrypto,
    peerId,
    machineKey: identity.key,
  };
}
