import assert from 'node:assert/strict';
import { it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { run } from './cli-process.js';

it('a recall finds the records of agents only where it names their namespace', {
  timeout: 60_000,
}, async () => {
  const home = temporaryFolder('internal-namespaces');
  await run(home, ['agents', 'register', '--agent-id', 'ai:planner', '--agent-type', 'ai:generic']);
  await run(home, ['store', '--title', 'planner', '--content', 'The planner agent works on Tuesdays']);
  const namespaces = async (...args: string[]) => {
    const { out } = await run(home, ['recall', ...args, '--json']);
    const { memories } = JSON.parse(out) as { memories: { namespace: string }[] };
    return memories.map(({ namespace }) => namespace);
  };
  assert.deepEqual(await namespaces('planner agent'), ['global']);
  // Also by its exact title.
  assert.equal((await namespaces('agent:ai:planner')).includes('_agents'), false);
  assert.deepEqual(await namespaces('planner agent', '--namespace', '_agents'), ['_agents']);
});
