import type { MemoryId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import type { Deciding, PutAside } from '../decide/deciding.js';

/** Asks what a command would do, as hooks of policies hear it. Nothing changes. */
export interface LookAtAction {
  readonly kind: 'look-at-action';
  readonly command: PutAside;
}

/** What a command would do. */
export interface SeenAction {
  /** The namespaces of its gates, each once. */
  readonly namespaces: readonly string[];
  /** Null for several. */
  readonly memoryId: MemoryId | null;
}

/** What `look-at-action` answers: null for a command that changes nothing that is gated. */
export interface LookAtActionOutcome {
  readonly action: SeenAction | null;
}

/** The failure is that of the command. */
// biome-ignore lint/correctness/useYield: the chain runs the rule of the command.
function* decideLookAtAction({ command }: LookAtAction): Deciding<LookAtActionOutcome> {
  return { ok: true, value: { value: { action: null }, mutations: [], looksAt: command } };
}

export const lookAtActionCommand = defineCommand({
  kind: 'look-at-action',
  decide: decideLookAtAction,
  gate: 'governance',
});
