import { KINDS } from '../../protocol/kinds/kinds.js';

/** What replicates in the simulator. */
export const SIM_KINDS = KINDS;
