import type { Origin } from '../base/meanings.js';
/** Path below the API prefix: a WebSocket over which two nodes tell each other about new operations. */
export const HINTS_PATH = '/mesh/hints';

/**
 * "I have something new" (design: mesh, "Three layers"). Never authoritative: a node that receives a hint asks for the
 * operations, and a node that misses it asks in the next round.
 */
export interface Hint {
  /** The sender's own origin, and its last sequence. */
  readonly origin: Origin;
  readonly seq: number;
}

const TEXT_LENGTH_MAX = 300;

export const formatHint = ({ origin, seq }: Hint): string => JSON.stringify({ origin, seq });

/** What a message says; null for a message that is not a hint. Unknown keys of later releases are ignored. */
export function parseHint(text: string): Hint | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { origin, seq } = (value ?? {}) as { readonly origin?: unknown; readonly seq?: unknown };
  if (typeof origin !== 'string' || origin.length > TEXT_LENGTH_MAX) return null;
  return Number.isSafeInteger(seq) && (seq as number) >= 0 ? { origin, seq: seq as number } : null;
}
