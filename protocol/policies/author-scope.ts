import { type Failure, failure } from '../base/result.js';
import type { AnyCommand, AnyDeclared } from '../decide/command.js';
import type { Approved } from '../decide/deciding.js';
import type { Reading } from '../decide/reads.js';
import { isWhole, mayHold } from '../log/scope.js';
import type { Changes } from '../memory/changes.js';
import { type GatedAction, gatedAction } from './gated-action.js';
import type { Judge, PolicyVerdict } from './policy.js';
import { scopeOfAuthor } from './reads.js';

/**
 * Judges what an approved command changes by the node that wrote the request, before its policy is asked. A node that
 * took over the actions of another one executes no more than that node may write: everything that the command changes
 * or looks at lies in the scope of its author.
 */
export const withinAuthor = (
  declared: AnyDeclared,
  command: AnyCommand,
  approved: Approved,
  judge: Judge,
): Judge =>
  function* (changes): Reading<PolicyVerdict> {
    const failure = yield* authorProblem(() => gatedAction(declared, command, changes), approved, changes);
    return failure === null ? yield* judge(changes) : { verdict: 'refuse', failure };
  };

function* authorProblem(
  asked: () => Reading<GatedAction | null>,
  { requester, writtenBy, pendingId }: Approved,
  changes: Changes,
): Reading<Failure | null> {
  if (requester.isOwn) return null;
  const refused = (cause: string): Failure => {
    const message = `the action that ${writtenBy} requested is not executed: ${cause}`;
    return failure('GOVERNANCE_REFUSED', message, { id: pendingId, requested_at: writtenBy });
  };
  const noted = yield* scopeOfAuthor({ peerId: writtenBy });
  if (noted === null) return refused('the scope of that node is not known here; reject the action');
  const { scope } = noted;
  if (isWhole(scope)) return null;
  const places = yield* touchedBy(asked, changes);
  const outside = places.find((namespace) => !mayHold({ allowedNamespaces: scope }, namespace));
  return outside === undefined
    ? null
    : refused(`it touches namespace "${outside}", which is outside the scope of that node`);
}

/** The namespaces of all that a command changes, of what was there before, and of the memories that it looked at. */
function* touchedBy(asked: () => Reading<GatedAction | null>, changes: Changes): Reading<readonly string[]> {
  const gated = (yield* asked())?.places ?? [];
  const changed = changes.mutations.flatMap((mutation) => {
    if (mutation.mutation !== 'write' && mutation.mutation !== 'remove') return [];
    const { namespace } = (mutation.before ?? {}) as { readonly namespace?: unknown };
    return typeof namespace === 'string' ? [mutation.namespace, namespace] : [mutation.namespace];
  });
  const seen = [...changes.rows.values()].map(({ namespace }) => namespace);
  return [...new Set([...gated.map(({ namespace }) => namespace), ...changed, ...seen])];
}
