import * as limits from '../base/limits.js';
import type { Instant, MemoryId, PeerId } from '../base/meanings.js';
import { homeId } from '../kinds/home.js';
import { isText, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, textOf } from '../kinds/replicated-value.js';

/** A node has overwritten what it held of an erased memory. Each node says so of itself. */
export interface ErasureDone {
  readonly memory_id: MemoryId;
  readonly peer_id: PeerId;
  readonly namespace: string;
  readonly done_at: Instant;
  readonly rest: Rest;
}

const word = { accepts: isText, admits: textOf(limits.REPLICATED_WORD_BYTES_MAX), default: '' } as const;

export const erasureDoneKind = recordKind<ErasureDone>({
  name: 'erasure_done',
  members: {
    memory_id: word,
    peer_id: word,
    namespace: { accepts: isText, admits: textOf(limits.HEADER_TEXT_LENGTH_MAX), default: '' },
    done_at: { accepts: isText, admits: instant, default: '' },
  },
  idOf: ({ peer_id, memory_id }) => homeId(peer_id, memory_id),
  namespaceOf: ({ namespace }) => namespace,
  losers: 'dropped',
  writer: 'maker',
  exported: false,
  isVisible: (_done, { all }) => all,
  indexes: [{ name: 'erasure_done_of', members: ['memory_id'] }],
});
