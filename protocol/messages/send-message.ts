import { failed } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import type { ReadMember } from '../decide/command-shape.js';
import { shaped } from '../decide/command-shape.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { chargeFor } from '../identity/ensure-quota.js';
import { newMemory, ofMemory } from '../memory/command-members.js';
import type { Memory } from '../memory/memory.js';
import { insertMemory } from '../memory/memory-writes.js';
import { memoryById } from '../memory/reads.js';
import { isMail } from '../namespaces/mail.js';

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
function* decideSendMessage(
  { memory, again }: SendMessage,
  context: DecisionContext,
): Deciding<SendMessageOutcome> {
  const { id } = memory;
  if (again === true && (yield* memoryById(id)) !== null) return decided({ id }, []);
  const charge = yield* chargeFor(memory, null, context);
  if (!charge.ok) return failed(charge.error);
  return decided({ id }, [...charge.value, insertMemory(memory)]);
}

const message: ReadMember<Memory> = {
  read: (value, by) => {
    const memory = newMemory.read(value, by);
    return memory !== undefined && isMail(memory.namespace) ? memory : undefined;
  },
};

export const sendMessageCommand = defineCommand({
  kind: 'send-message',
  decide: decideSendMessage,
  gate: { action: 'store', saysText: true, proposes: (held) => ofMemory(held) },
  read: shaped<SendMessage>('send-message', { memory: message }),
  writes: ['mail', 'reserved'],
  tells: { post_store: ({ outcome }) => [{ memory: outcome.id }] },
});
