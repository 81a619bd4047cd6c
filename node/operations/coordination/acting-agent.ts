import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import type { ReadCall } from '../../pipeline/call.js';
import { mailAgent } from '../shared/mail-caller.js';

/**
 * The agent that acts: the caller. A call may name it in a field; another name than the caller's is FORBIDDEN, except for
 * the operator, who may act for any agent.
 */
export function actingAgent(call: ReadCall, named: string | undefined, field: string): Result<string> {
  const caller = mailAgent(call);
  if (!caller.ok) return failed(caller.error);
  if (named === undefined || named === caller.value) return caller;
  if (call.caller.viewer.all) return ok(named);
  return fail('FORBIDDEN', `${field}: you are ${caller.value}, and only the operator acts for another agent`);
}
