import { urlProblem } from './base-url.js';
import type { SettingRows } from './setting-row.js';

/** What `serve` sends to an OpenTelemetry collector. */
export const TELEMETRY_ROWS = {
  otlpEndpoint: {
    type: 'text',
    default: null,
    check: urlProblem,
    env: 'SVC_OTLP_ENDPOINT',
    config: 'telemetry.otlp_endpoint',
    doc: 'Collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; /v1/traces and /v1/metrics are added. Without it nothing is sent.',
  },
  otlpTraces: {
    type: 'boolean',
    default: true,
    config: 'telemetry.otlp_traces',
    doc: 'Send a span for each call.',
  },
  otlpTraceRatio: {
    type: 'number',
    default: 1,
    min: 0,
    max: 1,
    config: 'telemetry.otlp_trace_ratio',
    doc: 'Which part of the traces that begin here is sent; a caller that sends traceparent decides for its own.',
  },
  otlpMetrics: {
    type: 'boolean',
    default: true,
    config: 'telemetry.otlp_metrics',
    doc: 'Send the metrics of GET /metrics.',
  },
  otlpMetricsIntervalMs: {
    type: 'integer',
    default: 60,
    min: 1,
    max: 86_400,
    unit: 's',
    convert: (seconds: number) => seconds * 1000,
    config: 'telemetry.otlp_metrics_interval_secs',
    doc: 'How often metrics are sent.',
  },
  otlpHeaders: {
    type: 'secret',
    default: null,
    env: 'SVC_OTLP_HEADERS',
    secretSection: 'telemetry',
    doc: 'Headers that the collector wants, mostly with its key: name=value,name=value, with percent-encoding.',
  },
} as const satisfies SettingRows;
