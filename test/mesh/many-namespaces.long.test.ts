import { it } from 'node:test';
import { repairAmong, startPair } from '../support/many-namespaces.js';

it('one lost row among 100,000 namespaces is found and repaired', {
  timeout: 600_000,
}, async (context) => {
  const pair = startPair();
  try {
    const { tookMs, largest } = await repairAmong(pair, 100_000);
    context.diagnostic(`repaired after ${tookMs} ms; the largest question had ${largest} bytes`);
  } finally {
    await pair.stop();
  }
});
