import type { Clock } from '../../protocol/base/seams.js';
import type { Kinds } from '../../protocol/kinds/kinds.js';
import type { PeerTransport } from '../../protocol/wire/transport.js';
import type { Store } from '../../storage/port.js';
import type { Damage } from './damage.js';
import type { Fault } from './faults.js';
import type { Receiver } from './network.js';
import type { SimNode } from './sim-node.js';

/**
 * A planted bug. It sits around the seams of one node and changes what goes through, never in the product's own code,
 * and the simulator must notice.
 */
export interface Mutant {
  readonly name: string;
  /** What a developer would have done wrong. */
  readonly bug: string;
  /** It is caught within so many seeds, counted from 1. */
  readonly seeds: number;
  /** Every run of it has actions and leases. */
  readonly actions?: true;
  /** Faults that bring it out, instead of the seed's choice. */
  readonly faults?: readonly Fault[];
  /** What is damaged, instead of everything; nobody scrubs then. */
  readonly damages?: readonly Damage[];
  readonly store?: (store: Store, node: SimNode) => Store;
  readonly transport?: (transport: PeerTransport, node: SimNode) => PeerTransport;
  readonly receiver?: (receiver: Receiver, node: SimNode) => Receiver;
  readonly clock?: (clock: Clock, node: SimNode) => Clock;
  /** The kinds of every node, instead of those of the simulator. */
  readonly kinds?: Kinds;
}
