import type { Tier } from './memory.js';
/** The part of the life cycle that a read may move (reference-http §2.2). Seconds; null means never. */
export interface LifePolicy {
  readonly extendSeconds: Readonly<Record<Tier, number | null>>;
  readonly promoteAccessCount: number;
}
