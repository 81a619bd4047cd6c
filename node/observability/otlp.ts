import { ROOT_CONTEXT, SpanKind, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode, parseKeyPairsIntoRecord } from '@opentelemetry/core';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Log } from '../../protocol/base/seams.js';
import { shownUrl } from '../config/shown-url.js';
import { systemClock, systemScheduler } from '../seams.js';
import { VERSION } from '../version.js';
import { RegistryProducer } from './registry-producer.js';
import type { Telemetry, TelemetryParts } from './telemetry.js';
import type { TracedCall, TracedOutcome, Tracing } from './tracing.js';

/** How long an export may take, and how many spans wait for one; further ones are dropped. */
const EXPORT_MS = 5_000;
const SPANS_WAITING_MAX = 2_048;
const SPANS_AT_ONCE_MAX = 512;
const SPANS_EVERY_MS = 2_000;
/** How long the end of a node waits for its last export. */
const CLOSE_MS = 3_000;

const SERVICE = 'mnemesh';
const SCOPE = { name: SERVICE, version: VERSION };

/** Sends spans and metrics to a collector, as JSON over HTTP. What fails is dropped, and no call ever waits for it. */
export class OtlpTelemetry implements Telemetry {
  readonly tracing: Tracing | null;
  readonly #providers: readonly { shutdown(): Promise<void> }[];

  constructor(parts: TelemetryParts, endpoint: string) {
    const { settings, peerId, log } = parts;
    const resource = resourceFromAttributes({
      'service.name': SERVICE,
      'service.version': VERSION,
      'service.instance.id': peerId,
    });
    const collector = new Collector(endpoint, log);
    const headers = headersOf(settings.otlpHeaders?.reveal() ?? '', log);
    const to = (path: string) => ({
      ...{ url: `${endpoint.replace(/\/+$/, '')}${path}`, headers, timeoutMillis: EXPORT_MS },
    });
    const traces = settings.otlpTraces
      ? tracerProvider(
          resource,
          settings.otlpTraceRatio,
          collector.hears('traces', new OTLPTraceExporter(to('/v1/traces'))),
        )
      : null;
    const metrics = settings.otlpMetrics
      ? meterProvider(parts, resource, collector.hears('metrics', new OTLPMetricExporter(to('/v1/metrics'))))
      : null;
    this.tracing = traces === null ? null : new Spans(traces.getTracer(SCOPE.name, SCOPE.version));
    this.#providers = [traces, metrics].filter((each) => each !== null);
  }

  async close(): Promise<void> {
    const ended = Promise.allSettled(this.#providers.map((each) => each.shutdown()));
    let timer: { cancel(): void } | null = null;
    const late = new Promise<void>((resolve) => {
      timer = systemScheduler.after(CLOSE_MS, resolve, { keepAlive: true });
    });
    await Promise.race([ended, late]);
    (timer as { cancel(): void } | null)?.cancel();
  }
}

function tracerProvider(resource: Resource, ratio: number, exporter: OTLPTraceExporter): TracerProvider {
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: SPANS_WAITING_MAX,
    maxExportBatchSize: SPANS_AT_ONCE_MAX,
    scheduledDelayMillis: SPANS_EVERY_MS,
    exportTimeoutMillis: EXPORT_MS,
  });
  const sampler = new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) });
  return new TracerProvider({ resource, sampler, spanProcessors: [processor] });
}

function meterProvider(
  { settings, metrics }: TelemetryParts,
  resource: Resource,
  exporter: OTLPMetricExporter,
): MeterProvider {
  const { nowMs } = systemClock;
  const producer = new RegistryProducer({ read: () => metrics.read(), nowMs, resource, scope: SCOPE });
  const every = settings.otlpMetricsIntervalMs;
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: every,
    exportTimeoutMillis: Math.min(EXPORT_MS, every),
    metricProducers: [producer],
  });
  return new MeterProvider({ resource, readers: [reader] });
}

/** A span for each call. */
class Spans implements Tracing {
  constructor(private readonly tracer: Tracer) {}

  begin({ operation, surface, parent }: TracedCall): (outcome: TracedOutcome) => void {
    const context =
      parent === null
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, {
            traceId: parent.traceId,
            spanId: parent.spanId,
            traceFlags: parent.sampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
            isRemote: true,
          });
    const attributes = { 'svc.operation': operation, 'svc.surface': surface };
    const span = this.tracer.startSpan(operation, { kind: SpanKind.SERVER, attributes }, context);
    return ({ code, isFault }) => {
      span.setAttribute('svc.outcome', code);
      if (isFault) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    };
  }
}

interface Exporter<Batch> {
  export(batch: Batch, done: (result: ExportResult) => void): void;
}

/** Says once that the collector is away, and once that it takes everything again. */
class Collector {
  private readonly failing = new Set<string>();

  constructor(
    private readonly endpoint: string,
    private readonly log: Log,
  ) {}

  /** The exporter, whose outcomes are heard. */
  hears<Batch, E extends Exporter<Batch>>(signal: string, exporter: E): E {
    const send = exporter.export.bind(exporter);
    exporter.export = (batch, done) =>
      send(batch, (result) => {
        this.heard(signal, result);
        done(result);
      });
    return exporter;
  }

  private heard(signal: string, { code, error }: ExportResult): void {
    const wasAway = this.failing.size > 0;
    if (code === ExportResultCode.SUCCESS) this.failing.delete(signal);
    else this.failing.add(signal);
    const isAway = this.failing.size > 0;
    if (isAway === wasAway) return;
    const collector = shownUrl(this.endpoint);
    if (isAway) {
      const facts = { collector, signal, cause: causeOf(error) };
      this.log.warn(facts, 'the collector does not take telemetry; the node works without it');
    } else this.log.info({ collector }, 'the collector takes telemetry again');
  }
}

/** The status or the code of a failure; its text may quote what the collector said. */
function causeOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (typeof code === 'number') return `status ${code}`;
  return typeof code === 'string' ? code : 'no answer in time';
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The headers that a text names, `name=value,name=value`. Those that no request can have are left out, and never shown. */
function headersOf(text: string, log: Log): Record<string, string> {
  const parsed = Object.entries(parseKeyPairsIntoRecord(text));
  const sound = parsed.filter(([name, value]) => NAME.test(name) && VALUE.test(value));
  if (text !== '' && (sound.length === 0 || sound.length < parsed.length))
    log.warn({}, 'the headers for the collector are not all of the form name=value; those are left out');
  return Object.fromEntries(sound);
}
