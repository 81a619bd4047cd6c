import { type Deciding, type Done, decided } from '../decide/deciding.js';
import type { SavePeerProgress } from './peer-progress.js';

/** What a node knows of its deliveries is its own affair: local, not replicated, and true whatever was there. */
// biome-ignore lint/correctness/useYield: a decision is a generator, and this one has nothing to ask.
export function* decidePeerProgress(command: SavePeerProgress): Deciding<Done> {
  return decided({}, [{ mutation: 'save-peer-progress', command }]);
}
