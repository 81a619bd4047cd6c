/** The tables that hold what memories say. */
const HOLDING_TEXT = [
  ...['memories', 'memories_fts', 'memory_embeddings', 'coming_embeddings', 'archived_memories'],
  // A tombstone has the title until the erasure.
  ...['operations', 'records', 'tombstones'],
  ...['jobs', 'announced_events', 'subscription_events', 'subscription_dlq'],
];

/** Takes away dead rows, which hold what was removed. The server's own log and its archives are the operator's. */
export const VACUUM_TEXTS = `VACUUM ${HOLDING_TEXT.join(', ')}`;
