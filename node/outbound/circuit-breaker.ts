import type { Clock } from '../../protocol/base/seams.js';

/** Failures in a row that open the circuit, and how long it stays open (reference-mcp-cli §4). */
const FAILURES_MAX = 3;
const OPEN_MS = 30_000;

/**
 * Keeps callers from waiting for a service that does not answer: after three failures in a row calls are refused for
 * 30 seconds, then one call tries.
 */
export class CircuitBreaker {
  #failures = 0;
  #late = 0;
  #closedAtMs = 0;
  #lastError: string | null = null;
  #trying = false;

  constructor(private readonly clock: Pick<Clock, 'monotonicMs'>) {}

  /** Why the last call failed; null while the service answers. */
  get lastError(): string | null {
    return this.#lastError;
  }

  /** True when a call may go out. A true answer after failures is one trial, whose outcome must be reported. */
  admits(): boolean {
    if (this.#failures < FAILURES_MAX) return this.clock.monotonicMs() >= this.#closedAtMs;
    if (this.#trying || this.clock.monotonicMs() < this.#closedAtMs) return false;
    this.#trying = true;
    return true;
  }

  /** Milliseconds until the next call may go out. */
  waitMs(): number {
    return Math.max(0, this.#closedAtMs - this.clock.monotonicMs());
  }

  succeeded(): void {
    this.#failures = 0;
    this.#late = 0;
    this.#closedAtMs = 0;
    this.#lastError = null;
    this.#trying = false;
  }

  /** The service answered, but not with vectors; what it was before stays. */
  settled(): void {
    this.#trying = false;
    this.#late = 0;
  }

  /** `restMs`: how long the service asked for no requests. True when this failure opened the circuit. */
  failed(reason: string, restMs: number | null = null): boolean {
    this.#failures += 1;
    this.#lastError = reason;
    this.#trying = false;
    const opens = this.#failures >= FAILURES_MAX;
    const rest = restMs ?? (opens ? OPEN_MS : 0);
    this.#closedAtMs = Math.max(this.#closedAtMs, this.clock.monotonicMs() + rest);
    return opens;
  }

  /** The service asks for no requests for a while, which is no failure. */
  rest(reason: string, restMs: number): void {
    this.#lastError = reason;
    this.#trying = false;
    this.#closedAtMs = Math.max(this.#closedAtMs, this.clock.monotonicMs() + restMs);
  }

  /** A caller gave up the call itself, so a trial that it was has ended too. */
  abandoned(reason: string): void {
    this.#trying = false;
    this.late(reason);
  }

  /** A caller gave up waiting. Several in a row without an answer in between count as failures. */
  late(reason: string): void {
    this.#late += 1;
    if (this.#late < FAILURES_MAX) return;
    this.#late = 0;
    this.#failures = Math.max(this.#failures, FAILURES_MAX - 1);
    this.failed(reason);
  }
}
