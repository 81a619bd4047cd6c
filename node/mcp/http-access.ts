import { claimRole } from '../bindings/operation-route.js';
import type { HttpCallers, TokenGrant } from '../identity/http-caller.js';
import type { Services } from '../pipeline/call.js';
import { runOperation } from '../pipeline/pipeline.js';
import type { SessionAccess } from './node-tools.js';

/**
 * The access of a client over HTTP: its calls have the caller, the rights and the deadline that requests to the other
 * routes have, so that nobody gains anything by speaking MCP.
 */
export function httpAccess(
  services: Services,
  callers: HttpCallers,
  /** The X-Agent-Id of the session. */
  agentId: string | undefined,
  /** The token of the session, which every request of it presents. */
  grant?: TokenGrant,
): SessionAccess {
  return {
    loads: (profile) => `open a session at /mcp?profile=${profile}`,
    open: () => Promise.resolve(),
    close: () => Promise.resolve(),
    deadlineMs: () => services.clock.monotonicMs() + services.settings.requestTimeoutMs,
    callerOf: (operation, { agent_id: value }) => {
      const role = claimRole(operation);
      const claims = role !== 'filter' && value !== undefined && value !== null;
      const claim = claims ? { value, source: 'body' as const, ofAny: role === 'subject' } : null;
      return callers(agentId, claim, operation.guards.admin === true, grant);
    },
    run: (operation, request) =>
      runOperation(operation, { ...request, surface: 'http', tracedAs: 'mcp' }, services),
  };
}
