import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Log } from '../../protocol/base/seams.js';
import type { Store } from '../../storage/port.js';
import type { ModelFeature } from './features.js';

/** What became of a request. */
export interface ModelCall {
  readonly failed: boolean;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly ms: number;
}

/** Counts requests to chat models in the database, so that all processes together keep the cap of the day. */
export class ModelMeter {
  constructor(
    private readonly store: Pick<Store, 'execute'>,
    private readonly log: Log,
    private readonly callsPerDay: number,
    private readonly onCall: (feature: ModelFeature, call: ModelCall) => void,
  ) {}

  /** The day in which the request counts. Without an answer of the database nothing is sent. */
  async begin(feature: ModelFeature): Promise<Result<{ readonly day: string }>> {
    const { callsPerDay } = this;
    const begun = await this.store.execute({ kind: 'begin-model-call', feature, callsPerDay });
    return begun.ok ? ok({ day: begun.value.day }) : failed(begun.error);
  }

  async end(feature: ModelFeature, day: string, call: ModelCall): Promise<void> {
    this.onCall(feature, call);
    const ms = Math.round(call.ms);
    const ended = await this.store.execute({ kind: 'end-model-call', feature, day, ...call, ms });
    if (!ended.ok)
      this.log.warn({ reason: ended.error.message }, 'the outcome of a model call is not counted');
  }
}
