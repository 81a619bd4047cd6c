import type { z } from 'zod';
import { PEER_REPLY_BYTES_MAX } from '../base/limits.js';
import { fail, ok, type Result } from '../base/result.js';

/** Reads the body of a message with a schema: VALIDATION_FAILED names a field with another shape. */
export function readBody<T>(schema: z.ZodType<T>, body: Readonly<Record<string, unknown>>): Result<T> {
  const read = schema.safeParse(body);
  if (read.success) return ok(read.data);
  const [issue] = read.error.issues;
  const field = issue?.path.join('.') ?? '';
  return fail('VALIDATION_FAILED', `${field}: ${issue?.message ?? 'is invalid'}`, { fields: [field] });
}

/** Reads the body of a peer's answer with a schema; null for anything else. The contents are not verified. */
export function readReply<T>(schema: z.ZodType<T>, body: Uint8Array): T | null {
  const value = parse(body, PEER_REPLY_BYTES_MAX);
  if (value === undefined) return null;
  const read = schema.safeParse(value);
  return read.success ? read.data : null;
}

const REFUSAL_BYTES_MAX = 65_536;

/** The tag in the body of a refusal, for people and metrics; null when there is no short and plain tag. */
export function errorTagOf(body: Uint8Array): string | null {
  const value = parse(body, REFUSAL_BYTES_MAX);
  if (value === null || typeof value !== 'object') return null;
  for (const key of ['code', 'error']) {
    const tag = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof tag === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(tag)) return tag;
  }
  return null;
}

/** By how many milliseconds the sender's clock is ahead of the peer's, where a refusal says so. */
export function skewOf(body: Uint8Array): number | null {
  const value = parse(body, REFUSAL_BYTES_MAX) as { readonly skew_ms?: unknown } | null | undefined;
  const skew = value?.skew_ms;
  return typeof skew === 'number' && Number.isFinite(skew) ? skew : null;
}

/** Parses JSON in UTF-8; undefined for other bytes, and for too many bytes. */
function parse(body: Uint8Array, bytesMax: number): unknown {
  if (body.byteLength > bytesMax) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
