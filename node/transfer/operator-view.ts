import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Viewer } from '../../protocol/base/viewer.js';
import type { Caller } from '../identity/caller.js';

/**
 * The view of a caller that moves a whole store or binds the keys of agents: every row. HTTP callers have passed the
 * admin guard. A local process that is bound to one agent (SVC_AGENT_ID) sees only that agent's rows. Half an export must
 * not look like a whole one, and a key is bound for other agents: ADMIN_REQUIRED unless that agent is an admin.
 */
export function operatorView(caller: Caller): Result<Viewer> {
  if (!caller.viewer.all && !caller.admin) {
    const hint = 'run it without SVC_AGENT_ID, or as an agent of the admin set';
    return fail('ADMIN_REQUIRED', `this needs the view of every row: ${hint}`);
  }
  return ok({ ...caller.viewer, all: true });
}
