import { type Deciding, type Done, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { OperationPlace } from '../mesh/ranges.js';

/** `accepted`: rows that were accepted as they stood. */
export type IntegrityName = 'scrub' | 'mesh' | 'accepted';

/** What was last found out about the state of the rows. */
export interface NoteIntegrity {
  readonly kind: 'note-integrity';
  readonly name: IntegrityName;
  readonly facts: Readonly<Record<string, unknown>>;
  /** Writes a row of the audit chain in the name of this agent; null for none. */
  readonly audit: { readonly agentId: string; readonly type: string } | null;
}

/** Lets payloads go; headers stay, so that every chain can be verified. */
export interface DropPayloads {
  readonly kind: 'drop-payloads';
  readonly places: readonly OperationPlace[];
}

/** Remembers what was found out about the state of the rows; local, not replicated. */
// biome-ignore lint/correctness/useYield: a decision is a generator, and this one has nothing to ask.
export function* decideNoteIntegrity({ name, facts, audit }: NoteIntegrity): Deciding<Done> {
  const mutations: Mutation[] = [{ mutation: 'note-integrity', name, facts }];
  if (audit !== null) mutations.push({ mutation: 'append-audit', event: { ...audit, payload: facts } });
  return decided({}, mutations);
}

/** Lets payloads go that another version has superseded; what is superseded stays so. */
// biome-ignore lint/correctness/useYield: a decision is a generator, and this one has nothing to ask.
export function* decideDropPayloads({ places }: DropPayloads): Deciding<Done> {
  return decided({}, [{ mutation: 'drop-payloads', places }]);
}
