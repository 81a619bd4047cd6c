import { z } from 'zod';
import { type ErrorCode, errorRow } from '../../protocol/base/errors.js';
import { fail, failed, ok, type Result } from '../../protocol/base/result.js';
import { characters } from '../../protocol/base/utf8.js';
import { addresseeOf, ownerOf } from '../../protocol/identity/owner.js';
import type { JobInput } from '../../protocol/jobs/job-types.js';
import type { MemoryRow } from '../../protocol/memory/memory.js';
import { keepsKind } from '../../protocol/memory/store.js';
import { memoryDelete } from '../operations/lifecycle/memory-delete.js';
import { synthesisQuestion, VERDICTS } from '../operations/power/synthesis-question.js';
import type { Answer } from '../pipeline/answer.js';
import { isSeenAlike } from './compare-pairs.js';
import type { JobWork, RunOfJob } from './job-work.js';
import { editRead, memoryOfJob, saysStill, similarMemories, textHash } from './memory-of-job.js';

/** What a model said of an older memory, and the hash of the text that it read. */
const DECIDED = z.object({
  ...{ id: z.string(), verdict: z.enum(VERDICTS), content: z.string().nullable(), read: z.string() },
});
type Decided = z.output<typeof DECIDED>;

/** What became of a verdict: `done`, `waits`, why there was nothing to do, or the code of the failure. */
interface Effect {
  readonly id: string;
  readonly verdict: Decided['verdict'];
  readonly outcome: string;
  readonly new_id?: string;
  readonly pending_id?: string;
}

/**
 * Has a model say what a stored memory means for older ones of the same author and audience. The stored one stays as it is;
 * the others are edited and deleted as their author would. What this writes queues no further synthesis.
 */
export const synthesis: JobWork<JobInput<'synthesis'>> = async (run, asked) => {
  const { memory_id: id, deletes_max: deletesMax, text_chars: charactersMax } = asked;
  const found = await memoryOfJob(run, id);
  if (!found.ok) return failed(found.error);
  const memory = found.value;
  if (memory === null) return ok({ skipped: 'the memory is gone' });
  if (!takesPart(memory, run.caller.agentId, charactersMax))
    return ok({ skipped: 'the memory takes no part: it is too long, derived, or of another agent' });
  const step = `verdicts on the text ${textHash(run, memory)}`;
  const decided = await run.step(step, z.array(DECIDED), () => verdictsOn(run, memory, charactersMax));
  if (!decided.ok) return failed(decided.error);
  const deletes = decided.value.filter(({ verdict }) => verdict === 'delete').length;
  if (deletes > deletesMax) {
    const reason = `the model would delete ${deletes} memories, and the policy permits ${deletesMax}`;
    return fail('GOVERNANCE_REFUSED', `${reason}: nothing was changed`, { action: 'delete', reason });
  }
  const effects: Effect[] = [];
  for (const one of decided.value) {
    const effect = await effectOf(run, memory, one);
    if (!effect.ok) return failed(effect.error);
    effects.push(effect.value);
  }
  const count = (verdict: Decided['verdict']) => effects.filter((one) => one.verdict === verdict).length;
  const synthesis_decisions = Object.fromEntries(VERDICTS.map((verdict) => [verdict, count(verdict)]));
  const isChange = ({ verdict }: Effect) => verdict === 'update' || verdict === 'delete';
  return ok({ synthesis_decisions, changes: effects.filter(isChange) });
};

async function verdictsOn(
  run: RunOfJob,
  memory: MemoryRow,
  charactersMax: number,
): Promise<Result<readonly Decided[]>> {
  const similar = await similarMemories(run, memory);
  if (!similar.ok) return failed(similar.error);
  const others = similar.value.filter(
    (other) =>
      takesPart(other, run.caller.agentId, charactersMax) &&
      isSeenAlike(memory, other) &&
      other.created_hlc < memory.created_hlc,
  );
  if (others.length === 0) return ok([]);
  const { deadlineMs, signal, services } = run;
  const said = await services.models.ask(synthesisQuestion(memory, others), { deadlineMs, signal });
  if (!said.ok) return failed(said.error);
  const read = new Map(others.map((other) => [other.id, textHash(run, other)]));
  return ok(said.value.map((verdict) => ({ ...verdict, read: read.get(verdict.id)! })));
}

/** True for a memory that is its author's own word, and that the model sees whole. */
const takesPart = (memory: MemoryRow, author: string, charactersMax: number): boolean =>
  ownerOf(memory) === author &&
  addresseeOf(memory) === null &&
  !keepsKind(memory) &&
  memory.atom_of === null &&
  memory.atomised_into === null &&
  characters(memory.content) <= charactersMax;

async function effectOf(run: RunOfJob, memory: MemoryRow, decided: Decided): Promise<Result<Effect>> {
  const { id, verdict, content } = decided;
  const effect = (outcome: string, more: Partial<Effect> = {}) => ok({ id, verdict, outcome, ...more });
  if (verdict !== 'update' && verdict !== 'delete') return effect('done');
  const stored = await memoryOfJob(run, memory.id);
  if (!stored.ok) return failed(stored.error);
  if (!saysStill(memory, stored.value)) return effect('the stored memory changed');
  const found = await memoryOfJob(run, id);
  if (!found.ok) return failed(found.error);
  // It may also be what a former run has done, before its process was killed.
  if (found.value === null) return effect('gone');
  const old = found.value;
  if (textHash(run, old) !== decided.read || !isSeenAlike(stored.value, old)) return effect('changed');
  if (verdict === 'delete' && !run.services.settings.archiveOnGc) return effect('kept: the archive is off');
  const answer =
    verdict === 'update'
      ? await editRead(run, old, { name: `update ${id}`, change: () => ({ content, edit_source: 'llm' }) })
      : await run.call(memoryDelete, { name: `delete ${id}`, input: { id } });
  if (!answer.ok) return isRefusal(answer.error.code) ? effect(answer.error.code) : failed(answer.error);
  return effect(...became(answer));
}

function became(answer: Extract<Answer, { ok: true }>): [string, Partial<Effect>] {
  const { pending_id, new_id } = answer.value as { pending_id?: string; new_id?: string };
  if (answer.waits === true) return ['waits', pending_id === undefined ? {} : { pending_id }];
  return ['done', new_id === undefined ? {} : { new_id }];
}

/** True for a failure that another attempt would meet again; a used-up quota and a run that ended are none. */
const isRefusal = (code: ErrorCode): boolean => {
  const { http } = errorRow(code);
  return http < 500 && http !== 429 && code !== 'JOB_ENDED';
};
