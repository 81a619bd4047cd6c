import { z } from 'zod';
import { HEADER_TEXT_LENGTH_MAX } from '../base/limits.js';
import type { PullReply } from './bodies.js';
import { readReply } from './message-body.js';
import { have, head, instant, operation, release } from './wire-schema.js';

/** The answer to a pull, after its shape was checked. */
export interface CheckedPullReply
  extends Pick<PullReply, 'operations' | 'heads' | 'more' | 'have' | 'root' | 'wall_clock'> {
  readonly version: string | null;
  /** True when the peer serves this node nothing, and does not say what it has. */
  readonly denied: boolean;
}

const reply = z.object({
  operations: z.array(operation),
  heads: z.array(head),
  more: z.boolean(),
  have,
  root: z.string().max(HEADER_TEXT_LENGTH_MAX).nullish(),
  wall_clock: instant,
  version: release,
  scope_status: z.unknown().optional(),
});

/** Reads a peer's answer to a pull; null for anything else. The caller must still verify its chain and signatures. */
export function checkPullReply(body: Uint8Array): CheckedPullReply | null {
  const read = readReply(reply, body);
  if (read === null) return null;
  const { scope_status: status, root = null, ...said } = read;
  return { ...said, root, denied: status === 'no_allowlist_default_deny' };
}
