import { agentIdProblem } from '../../protocol/base/ids.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Log, Random } from '../../protocol/base/seams.js';
import type { Within } from '../../protocol/base/within.js';
import type { Settings } from '../config/settings.js';
import type { Caller, Grant } from './caller.js';

/** An `agent_id` that a write carries in addition to its header, and where. */
export interface Claim {
  readonly value: unknown;
  readonly source: 'body' | 'query';
  /** True where an admin may name another agent, which the call is then about. */
  readonly ofAny?: boolean;
}

/** What a token says of the caller. */
export interface TokenGrant extends Grant {
  /** The agent that it acts as. */
  readonly agentId: string;
  readonly within: Within | undefined;
}

/** Determines the caller of an HTTP request. */
export type HttpCallers = (
  header: string | undefined,
  claim: Claim | null,
  adminRoute: boolean,
  grant?: TokenGrant,
) => Result<Caller>;

const MISMATCH = {
  body: 'agent_id_body_header_mismatch',
  query: 'agent_id_query_header_mismatch',
} as const;

/**
 * Resolves HTTP callers (interface §5.3, §5.4): the X-Agent-Id header is authoritative. A claim must equal it.
 * One of the body replaces it when it is absent; one of the query never does, as addresses are passed on and kept in logs. A request with neither gets an id of its own. VALIDATION_FAILED for an
 * invalid or reserved id. An admin is a member of the configured set, and only when an API key is configured or
 * the operator trusts the header. With a token the caller is its agent, and every claim must name that agent. A token can
 * take the rights of an admin away, and never gives them.
 */
export function httpCallers(
  settings: Pick<Settings, 'adminAgentIds' | 'adminHeaderTrust' | 'apiKey'>,
  random: Random,
  log: Log,
): HttpCallers {
  const trusted = settings.apiKey !== null || settings.adminHeaderTrust;
  const admins = new Set(trusted ? settings.adminAgentIds : []);
  let told = false;

  const named = (agentId: string, adminRoute: boolean, grant: TokenGrant | undefined): Result<Caller> => {
    const problem = agentIdProblem(agentId);
    if (problem !== null) return fail('VALIDATION_FAILED', problem, { fields: ['agent_id'] });
    const admin = admins.has(agentId) && permitsAdmin(grant);
    const viewer = { all: adminRoute && admin, agentId, asNamespace: null };
    const caller = { agentId, claimed: 'explicit', admin, local: false } as const;
    if (grant === undefined) return ok({ ...caller, viewer });
    const { tokenId, operations, within } = grant;
    return ok({ ...caller, viewer: { ...viewer, within }, grant: { tokenId, operations } });
  };

  return (given, claim, adminRoute, grant) => {
    if (grant !== undefined && given !== undefined && given !== grant.agentId) return otherAgent(grant);
    const header = grant?.agentId ?? given;
    if (claim !== null && typeof claim.value !== 'string') {
      return fail('VALIDATION_FAILED', 'agent_id must be text', { fields: ['agent_id'] });
    }
    if (header !== undefined) {
      const isSubject = claim?.ofAny === true && admins.has(header) && permitsAdmin(grant);
      if (claim !== null && claim.value !== header && !isSubject) {
        return fail(MISMATCH[claim.source], `agent_id of the ${claim.source} does not match X-Agent-Id`);
      }
      return named(header, adminRoute, grant);
    }
    if (claim?.source === 'query') {
      return fail(MISMATCH.query, 'agent_id of the query names no caller; send the header X-Agent-Id');
    }
    if (claim !== null) return named(claim.value as string, adminRoute, undefined);

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

const permitsAdmin = (grant: TokenGrant | undefined): boolean => grant?.operations.includes('admin') ?? true;

const otherAgent = ({ agentId }: TokenGrant) =>
  fail('TOKEN_SCOPE', `the token acts as ${agentId}: send no other X-Agent-Id`);
