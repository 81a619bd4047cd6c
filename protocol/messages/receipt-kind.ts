import * as limits from '../base/limits.js';
import type { AgentId, Instant, MemoryId } from '../base/meanings.js';
import { isText, isTextOrNull, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, orNull, textOf } from '../kinds/replicated-value.js';

/** The addressee of a message has read it. Its id is that of the message. */
export interface Receipt {
  readonly memory_id: MemoryId;
  readonly reader: AgentId | null;
  readonly read_at: Instant;
  readonly updated_at: Instant;
  readonly rest: Rest;
}

const WORD = textOf(limits.REPLICATED_WORD_BYTES_MAX);

export const receiptKind = recordKind<Receipt>({
  name: 'receipt',
  members: {
    memory_id: { accepts: isText, admits: WORD, default: '' },
    reader: { accepts: isTextOrNull, admits: orNull(WORD), default: null },
    read_at: { accepts: isText, admits: instant, default: '' },
    updated_at: { accepts: isText, admits: instant, default: '' },
  },
  idOf: ({ memory_id }) => memory_id,
  namespaceOf: () => null,
  about: (id) => [{ kind: 'memory', id }],
  owner: 'reader',
  memories: ['memory_id'],
  losers: 'dropped',
  exported: true,
  decides: true,
});
