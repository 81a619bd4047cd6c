import { z } from 'zod';

/** The span of another program, or of this one, in which a call is made. */
export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
  /** False where its program keeps no spans of this trace. */
  readonly sampled: boolean;
}

/** The header `traceparent` (W3C Trace Context); later versions may have more parts. Ids of zeros only are none. */
const traceparent = z
  .string()
  .max(256)
  .regex(/^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/)
  .refine((text) => !text.startsWith('00-') || text.length === 55);

/** What a `traceparent` says; null for one that says nothing. */
export function traceParentOf(value: unknown): TraceParent | null {
  const parsed = traceparent.safeParse(value);
  if (!parsed.success) return null;
  const [, traceId, spanId, flags] = parsed.data.split('-') as [string, string, string, string];
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 };
}

/** What a span says about a call. The names of operations and surfaces are fixed, so they hold no content. */
export interface TracedCall {
  readonly operation: string;
  readonly surface: string;
  readonly parent: TraceParent | null;
}

/** How a call ended: OK or the code of its failure. */
export interface TracedOutcome {
  readonly code: string;
  /** True for a failure of the node and not of its caller. */
  readonly isFault: boolean;
}

/** Hears of calls as they begin and end. */
export interface Tracing {
  /** Begins a span; what it returns ends it. */
  begin(call: TracedCall): (outcome: TracedOutcome) => void;
}
