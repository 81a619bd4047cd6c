import type { Log } from '../../protocol/base/seams.js';
import type { Settings } from '../config/settings.js';
import type { Metrics } from './metrics.js';
import type { Tracing } from './tracing.js';

/** What a node sends to a collector. */
export interface Telemetry {
  /** Null where no spans are sent. */
  readonly tracing: Tracing | null;
  /** Sends what is left, within a bound. Never rejects. */
  close(): Promise<void>;
}

export interface TelemetryParts {
  readonly settings: Settings;
  readonly metrics: Metrics;
  /** The node in its mesh. */
  readonly peerId: string;
  readonly log: Log;
}
