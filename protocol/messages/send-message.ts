import { failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { chargeFor } from '../identity/ensure-quota.js';
import type { Memory } from '../memory/memory.js';
import { insertMemory } from '../memory/memory-writes.js';
import { memoryById } from '../memory/reads.js';

/** Puts a message into the inbox of its addressee. */
export interface SendMessage {
  readonly kind: 'send-message';
  /** The complete row, without stamps. */
  readonly memory: Memory;
  readonly viewer: Viewer;
  /** True for a command that was sent before and not answered: a row with its id answers it. */
  readonly again?: true;
}

/** What `send-message` answers. */
export interface SendMessageOutcome {
  readonly id: string;
}

/** Sends a message. Every message is a row of its own, also one with the title of another. */
export function* decideSendMessage(
  { memory, again }: SendMessage,
  context: DecisionContext,
): Deciding<SendMessageOutcome> {
  const { id } = memory;
  if (again === true && (yield* memoryById(id)) !== null) return decided({ id }, []);
  const charge = yield* chargeFor(memory, null, context);
  if (!charge.ok) return failed(charge.error);
  return decided({ id }, [...charge.value, insertMemory(memory)]);
}
