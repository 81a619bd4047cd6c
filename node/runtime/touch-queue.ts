import { OBSERVATIONS_BATCH_MAX, OBSERVATIONS_PENDING_MAX } from '../../protocol/base/ledger-limits.js';
import {
  EXTEND_SECONDS,
  PROMOTE_ACCESS_COUNT,
  TOUCH_BATCH_MAX,
  TOUCH_FLUSH_INTERVAL_MS,
  TOUCHES_PENDING_MAX,
} from '../../protocol/base/limits.js';
import type { Result } from '../../protocol/base/result.js';
import type { Log, Scheduler, Timer } from '../../protocol/base/seams.js';
import type { ObservedRecall } from '../../protocol/confidence/observe.js';
import type { LifePolicy } from '../../protocol/memory/life-policy.js';
import type {
  RecallConsumption,
  RecallObservation,
  UsedMemory,
} from '../../protocol/memory/recall-ledger.js';
import type { SchemaDenial } from '../../protocol/policies/note-schema-denial.js';
import type { Command, OutcomeOf } from '../../protocol/release.js';
import type { Store } from '../../storage/port.js';
import { lifePolicyOf } from '../config/life-policy.js';
import type { Settings } from '../config/settings.js';
import type { TouchQueue } from '../pipeline/call.js';
import type { Screen } from '../secrets/screen.js';
import { screenedRecalls } from './screened-recalls.js';

const POLICY: LifePolicy = { extendSeconds: EXTEND_SECONDS, promoteAccessCount: PROMOTE_ACCESS_COUNT };

/** True for the id of a request without an agent: it has asked nothing before. */
const isOnce = (agentId: string): boolean => agentId.startsWith('anonymous:req-');

/** What the ledger of recalls keeps: recalls at all, and what was asked and used. */
export interface Keeping {
  readonly recalls: boolean;
  readonly trace: boolean;
}

const keepingOf = ({
  observationsTtlDays,
  recallTrace,
}: Pick<Settings, 'observationsTtlDays' | 'recallTrace'>): Keeping => ({
  recalls: observationsTtlDays > 0,
  trace: observationsTtlDays > 0 && recallTrace,
});

interface Parts {
  readonly store: Store;
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** Looks for secrets in what was asked. */
  readonly screen: Screen;
  readonly keeps: Keeping;
  readonly policy?: LifePolicy;
}

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
  private readonly uses = new Map<string, UsedMemory>();
  private confidences: ObservedRecall[] = [];
  private timer: Timer | null = null;
  private flushing: Promise<void> | null = null;
  private closed = false;
  /** Touches that were dropped because the queue was full. */
  dropped = 0;
  /** Recalls without recorded observations, because too many were waiting. */
  observationsDropped = 0;
  /** The answers of recalls since the start: with rows, with weak ones only, without any; their rows, and those used. */
  readonly recalled = { found: 0, weak: 0, none: 0, rows: 0, used: 0 };

  constructor(private readonly parts: Parts) {}

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
  observe({ trace, ...observation }: RecallObservation): void {
    const { keeps } = this.parts;
    const { length: rows } = observation.memoryIds;
    const isTraced = keeps.trace && trace !== undefined;
    if (this.closed || !keeps.recalls || (rows === 0 && !isTraced)) return;
    if (isTraced) {
      this.recalled[rows === 0 ? 'none' : trace.weak ? 'weak' : 'found'] += 1;
      this.recalled.rows += rows;
    }
    if (this.observations.length >= OBSERVATIONS_PENDING_MAX) {
      this.observationsDropped += 1;
      return;
    }
    this.observations.push(isTraced ? { ...observation, trace } : observation);
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

  /** The last use of a sort counts, since it may follow a later recall. */
  use(used: UsedMemory): void {
    if (this.closed || !this.parts.keeps.trace || isOnce(used.agentId)) return;
    const key = `${used.agentId}\n${used.memoryId}\n${used.how}`;
    if (this.uses.size >= OBSERVATIONS_PENDING_MAX && !this.uses.has(key)) return;
    this.uses.set(key, used);
    this.arm();
  }

  async noteSchemaDenial(denial: SchemaDenial): Promise<void> {
    const failed = (more: Record<string, unknown>) =>
      this.parts.log.error(more, 'the denial of the schemas of tools could not be recorded');
    try {
      const noted = await this.parts.store.execute({ kind: 'note-schema-denial', ...denial });
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
    this.uses.clear();
  }

  private arm(): void {
    if (this.timer !== null || this.isEmpty()) return;
    this.timer = this.parts.scheduler.after(TOUCH_FLUSH_INTERVAL_MS, () => {
      this.timer = null;
      this.flush().then(
        () => this.arm(),
        (error) => this.parts.log.error({ err: error }, 'touches could not be written'),
      );
    });
  }

  private isEmpty(): boolean {
    return !this.hasTouches() && this.confidences.length === 0;
  }

  private hasTouches(): boolean {
    const waiting = [this.observations.length, this.consumptions.length, this.uses.size];
    return this.pending.size > 0 || waiting.some((count) => count > 0);
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
    const observations = await screenedRecalls(
      this.parts.screen,
      this.observations.splice(0, OBSERVATIONS_BATCH_MAX),
    );
    // A consumption refers to its recall, and so does a use: they wait until no recall is waiting.
    const isLast = this.observations.length === 0;
    const consumptions = isLast ? this.consumptions.splice(0) : [];
    const used = isLast ? [...this.uses].slice(0, OBSERVATIONS_BATCH_MAX) : [];
    for (const [key] of used) this.uses.delete(key);
    const result = await this.execute({
      kind: 'touch-memories',
      touches,
      policy: this.parts.policy ?? POLICY,
      ...(observations.length === 0 ? {} : { observations }),
      ...(consumptions.length === 0 ? {} : { consumptions }),
      ...(used.length === 0 ? {} : { used: used.map(([, use]) => use) }),
    });
    this.judge(result);
    if (result.ok) this.recalled.used += result.value.used;
  }

  private execute<C extends Command>(command: C): Promise<Result<OutcomeOf<C>>> {
    return this.parts.store.execute(command, { lane: 'background' });
  }

  private judge(result: Result<unknown>): void {
    // A lost count is acceptable; a retry would compete with memories.
    if (!result.ok) {
      this.parts.log.debug({ code: result.error.code }, 'touches were dropped');
      // At the end there is no time to wait for a store that does not answer.
      if (this.closed) this.forget();
    }
  }
}

/** The touches of a node with such settings. */
export const touchesOf = ({
  settings,
  ...parts
}: Omit<Parts, 'keeps' | 'policy'> & { readonly settings: Settings }): DeferredTouches =>
  new DeferredTouches({ ...parts, keeps: keepingOf(settings), policy: lifePolicyOf(settings) });
