import type { HrTime } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue, MetricValueWithName } from 'prom-client';

type Registered = MetricObjectWithValues<MetricValue<string>>;

export interface ProducerParts {
  /** The metrics as `/metrics` shows them. */
  readonly read: () => Promise<readonly Registered[]>;
  readonly nowMs: () => number;
  readonly resource: Resource;
  readonly scope: { readonly name: string; readonly version: string };
}

/** Reads the registry behind `/metrics` for OTLP, so that there is one set of counters. */
export class RegistryProducer implements MetricProducer {
  private readonly startTime: HrTime;

  constructor(private readonly parts: ProducerParts) {
    this.startTime = hrTime(parts.nowMs());
  }

  async collect() {
    const { read, nowMs, resource, scope } = this.parts;
    const registered = await read();
    const times = { startTime: this.startTime, endTime: hrTime(nowMs()) };
    const metrics = registered.flatMap((each) => metricOf(each, times) ?? []);
    return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
  }
}

const hrTime = (ms: number): HrTime => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)];

interface Times {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

/** A metric of the registry as OTLP has it; null for one without values, or of another type. */
function metricOf({ name, help, type, values }: Registered, times: Times): MetricData | null {
  if (values.length === 0) return null;
  const common = {
    descriptor: { name, description: help, unit: '', valueType: DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  // The library's types and its values name types differently.
  const kind = type as unknown as string;
  if (kind === 'histogram')
    return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(values, times) };
  const dataPoints = values.map(({ value, labels }) => ({ ...times, attributes: { ...labels }, value }));
  if (kind === 'counter')
    return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints };
  return kind === 'gauge' ? { ...common, dataPointType: DataPointType.GAUGE, dataPoints } : null;
}

/** `ValueType.DOUBLE`. */
const DOUBLE = 1;

interface Gathered {
  readonly attributes: Record<string, string | number>;
  /** Upper bounds with the counts up to them. */
  readonly upTo: [bound: number, count: number][];
  sum: number;
  count: number;
}

/** Puts the rows `_bucket`, `_sum` and `_count` of each set of labels together; OTLP counts each bucket for itself. */
function histograms(values: readonly MetricValue<string>[], times: Times) {
  const points = new Map<string, Gathered>();
  for (const each of values) {
    const { value, labels, metricName = '' } = each as MetricValueWithName<string>;
    const { le, ...attributes } = labels as Record<string, string | number>;
    const key = JSON.stringify(attributes);
    const point = points.get(key) ?? { attributes, upTo: [], sum: 0, count: 0 };
    points.set(key, point);
    if (metricName.endsWith('_sum')) point.sum = value;
    else if (metricName.endsWith('_count')) point.count = value;
    else if (le !== '+Inf' && le !== undefined) point.upTo.push([Number(le), value]);
  }
  return [...points.values()].map(({ attributes, upTo, sum, count }) => {
    upTo.sort(([one], [other]) => one - other);
    const cumulative = [...upTo.map(([, counted]) => counted), count];
    const counts = cumulative.map((counted, index) => counted - (cumulative[index - 1] ?? 0));
    return {
      ...times,
      attributes,
      value: { buckets: { boundaries: upTo.map(([bound]) => bound), counts }, sum, count },
    };
  });
}
