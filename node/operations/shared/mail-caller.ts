import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { ReadCall } from '../../pipeline/call.js';

/**
 * The agent that sends or reads messages: the identity of the caller, which no field of the call replaces. FORBIDDEN for
 * a request that names no agent, and for a process that is bound to one agent and names another.
 */
export function mailAgent({ caller, surface }: ReadCall): Result<string> {
  const { agentId, claimed, viewer } = caller;
  if (surface === 'http' && claimed === 'made') {
    return fail('FORBIDDEN', 'the call needs an agent: name it in X-Agent-Id');
  }
  if (viewer.agentId !== null && viewer.agentId !== agentId) {
    return fail('FORBIDDEN', `this process may only act as ${viewer.agentId}, not as ${agentId}`);
  }
  return ok(agentId);
}

/** The agent whose own inbox is meant. VALIDATION_FAILED on a command line without one: each process has an id of its own. */
export function inboxAgent(call: ReadCall): Result<string> {
  const { caller, surface } = call;
  if (surface === 'cli' && caller.claimed === 'made') {
    return fail(
      'VALIDATION_FAILED',
      'an inbox belongs to an agent: name it with --agent-id or SVC_AGENT_ID',
      {
        fields: ['agent_id'],
      },
    );
  }
  return mailAgent(call);
}
