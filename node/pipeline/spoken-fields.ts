import { z } from 'zod';
import { CONVERSATION_BYTES_MAX, TURN_MAX } from '../../protocol/memory/conversation.js';
import { words } from './fields.js';

/** The place of a memory in a conversation (`Spoken`). */
export const spoken = {
  conversation: words(CONVERSATION_BYTES_MAX)
    .describe('Conversation that it is a part of; recall reads the turns around it')
    .optional(),
  turn: z
    .int()
    .min(0)
    .max(TURN_MAX)
    .describe('Its place in that conversation; the time of its creation unless given')
    .optional(),
} as const;
