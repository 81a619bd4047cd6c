import type { AgentId } from '../base/meanings.js';
import { failed, type Result } from '../base/result.js';
import type { Viewer } from '../base/viewer.js';
import { type Check, isAgent, isFlag } from '../decide/command-shape.js';
import type { Decision, DecisionContext } from '../decide/deciding.js';
import type { Reading } from '../decide/reads.js';
import { writtenProblem } from '../identity/ensure-quota.js';
import { quotaHolder } from '../identity/quota.js';
import { isBase64OrNull, isTextOrNull } from '../kinds/payload.js';

/** Who acts, as a node tells the home of what it acts on. */
export interface Acting {
  readonly by: AgentId;
  /** True for the operator of a node, who may do what any agent may. */
  readonly operator: boolean;
  /** Where the agent stands, for the scopes of teams. */
  readonly asNamespace: string | null;
}

export const viewerOf = ({ by, operator, asNamespace }: Acting): Viewer => ({
  ...{ all: operator, agentId: by, asNamespace },
});

/** The checks of those members in a command that another node passes on. */
export const isActing: { readonly [M in keyof Acting]-?: Check } = {
  by: isAgent,
  operator: isFlag,
  asNamespace: isTextOrNull,
};

export const isBytes: Check = isBase64OrNull;

/** Charges a decision to the agent that acts, whichever node passes it on: QUOTA_EXCEEDED when its bytes of the day are used up. */
export function* chargedBy<T>(
  decision: Decision<T>,
  { by }: Acting,
  context: DecisionContext,
): Reading<Result<Decision<T>>> {
  const chargedTo = quotaHolder(by);
  const problem = yield* writtenProblem(chargedTo, context);
  return problem === null ? { ok: true, value: { ...decision, chargedTo } } : failed(problem);
}
