import type { Hlc, Origin } from '../base/meanings.js';
import type { VersionVector } from '../base/version-vector.js';

/** The stamps of a row: its last operation, and the operations that it has seen, the last one included. */
export interface RowStamp {
  readonly hlc: Hlc;
  readonly origin: Origin;
  readonly origin_seq: number;
  readonly seen: VersionVector;
}

/** The row of a subject. The image of a memory is its MemoryRow. */
export interface Row<I extends object = object> {
  readonly id: string;
  readonly namespace: string;
  readonly image: I;
  readonly stamp: RowStamp;
}

/** The process that does the embedding, expiry and replication for a database (design: architecture). */
export interface DatabaseOwner {
  readonly holder: string;
  readonly role: 'daemon' | 'mcp';
  /** Increases by one with every change of holder. */
  readonly fencing: number;
  /** Wall-clock milliseconds. */
  readonly expiresAtMs: number;
}

/** A row that an action was requested about, as it was then: its version, and the digest of its text. */
export interface SeenRow {
  readonly kind: 'memory' | 'link';
  readonly id: string;
  /** 0 for a link, which has no versions. */
  readonly version: number;
  /** SHA-256, hex. What reads move (the expiry, the tier, the counts) is not part of it. */
  readonly digest: string;
}
