import type { AgentId, MemoryId } from '../base/meanings.js';
import type { Viewer } from '../base/viewer.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { tombstoneOf } from '../decide/reads.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import { addresseeOf } from '../identity/owner.js';
import { NO_REST } from '../kinds/payload.js';
import { isExpired } from '../memory/access.js';
import { memoryKind } from '../memory/memory-kind.js';
import { archivedMemory, memoryById } from '../memory/reads.js';
import { inboxOf } from '../namespaces/mail.js';
import { type Receipt, receiptKind } from './receipt-kind.js';

/** Marks messages of an inbox as read. */
export interface MarkRead {
  readonly kind: 'mark-read';
  readonly ids: readonly MemoryId[];
  /** The agent whose inbox it is. */
  readonly reader: AgentId;
  readonly viewer: Viewer;
}

/** What `mark-read` answers. */
export interface MarkReadOutcome {
  /** Messages that were unread before. */
  readonly marked: readonly MemoryId[];
  /** Ids that name no message of the inbox. */
  readonly missing: readonly MemoryId[];
}

/** Drops the receipts of messages that are gone. */
export interface DropReceipts {
  readonly kind: 'drop-receipts';
  readonly ids: readonly MemoryId[];
}

/** What `drop-receipts` answers. */
export interface DropReceiptsOutcome {
  readonly dropped: number;
}

/** Marks messages. Only the addressee reads a message, so those that it sent are missing too. */
function* decideMarkRead({ ids, reader }: MarkRead, { now }: DecisionContext): Deciding<MarkReadOutcome> {
  const inbox = inboxOf(reader);
  const [marked, missing, mutations]: [MemoryId[], MemoryId[], Mutation[]] = [[], [], []];
  for (const id of new Set(ids)) {
    const message = yield* memoryById(id);
    if (
      message === null ||
      isExpired(message, now) ||
      message.namespace !== inbox ||
      addresseeOf(message) !== reader
    ) {
      missing.push(id);
      continue;
    }
    if ((yield* recordRow(receiptKind, id))?.image.reader === reader) continue;
    const receipt: Receipt = { memory_id: id, reader, read_at: now, updated_at: now, rest: NO_REST };
    mutations.push(yield* putRecord(receiptKind, message, receipt));
    marked.push(id);
  }
  return decided({ marked, missing }, mutations);
}

/** Drops receipts of removed messages. Keeps those whose message is stored, archived or has not arrived yet. */
function* decideDropReceipts({ ids }: DropReceipts): Deciding<DropReceiptsOutcome> {
  const mutations: Mutation[] = [];
  for (const id of ids) {
    const row = yield* recordRow(receiptKind, id);
    if (row === null || (yield* memoryById(id)) !== null) continue;
    if ((yield* archivedMemory({ id })) !== null) continue;
    if ((yield* tombstoneOf({ kind: memoryKind.name, id })) === null) continue;
    mutations.push(dropRecord(receiptKind, row, 'memory_removed'));
  }
  return decided({ dropped: mutations.length }, mutations);
}

export const markReadCommand = defineCommand({
  kind: 'mark-read',
  decide: decideMarkRead,
  gate: 'no memory',
});

export const dropReceiptsCommand = defineCommand({
  kind: 'drop-receipts',
  decide: decideDropReceipts,
  gate: 'upkeep',
});
