import { agentIdProblem } from '../../protocol/base/ids.js';
import { AGENT_ID_LENGTH_MAX } from '../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Random } from '../../protocol/base/seams.js';
import type { Settings } from '../config/settings.js';
import type { Caller } from './caller.js';

/** The process named by a generated id. */
export interface LocalProcess {
  readonly hostname: string;
  readonly pid: number;
}

export interface LocalIdentity {
  readonly settings: Pick<Settings, 'agentId' | 'adminAgentIds'> & Partial<Pick<Settings, 'anonymize'>>;
  readonly process: LocalProcess;
  /** Eight characters that tell this process from others with the same pid. */
  readonly uuid8: string;
}

/**
 * Reads what identity needs once per process, so that its generated id stays the same from call to call. Where the operator wants
 * anonymous ids, no generated one names the host.
 */
export function localIdentity(
  settings: LocalIdentity['settings'],
  process: LocalProcess,
  random: Random,
): LocalIdentity {
  const named = settings.anonymize === true ? { ...process, hostname: '' } : process;
  return { settings, process: named, uuid8: random.uuid().slice(0, 8) };
}

/**
 * The caller of a command or a tool, by the ladder of interface §5.3: an explicit id, SVC_AGENT_ID, the MCP client's
 * name, the host, anonymous. What a caller sees, and whether it is an admin, depends only on SVC_AGENT_ID; without it
 * every row is visible.
 * VALIDATION_FAILED when the explicit or configured id is not an agent id.
 */
export function localCaller(
  identity: LocalIdentity,
  explicit: string | null,
  clientName: string | null,
): Result<Caller> {
  const configured = identity.settings.agentId;
  for (const id of [explicit, configured]) {
    const problem = id === null ? null : agentIdProblem(id);
    if (problem !== null) return fail('VALIDATION_FAILED', problem, { fields: ['agent_id'] });
  }
  const agentId = explicit ?? configured ?? madeId(identity, clientName);
  return ok({
    agentId,
    claimed: explicit !== null ? 'explicit' : configured !== null ? 'configured' : 'made',
    viewer: { all: configured === null, agentId: configured, asNamespace: null },
    // As for visibility: an id that a call names for its writer gives no rights beyond those of the process.
    admin: identity.settings.adminAgentIds.includes(configured ?? agentId),
    local: true,
  });
}

/**
 * The caller of a command. `--agent-id` means what SVC_AGENT_ID means, for reads too; a process that SVC_AGENT_ID binds
 * to one agent stays bound, and may name another one only as the writer.
 */
export function commandCaller(identity: LocalIdentity, named: string | null): Result<Caller> {
  const { settings } = identity;
  const bound = { ...identity, settings: { ...settings, agentId: settings.agentId ?? named } };
  return localCaller(bound, named, null);
}

/**
 * The id that a call names for its writer: `agent_id`, whether the operation has such a field or not, or
 * `metadata.agent_id`. In reads `agent_id` is a filter and does not name the caller.
 */
export function explicitAgentId(
  operation: { readonly effect: 'read' | 'write' },
  input: Readonly<Record<string, unknown>>,
): string | null {
  if (operation.effect !== 'write') return null;
  if (typeof input['agent_id'] === 'string') return input['agent_id'];
  const metadata = input['metadata'];
  if (typeof metadata !== 'object' || metadata === null) return null;
  const claimed = (metadata as Record<string, unknown>)['agent_id'];
  return typeof claimed === 'string' ? claimed : null;
}

/** The id of a client of a machine, the same for each of its processes unless a suffix tells them apart. */
export function clientAgentId(client: string, hostname: string, suffix = ''): string {
  const host = agentIdPart(hostname);
  const at = host === '' ? '' : `@${host.slice(0, 48)}`;
  const name = agentIdPart(client).slice(0, AGENT_ID_LENGTH_MAX - 3 - at.length - suffix.length);
  return `ai:${name}${at}${suffix}`;
}

function madeId({ process, uuid8 }: LocalIdentity, clientName: string | null): string {
  const host = agentIdPart(process.hostname);
  const suffix = `:pid-${process.pid}`;
  if (agentIdPart(clientName ?? '') !== '') return clientAgentId(clientName!, process.hostname, suffix);
  if (host !== '') return `host:${host.slice(0, 64)}${suffix}-${uuid8}`;
  return `anonymous${suffix}-${uuid8}`;
}

/** An external name as part of an agent id: runs of other characters become one `-`, and of dots one dot. */
function agentIdPart(name: string): string {
  return name
    .slice(0, AGENT_ID_LENGTH_MAX)
    .replace(/[^A-Za-z0-9_.-]+/g, '-')
    .replace(/\.{2,}/g, '.')
    .replace(/^-+|-+$/g, '');
}
