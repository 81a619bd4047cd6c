import { Counter, Gauge, type Registry } from 'prom-client';
import type { Hooks } from '../../actors/hooks/hooks.js';

const LABELS = ['hook', 'event'] as const;
type Label = (typeof LABELS)[number];

/**
 * What a node counts about its hooks; there are few hooks, so each may have its own label. A label does not name the program: not
 * everyone who reads metrics may know paths of this machine.
 */
export class HookMetrics {
  readonly #fired: Counter<Label>;
  readonly #dropped: Counter<Label>;
  readonly #timeouts: Counter<Label>;
  readonly #denied: Counter<Label>;
  readonly #latency: Gauge<Label>;
  readonly #untold: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = (name: string, help: string) =>
      new Counter({ name, help, labelNames: LABELS, registers });
    this.#fired = counter('svc_hook_events_fired_total', 'Runs of a hook');
    this.#dropped = counter(
      'svc_hook_events_dropped_total',
      'Runs of a hook that gave no decision: failed, too slow, or without room',
    );
    this.#timeouts = counter('svc_hook_timeouts_total', 'Runs of a hook that did not answer in time');
    this.#denied = counter('svc_hook_denied_total', 'Calls that a hook denied');
    this.#latency = new Gauge({
      name: 'svc_hook_mean_latency_us',
      help: 'Mean microseconds of the runs of a hook',
      labelNames: LABELS,
      registers,
    });
    this.#untold = new Counter({
      name: 'svc_hook_events_untold_total',
      help: 'Events that have happened and were not told to their hooks for lack of room',
      registers,
    });
  }

  /** Shows the figures of the hooks as they are now. */
  show(hooks: Pick<Hooks, 'report' | 'dropped'>): void {
    for (const each of [
      this.#fired,
      this.#dropped,
      this.#timeouts,
      this.#denied,
      this.#latency,
      this.#untold,
    ])
      each.reset();
    for (const { index, event, ...figures } of hooks.report()) {
      const labels = { hook: String(index), event };
      this.#fired.inc(labels, figures.events_fired);
      this.#dropped.inc(labels, figures.events_dropped);
      this.#timeouts.inc(labels, figures.timeouts);
      this.#denied.inc(labels, figures.denied);
      this.#latency.set(labels, figures.mean_latency_us);
    }
    this.#untold.inc(hooks.dropped);
  }
}
