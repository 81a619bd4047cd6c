import { agentIdProblem } from '../../protocol/base/ids.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Log, Random } from '../../protocol/base/seams.js';
import type { Settings } from '../config/settings.js';
import type { Caller } from './caller.js';

/** An `agent_id` that a write carries in addition to its header, and where. */
export interface Claim {
  readonly value: unknown;
  readonly source: 'body' | 'query';
  /** True where an admin may name another agent, which the call is then about. */
  readonly ofAny?: boolean;
}

/** Determines the caller of an HTTP request. */
export type HttpCallers = (
  header: string | undefined,
  claim: Claim | null,
  adminRoute: boolean,
) => Result<Caller>;

const MISMATCH = {
  body: 'agent_id_body_header_mismatch',
  query: 'agent_id_query_header_mismatch',
} as const;

/**
 * Resolves HTTP callers (interface §5.3, §5.4): the X-Agent-Id header is authoritative. A claim must equal it.
 * One of the body replaces it when it is absent; one of the query never does, as addresses are passed on and kept in logs. A request with neither gets an id of its own. VALIDATION_FAILED for an
 * invalid or reserved id. An admin is a member of the configured set, and only when an API key is configured or
 * the operator trusts the header.
 */
export function httpCallers(
  settings: Pick<Settings, 'adminAgentIds' | 'adminHeaderTrust' | 'apiKey'>,
  random: Random,
  log: Log,
): HttpCallers {
  const trusted = settings.apiKey !== null || settings.adminHeaderTrust;
  const admins = new Set(trusted ? settings.adminAgentIds : []);
  let told = false;

  const named = (agentId: string, adminRoute: boolean): Result<Caller> => {
    const problem = agentIdProblem(agentId);
    if (problem !== null) return fail('VALIDATION_FAILED', problem, { fields: ['agent_id'] });
    const admin = admins.has(agentId);
    return ok({
      agentId,
      claimed: 'explicit',
      viewer: { all: adminRoute && admin, agentId, asNamespace: null },
      admin,
      local: false,
    });
  };

  return (header, claim, adminRoute) => {
    if (claim !== null && typeof claim.value !== 'string') {
      return fail('VALIDATION_FAILED', 'agent_id must be text', { fields: ['agent_id'] });
    }
    if (header !== undefined) {
      const isSubject = claim?.ofAny === true && admins.has(header);
      if (claim !== null && claim.value !== header && !isSubject) {
        return fail(MISMATCH[claim.source], `agent_id of the ${claim.source} does not match X-Agent-Id`);
      }
      return named(header, adminRoute);
    }
    if (claim?.source === 'query') {
      return fail(MISMATCH.query, 'agent_id of the query names no caller; send the header X-Agent-Id');
    }
    if (claim !== null) return named(claim.value as string, adminRoute);

    const agentId = `anonymous:req-${random.uuid().slice(0, 8)}`;
    log[told ? 'debug' : 'warn'](
      { agent_id: agentId },
      'a request does not name its agent in X-Agent-Id; further ones are not told',
    );
    told = true;
    return ok({
      agentId,
      claimed: 'made',
      viewer: { all: false, agentId, asNamespace: null },
      admin: false,
      local: false,
    });
  };
}
