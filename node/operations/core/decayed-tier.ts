import { CONFIDENCE_CANDIDATES_MAX } from '../../../protocol/confidence/limits.js';
import { confidenceTierOf } from '../../../protocol/memory/confidence.js';
import type { Answers } from '../../../protocol/release.js';
import type { ReadCall } from '../../pipeline/call.js';
import { decayedMemories } from '../shared/confidence.js';
import type { RecallInput, RecallScope } from './recall-request.js';

type Ranked = Answers['recall-memories'];

/** True where the tier of a row is not that of its stored confidence, so the index cannot filter by it. */
const isDecaying = ({ services }: ReadCall, { confidence_tier: tier }: RecallInput): boolean =>
  tier !== undefined && services.settings.confidenceDecay;

/** The limit and the filter of a ranking whose rows are filtered by decayed confidence afterwards. */
export function beforeDecay(
  call: ReadCall,
  input: RecallInput,
  { limit, filter }: RecallScope,
): Pick<RecallScope, 'limit' | 'filter'> {
  if (!isDecaying(call, input)) return { limit, filter };
  return { limit: CONFIDENCE_CANDIDATES_MAX, filter: { ...filter, confidence: null } };
}

/** The rows whose confidence is in the tier now. */
export async function withinTier(
  call: ReadCall,
  input: RecallInput,
  answer: Ranked,
  limit: number,
): Promise<Ranked> {
  if (!isDecaying(call, input)) return answer;
  const memories = await decayedMemories(
    call,
    answer.rows.map(({ memory }) => memory),
  );
  const within = answer.rows.filter(
    (_row, at) => confidenceTierOf(memories[at]!.confidence) === input.confidence_tier,
  );
  const rows = within.slice(0, limit);
  return {
    ...answer,
    rows,
    truncated: answer.truncated && rows.length < limit,
    confidenceFilteredOut: answer.rows.length - within.length,
  };
}
