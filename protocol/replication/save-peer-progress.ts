import { defineCommand } from '../decide/command.js';
import { type Deciding, type Done, decided } from '../decide/deciding.js';
import { savePeerProgress } from './mutations.js';
import type { SavePeerProgress } from './peer-progress.js';

/** Saves what a node knows about its deliveries: local, not replicated, and valid whatever was stored before. */
// biome-ignore lint/correctness/useYield: a decision is a generator; this one reads nothing.
function* decidePeerProgress(command: SavePeerProgress): Deciding<Done> {
  return decided({}, [savePeerProgress({ command })]);
}

export const savePeerProgressCommand = defineCommand({
  kind: 'save-peer-progress',
  decide: decidePeerProgress,
  gate: 'upkeep',
});
