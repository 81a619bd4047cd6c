/**
 * The seams between the product and the world: time, timers, randomness and cryptography. `node/seams.ts` implements
 * them for the product, `test/sim/` for the simulator; no other code reads a clock or draws a random number (design:
 * architecture, "Seams").
 */

/** Wall clock and monotonic clock. */
export interface Clock {
  /** Milliseconds since the Unix epoch. May jump. */
  nowMs(): number;
  /** Milliseconds from an arbitrary start, never going back; for durations and deadlines inside a process. */
  monotonicMs(): number;
}

/** A timer that can be cancelled; cancelling twice is harmless. */
export interface Timer {
  cancel(): void;
}

/** Runs callbacks later. A pending timer keeps no process alive unless `keepAlive` is set. */
export interface Scheduler {
  after(delayMs: number, run: () => void, options?: { keepAlive?: boolean }): Timer;
  /** Runs after the current turn of the event loop and its I/O. */
  immediate(run: () => void): void;
}

/** Source of randomness. */
export interface Random {
  /** A version 4 UUID, lower case. */
  uuid(): string;
  /** `count` random bytes. */
  bytes(count: number): Uint8Array;
  /** A number in [0, 1), for jitter only. */
  unit(): number;
}

/** Hashing and signatures (Ed25519, RFC 8032). */
export interface Crypto {
  /** SHA-256 as lower-case hex. */
  sha256Hex(data: string | Uint8Array): string;
  sha256(data: string | Uint8Array): Uint8Array;
  /**
   * True when `signature` (64 bytes) signs `data` under `publicKey` (32 raw bytes); false for anything else, also for
   * wrong lengths; it never throws. Cofactorless, with S below the group's order. The result counts only for a key that
   * `ed25519-admission.ts` has admitted: under a key of small order anyone can make valid signatures.
   */
  verify(publicKey: Uint8Array, data: Uint8Array, signature: Uint8Array): boolean;
}

/** gzip, at once or outside the main thread. */
export interface Compressor {
  gzip(data: Uint8Array): Uint8Array;
  gzipLater(data: Uint8Array): Promise<Uint8Array>;
}

/** A private key that signs and never leaves its holder. */
export interface Signer {
  /** 32 raw bytes. */
  readonly publicKey: Uint8Array;
  /** A detached 64-byte Ed25519 signature. */
  sign(data: Uint8Array): Uint8Array;
}

/** A leveled, structured log; never give it a secret. */
export interface Log {
  debug(fields: Record<string, unknown>, message: string): void;
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}
