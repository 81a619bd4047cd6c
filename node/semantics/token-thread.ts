import { parentPort } from 'node:worker_threads';
import { systemClock } from '../seams.js';
import { countsWithin } from './budget.js';
import { loadTokenCounting } from './count-tokens.js';
import type { CountCall, CountReply } from './token-messages.js';

/** Entry of the thread that counts tokens: answers one call after the other. */
const port = parentPort;
if (port === null) throw new Error('the token thread needs a parent');

const count = loadTokenCounting();

port.on('message', (call: CountCall) => {
  port.postMessage({ id: call.id, counts: countsOf(call) } satisfies CountReply);
});

function countsOf({ texts, budget, withinMs }: CountCall): readonly number[] | null {
  const untilMs = systemClock.monotonicMs() + withinMs;
  const counts: number[] = [];
  for (const tokens of countsWithin(texts, budget, count)) {
    counts.push(tokens);
    if (systemClock.monotonicMs() > untilMs) return null;
  }
  return counts;
}
