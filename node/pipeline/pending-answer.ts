import { z } from 'zod';

/** The answer of a write that waits for an approval (interface §7, 202). */
export const pendingAnswer = z.object({
  status: z.literal('pending'),
  pending_id: z.string(),
  reason: z.string(),
  action: z.string(),
  namespace: z.string(),
});
