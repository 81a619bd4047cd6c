import { failed, type Result } from '../base/result.js';
import type { AnyCommand } from '../decide/command.js';
import type { Decision, DecisionContext } from '../decide/deciding.js';
import type { Mutation, Write } from '../decide/mutations.js';
import type { Reading } from '../decide/reads.js';
import { recordsProblem, writtenProblem } from '../identity/ensure-quota.js';
import { holderOf, quotaHolder } from '../identity/quota.js';
import type { Memory } from './memory.js';
import { memoryKind } from './memory-kind.js';

/**
 * Charges the writes of a command to its caller's written bytes of the day, or refuses them; it refuses records beyond the
 * storage bytes of their owner too. A caller without an id writes for the owner of the memory. Commands without a caller are those of this node and of its peers: they are not
 * charged, unless its rule says whom they are charged to. Removals are not charged either, so that an agent can always make room.
 */
export function* chargeWrites<T>(
  command: AnyCommand,
  result: Result<Decision<T>>,
  context: DecisionContext,
): Reading<Result<Decision<T>>> {
  if (!result.ok) return result;
  const { chargedTo, mutations: changes } = result.value;
  const { viewer } = command;
  if (chargedTo === undefined && viewer === undefined) return result;
  const write = changes.find(isWrite);
  if (write === undefined) return result;
  const full = yield* recordsProblem(changes, context);
  if (full !== null) return failed(full);
  if (chargedTo !== undefined || viewer === undefined) return result;
  const { agentId } = viewer;
  const holder = agentId === null ? ownerOfWrite(write) : quotaHolder(agentId);
  if (holder === null) return result;
  const problem = yield* writtenProblem(holder, context);
  if (problem !== null) return failed(problem);
  const { value, mutations } = result.value;
  return { ok: true, value: { value, mutations, chargedTo: holder } };
}

const isWrite = (mutation: Mutation): mutation is Write => mutation.mutation === 'write';

const ownerOfWrite = ({ kind, image }: Write): string | null =>
  kind === memoryKind.name ? holderOf(image as Memory) : null;
