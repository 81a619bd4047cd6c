import type { Outcomes } from '../commands.js';
import { type Deciding, decided } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import type { DropPayloads, NoteIntegrity } from '../mesh/scrub-terms.js';

/** Remembers what was found out about the state of the rows; local, not replicated. */
// biome-ignore lint/correctness/useYield: a decision is a generator, and this one has nothing to ask.
export function* decideNoteIntegrity({
  name,
  facts,
  audit,
}: NoteIntegrity): Deciding<Outcomes['note-integrity']> {
  const mutations: Mutation[] = [{ mutation: 'note-integrity', name, facts }];
  if (audit !== null) mutations.push({ mutation: 'append-audit', event: { ...audit, payload: facts } });
  return decided({}, mutations);
}

/** Lets payloads go that another version has superseded; what is superseded stays so. */
// biome-ignore lint/correctness/useYield: a decision is a generator, and this one has nothing to ask.
export function* decideDropPayloads({ places }: DropPayloads): Deciding<Outcomes['drop-payloads']> {
  return decided({}, [{ mutation: 'drop-payloads', places }]);
}
