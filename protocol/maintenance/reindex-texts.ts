import { REINDEX_CHARACTERS_MAX, REINDEX_ROWS_MAX } from '../base/limits.js';
import { defineCommand } from '../decide/command.js';
import { type Deciding, decided } from '../decide/deciding.js';
import { reindexTexts } from './mutations.js';
import { waitingTexts } from './reads.js';

/** Indexes some of the texts again that were indexed by other rules, the newest first. */
export interface ReindexTexts {
  readonly kind: 'reindex-texts';
}

/** `more`: rows may still wait. */
export interface ReindexTextsOutcome {
  readonly more: boolean;
}

/** The full text is local, so nothing replicates; a crash between two commands loses nothing. */
function* decideReindex(_command: ReindexTexts): Deciding<ReindexTextsOutcome> {
  const page = yield* waitingTexts({ rows: REINDEX_ROWS_MAX, characters: REINDEX_CHARACTERS_MAX });
  if (page === null) return decided({ more: false }, []);
  return decided({ more: page.to > 1 }, [reindexTexts({ ...page })]);
}

export const reindexTextsCommand = defineCommand({
  kind: 'reindex-texts',
  decide: decideReindex,
  gate: 'upkeep',
});
