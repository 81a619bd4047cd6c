import { type Reading, recordsWith } from '../decide/reads.js';
import type { Row } from '../decide/rows.js';
import { type Checkpoint, checkpointKind } from './checkpoint-kind.js';
import { ownPeer } from './home-here.js';
import { SAME_ID_MAX } from './limits.js';

/** The checkpoint of an id. One that this node made comes before one of another node with the same id. */
export function* checkpointNamed(checkpointId: string): Reading<Row<Checkpoint> | null> {
  const self = yield* ownPeer();
  const asked = {
    ...{ kind: checkpointKind.name, member: 'checkpoint_id', value: checkpointId, limit: SAME_ID_MAX },
  };
  const found = yield* recordsWith(asked);
  const row = found.find(({ image }) => (image as Checkpoint).maker === self) ?? found[0];
  return (row as Row<Checkpoint> | undefined) ?? null;
}
