import { z } from 'zod';
import { agentIdProblem, namespaceNameProblem } from '../../protocol/base/ids.js';

/** What a peer may send and hold (reference-federation §1.3, PeerScope). */
export interface PeerScope {
  /** Other agent ids that it may send as. */
  readonly allowedSenderAgentIds: readonly string[];
  /** Globs; an empty list allows no namespace. */
  readonly allowedNamespaces: readonly string[];
}

/** Scopes by peer id. */
export type PeerScopes = ReadonlyMap<string, PeerScope>;

const agentId = z.string().refine((id) => agentIdProblem(id) === null, 'is not an agent id');
const glob = z.string().refine((text) => globProblem(text) === null, 'is not a namespace glob');

const scopes = z.record(
  agentId,
  z.strictObject({
    allowed_sender_agent_ids: z.array(agentId).default([]),
    allowed_namespaces: z.array(glob).default([]),
  }),
);

/** A namespace whose segments may be `*`, and whose last may be `**`. */
function globProblem(text: string): string | null {
  const segments = text.split('/');
  const misplaced = segments.slice(0, -1).includes('**');
  const mixed = segments.some((segment) => segment.includes('*') && segment !== '*' && segment !== '**');
  return misplaced || mixed ? 'a star must be a whole segment, "**" the last' : namespaceNameProblem(text);
}

/** What is wrong with the value of SVC_FED_PEER_ATTESTATION, or null; it never quotes the value. */
export function peerScopesProblem(text: string): string | null {
  return read(text).problem;
}

/** Reads the value of SVC_FED_PEER_ATTESTATION, which has been checked; null when it is not set. */
export function parsePeerScopes(text: string | null): PeerScopes | null {
  if (text === null) return null;
  const { value, problem } = read(text);
  if (value === null) throw new Error(problem ?? 'unreadable peer scopes');
  return value;
}

function read(text: string): { value: PeerScopes | null; problem: string | null } {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { value: null, problem: 'must be a JSON object' };
  }
  const parsed = scopes.safeParse(json);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const field = issue?.path.at(1) ?? issue?.path.at(0);
    return {
      value: null,
      problem: `must map peer ids to scopes${field === undefined ? '' : ` (see ${String(field)})`}`,
    };
  }
  const entries = Object.entries(parsed.data).map(
    ([peerId, scope]) =>
      [
        peerId,
        {
          allowedSenderAgentIds: scope.allowed_sender_agent_ids,
          allowedNamespaces: scope.allowed_namespaces,
        },
      ] as const,
  );
  return { value: new Map(entries), problem: null };
}
