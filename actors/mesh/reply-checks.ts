import { HEADER_TEXT_LENGTH_MAX, HEADER_WORD_LENGTH_MAX } from '../../protocol/limits.js';
import type {
  Have,
  ParkedOperation,
  PullReply,
  PushReply,
  RefusedOperation,
  SignedHead,
  WireOperation,
} from '../../protocol/mesh/wire.js';

/** The parts of a push's answer that the sender goes by. */
export type CheckedPushReply = Pick<
  PushReply,
  'applied' | 'noop' | 'have' | 'refused' | 'parked' | 'wall_clock'
> & {
  readonly version: string | null;
  /** Who answers; null where that is not said. */
  readonly receiver: string | null;
};

/** The answer of a pull, checked. */
export type CheckedPullReply = Pick<
  PullReply,
  'operations' | 'heads' | 'more' | 'have' | 'root' | 'wall_clock'
> & {
  readonly version: string | null;
  /** It serves this node nothing, and does not say what it has. */
  readonly denied: boolean;
};

/** An answer beyond this is not read. */
const REPLY_BYTES_MAX = 16 * 1024 * 1024;
const ORIGINS_MAX = 100_000;
const TEXT_MAX = 1024;

/** What a peer answered to a push, or null for anything that is not such an answer. Nothing of it is believed. */
export function checkPushReply(body: Uint8Array): CheckedPushReply | null {
  const value = parse(body);
  if (value === null) return null;
  const { applied, noop, have, refused, parked, wall_clock: wallClock } = value;
  if (!isCount(applied) || !isCount(noop) || !isHave(have) || !isInstant(wallClock)) return null;
  if (!isListOf(refused, isRefusal) || !isListOf(parked, isParked)) return null;
  const receiver = isText(value['receiver_agent_id']) ? value['receiver_agent_id'] : null;
  return { applied, noop, have, refused, parked, wall_clock: wallClock, version: versionOf(value), receiver };
}

/** What a peer answered to a pull, or null. The chain and the signatures in it are for the receiver to verify. */
export function checkPullReply(body: Uint8Array): CheckedPullReply | null {
  const value = parse(body);
  if (value === null) return null;
  const { operations, heads, more, have, root, wall_clock: wallClock } = value;
  if (!isListOf(operations, isOperation) || !isListOf(heads, isHead)) return null;
  if (typeof more !== 'boolean' || !isHave(have) || !isInstant(wallClock)) return null;
  if (root !== null && root !== undefined && !isText(root)) return null;
  return {
    operations,
    heads,
    more,
    have,
    root: root ?? null,
    wall_clock: wallClock,
    version: versionOf(value),
    denied: value['scope_status'] === 'no_allowlist_default_deny',
  };
}

/** The tag of a refusal's body, for people and metrics; null where there is none that is short and plain. */
export function errorTagOf(body: Uint8Array): string | null {
  const value = body.byteLength <= 65_536 ? parse(body) : null;
  for (const key of ['code', 'error']) {
    const tag = value?.[key];
    if (typeof tag === 'string' && /^[A-Za-z0-9_]{1,64}$/.test(tag)) return tag;
  }
  return null;
}

type Fields = Record<string, unknown>;

function parse(body: Uint8Array): Fields | null {
  if (body.byteLength > REPLY_BYTES_MAX) return null;
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isText(value: unknown, max = TEXT_MAX): value is string {
  return typeof value === 'string' && value.length <= max;
}

function isInstant(value: unknown): value is string {
  return isText(value, 64) && !Number.isNaN(Date.parse(value));
}

function isListOf<T>(value: unknown, check: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(check);
}

function isHave(value: unknown): value is Have {
  if (!isObject(value)) return false;
  const entries = Object.entries(value);
  return entries.length <= ORIGINS_MAX && entries.every(([origin, seq]) => isText(origin) && isCount(seq));
}

function isRefusal(value: unknown): value is RefusedOperation {
  return isObject(value) && isText(value['origin']) && isCount(value['seq']) && isText(value['reason'], 64);
}

function isParked(value: unknown): value is ParkedOperation {
  return isObject(value) && isText(value['op_id']) && isText(value['reason'], 64);
}

const HEX_64 = /^[0-9a-f]{64}$/;

function isHash(value: unknown): value is string {
  return typeof value === 'string' && HEX_64.test(value);
}

function isHead(value: unknown): value is SignedHead {
  if (!isObject(value)) return false;
  return (
    isText(value['origin']) &&
    isCount(value['seq']) &&
    isHash(value['hash']) &&
    isText(value['signature'], 128)
  );
}

function isOperation(value: unknown): value is WireOperation {
  if (!isObject(value)) return false;
  const { origin, seq, hlc, kind, namespace, subject, seen, payloadHash, prevHash, payload } = value;
  if (!isText(origin) || !isCount(seq) || seq < 1 || !isText(hlc, 64)) return false;
  // What a push is taken with, a pull must be able to carry on.
  if (!isText(kind, HEADER_WORD_LENGTH_MAX)) return false;
  if (!isText(namespace, HEADER_TEXT_LENGTH_MAX) || !isText(subject, HEADER_TEXT_LENGTH_MAX)) return false;
  if (!isHave(seen) || !isHash(payloadHash)) return false;
  return isHash(prevHash) && (payload === null || isText(payload, REPLY_BYTES_MAX));
}

function versionOf(value: Fields): string | null {
  const { version } = value;
  return isText(version, 64) ? version : null;
}
