import { type Failure, failure } from '../../protocol/base/result.js';
import type { Caller } from '../identity/caller.js';
import type { TokenOperation } from '../identity/token-text.js';
import type { Operation } from './operation.js';

/** What a token must permit for an operation: that it reads or writes, and that it is for admins. */
export const rightsFor = ({
  effect,
  guards,
}: Pick<Operation, 'effect' | 'guards'>): readonly TokenOperation[] =>
  guards.admin === true ? [effect, 'admin'] : [effect];

/** Why the token of a caller is not for an operation; null where it is, and for a caller without a token. */
export function grantProblem(operation: Operation, { grant, viewer }: Caller): Failure | null {
  if (grant === undefined) return null;
  const refused = (why: string) => failure('TOKEN_SCOPE', `${operation.name}: ${why}`);
  if (operation.delegable === 'never') return refused('no token is for this');
  const lacking = rightsFor(operation).find((right) => !grant.operations.includes(right));
  if (lacking !== undefined) return refused(`the token is not for "${lacking}"`);
  if (viewer.within !== undefined && operation.delegable !== 'by-namespace') {
    return refused('this is not about single namespaces, and the token is for some only');
  }
  return null;
}
