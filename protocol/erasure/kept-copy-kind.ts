import type { Instant } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, type Done, decided } from '../decide/deciding.js';
import { putRow } from '../decide/local-rows.js';
import { localKind } from '../kinds/local-kind.js';

/** A file into which this node wrote memories, and which an erasure does not reach. */
export interface KeptCopy {
  readonly path: string;
  readonly what: 'backup' | 'export';
  readonly made_at: Instant;
}

export const keptCopyKind = localKind<KeptCopy>({
  name: 'kept-copy',
  table: 'kept_copies',
  key: ['path'],
  members: { path: 'text', what: 'text', made_at: 'text' },
  indexes: [['made_at']],
});

/** Notes such a file, so that later erasures name it. */
export interface NoteCopy {
  readonly kind: 'note-copy';
  readonly path: string;
  readonly what: KeptCopy['what'];
}

// biome-ignore lint/correctness/useYield: it reads nothing
function* decideNoteCopy({ path, what }: NoteCopy, { now }: DecisionContext): Deciding<Done> {
  return decided({}, [putRow(keptCopyKind, { path, what, made_at: now })]);
}

export const noteCopyCommand = defineCommand({
  kind: 'note-copy',
  decide: decideNoteCopy,
  gate: 'operator',
});
