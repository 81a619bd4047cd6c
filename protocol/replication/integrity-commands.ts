import type { AgentId } from '../base/meanings.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, type Done, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { appendAudit } from '../decide/mutations.js';
import type { OperationPlace } from '../log/ranges.js';
import { dropPayloads, noteIntegrity } from './mutations.js';

/**
 * `accepted`: rows that were accepted as they were. `reembed`: how far a call for new vectors came. `room`: what went when the
 * database reached its limit.
 */
export type IntegrityName = 'scrub' | 'mesh' | 'reembed' | 'room';

/** The last finding about the state of the rows. */
export interface NoteIntegrity {
  readonly kind: 'note-integrity';
  readonly name: IntegrityName;
  readonly facts: Readonly<Record<string, unknown>>;
  /** Writes a row of the audit chain in the name of this agent; null writes no row. */
  readonly audit: { readonly agentId: AgentId; readonly type: string } | null;
}

/** Drops payloads; headers stay, so every chain can still be verified. */
export interface DropPayloads {
  readonly kind: 'drop-payloads';
  readonly places: readonly OperationPlace[];
}

/** Remembers a finding about the state of the rows; local, not replicated. */
// biome-ignore lint/correctness/useYield: a decision is a generator; this one reads nothing.
function* decideNoteIntegrity({ name, facts, audit }: NoteIntegrity): Deciding<Done> {
  const mutations: Mutation[] = [noteIntegrity({ name, facts })];
  if (audit !== null) mutations.push(appendAudit({ event: { ...audit, payload: facts } }));
  return decided({}, mutations);
}

/** Drops payloads that another version has superseded; a superseded version stays superseded. */
// biome-ignore lint/correctness/useYield: a decision is a generator; this one reads nothing.
function* decideDropPayloads({ places }: DropPayloads): Deciding<Done> {
  return decided({}, [dropPayloads({ places })]);
}

export const noteIntegrityCommand = defineCommand({
  kind: 'note-integrity',
  decide: decideNoteIntegrity,
  gate: 'upkeep',
});

export const dropPayloadsCommand = defineCommand({
  kind: 'drop-payloads',
  decide: decideDropPayloads,
  gate: 'upkeep',
});
