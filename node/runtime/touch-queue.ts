import {
  EXTEND_SECONDS,
  OBSERVATIONS_BATCH_MAX,
  OBSERVATIONS_PENDING_MAX,
  PROMOTE_ACCESS_COUNT,
  TOUCH_BATCH_MAX,
  TOUCH_FLUSH_INTERVAL_MS,
  TOUCHES_PENDING_MAX,
} from '../../protocol/base/limits.js';
import type { Result } from '../../protocol/base/result.js';
import type { Log, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { ObservedRecall } from '../../protocol/confidence/observe.js';
import type { LifePolicy } from '../../protocol/memory/life-policy.js';
import type { RecallConsumption, RecallObservation } from '../../protocol/memory/recall-ledger.js';
import type { SchemaDenial } from '../../protocol/policies/note-schema-denial.js';
import type { Command } from '../../protocol/release.js';
import type { Store } from '../../storage/port.js';
import type { TouchQueue } from '../pipeline/call.js';

const POLICY: LifePolicy = { extendSeconds: EXTEND_SECONDS, promoteAccessCount: PROMOTE_ACCESS_COUNT };

interface Touch {
  count: number;
  lastAt: string;
}

/**
 * Collects the touches of recalls, merged by memory, and writes them in the background lane, so that reading never
 * waits for the writer. A crash may lose touches, never memories (decisions, "Memory").
 */
export class DeferredTouches implements TouchQueue {
  private pending = new Map<string, Touch>();
  private observations: RecallObservation[] = [];
  private consumptions: RecallConsumption[] = [];
  private confidences: ObservedRecall[] = [];
  private timer: Timer | null = null;
  private flushing: Promise<void> | null = null;
  private closed = false;
  /** Touches that were dropped because the queue was full. */
  dropped = 0;
  /** Recalls without recorded observations, because too many were waiting. */
  observationsDropped = 0;

  constructor(
    private readonly store: Store,
    private readonly scheduler: Scheduler,
    private readonly log: Log,
    private readonly policy: LifePolicy = POLICY,
  ) {}

  touch(ids: readonly string[], now: string): void {
    if (this.closed) return;
    for (const id of ids) {
      const known = this.pending.get(id);
      if (known !== undefined) {
        known.count += 1;
        known.lastAt = now;
      } else if (this.pending.size < TOUCHES_PENDING_MAX) {
        this.pending.set(id, { count: 1, lastAt: now });
      } else {
        this.dropped += 1;
      }
    }
    this.arm();
  }

  /** A recall is recorded as a whole or not at all; its answer does not depend on that. */
  observe(observation: RecallObservation): void {
    if (this.closed || observation.memoryIds.length === 0) return;
    if (this.observations.length >= OBSERVATIONS_PENDING_MAX) {
      this.observationsDropped += 1;
      return;
    }
    this.observations.push(observation);
    this.arm();
  }

  observeConfidence(recall: ObservedRecall): void {
    if (this.closed || this.confidences.length >= OBSERVATIONS_PENDING_MAX) return;
    this.confidences.push(recall);
    this.arm();
  }

  consume(consumption: RecallConsumption): void {
    if (this.closed || this.consumptions.length >= OBSERVATIONS_PENDING_MAX) return;
    this.consumptions.push(consumption);
    this.arm();
  }

  async noteSchemaDenial(denial: SchemaDenial): Promise<void> {
    const failed = (more: Record<string, unknown>) =>
      this.log.error(more, 'the denial of the schemas of tools could not be recorded');
    try {
      const noted = await this.store.execute({ kind: 'note-schema-denial', ...denial });
      if (!noted.ok) failed({ code: noted.error.code });
    } catch (error) {
      failed({ err: error });
    }
  }

  /** Writes everything that is pending. */
  async flush(): Promise<void> {
    while (this.flushing !== null) await this.flushing;
    if (this.isEmpty()) return;
    this.flushing = this.write().finally(() => {
      this.flushing = null;
    });
    await this.flushing;
  }

  /** Flushes and stops; later touches are ignored. */
  async close(): Promise<void> {
    this.closed = true;
    this.timer?.cancel();
    this.timer = null;
    await this.flush();
  }

  private forget(): void {
    this.pending.clear();
    this.observations = [];
    this.consumptions = [];
    this.confidences = [];
  }

  private arm(): void {
    if (this.timer !== null || this.isEmpty()) return;
    this.timer = this.scheduler.after(TOUCH_FLUSH_INTERVAL_MS, () => {
      this.timer = null;
      this.flush().then(
        () => this.arm(),
        (error) => this.log.error({ err: error }, 'touches could not be written'),
      );
    });
  }

  private isEmpty(): boolean {
    return !this.hasTouches() && this.confidences.length === 0;
  }

  private hasTouches(): boolean {
    return this.pending.size > 0 || this.observations.length > 0 || this.consumptions.length > 0;
  }

  private async write(): Promise<void> {
    if (this.hasTouches()) await this.writeTouches();
    const recalls = this.confidences.splice(0, OBSERVATIONS_BATCH_MAX);
    if (recalls.length > 0) this.judge(await this.execute({ kind: 'observe-confidence', recalls }));
    if (!this.isEmpty()) await this.write();
  }

  private async writeTouches(): Promise<void> {
    const batch = [...this.pending].slice(0, TOUCH_BATCH_MAX);
    for (const [id] of batch) this.pending.delete(id);
    const touches = batch.map(([id, touch]) => ({ id, count: touch.count, lastAt: touch.lastAt }));
    const observations = this.observations.splice(0, OBSERVATIONS_BATCH_MAX);
    // A consumption refers to its recall, so it waits until no recall is waiting.
    const consumptions = this.observations.length === 0 ? this.consumptions.splice(0) : [];
    const result = await this.execute({
      kind: 'touch-memories',
      touches,
      policy: this.policy,
      ...(observations.length === 0 ? {} : { observations }),
      ...(consumptions.length === 0 ? {} : { consumptions }),
    });
    this.judge(result);
  }

  private execute(command: Command): Promise<Result<unknown>> {
    return this.store.execute(command, { lane: 'background' });
  }

  private judge(result: Result<unknown>): void {
    // A lost count is acceptable; a retry would compete with memories.
    if (!result.ok) {
      this.log.debug({ code: result.error.code }, 'touches were dropped');
      // At the end there is no time to wait for a store that does not answer.
      if (this.closed) this.forget();
    }
  }
}
