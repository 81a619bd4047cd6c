import type { Telemetry, TelemetryParts } from './telemetry.js';

const NONE: Telemetry = { tracing: null, close: () => Promise.resolve() };

/** Spans and metrics over OTLP where `[telemetry] otlp_endpoint` is set; its library is loaded only there. */
export async function openTelemetry(parts: TelemetryParts): Promise<Telemetry> {
  const { otlpEndpoint, otlpTraces, otlpMetrics } = parts.settings;
  if (otlpEndpoint === null || !(otlpTraces || otlpMetrics)) return NONE;
  const { OtlpTelemetry } = await import('./otlp.js');
  return new OtlpTelemetry(parts, otlpEndpoint);
}
