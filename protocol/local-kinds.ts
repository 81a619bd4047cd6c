import type { LocalKind } from './kinds/local-kind.js';

/** Every kind of rows that only this node has. Declare a new one in its feature and list it here. */
export const LOCAL_KINDS: readonly LocalKind[] = [];
