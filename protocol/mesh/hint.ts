/** Below the API prefix: a WebSocket over which two nodes tell each other that there is something new. */
export const HINTS_PATH = '/mesh/hints';

/**
 * "I have something new" (design: mesh, "Three layers"). Never authoritative: who hears it asks, and who does not hear it
 * asks at the next round all the same.
 */
export interface Hint {
  /** The sender's own origin, and how far it has come. */
  readonly origin: string;
  readonly seq: number;
}

const TEXT_LENGTH_MAX = 300;

export const formatHint = ({ origin, seq }: Hint): string => JSON.stringify({ origin, seq });

/** What a message says; null for one that is no hint. Keys of later releases are passed over. */
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
