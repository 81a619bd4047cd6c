import type { Result } from './base/result.js';
import type { Decision } from './decide/deciding.js';
import type { Mutation } from './decide/mutations.js';
import { appendAudit } from './decide/mutations.js';
import type { AuditEvent } from './log/audit.js';
import type { Command } from './release.js';

/**
 * Records acts that remove many memories at once, in the same transaction. The operation log, which is a chain too,
 * holds single writes. The commands that change identities write their own records.
 */
export function audited<T>(command: Command, result: Result<Decision<T>>): Result<Decision<T>> {
  if (!result.ok) return result;
  const { value, mutations } = result.value;
  const event = eventOf(command, mutations);
  if (event === null) return result;
  return { ok: true, value: { value, mutations: [...mutations, appendAudit({ event })] } };
}

function eventOf(command: Command, mutations: readonly Mutation[]): AuditEvent | null {
  const count = mutations.filter(({ mutation }) => REMOVALS.has(mutation)).length;
  if (count === 0) return null;
  switch (command.kind) {
    case 'forget-memories': {
      const { namespace, tier } = command.filter;
      // The pattern may quote the forgotten text.
      return { agentId: command.by, type: 'memory.forgotten', payload: { count, namespace, tier } };
    }
    case 'purge-archive': {
      const { before, ownerId, reason } = command;
      return {
        agentId: command.by,
        type: 'archive.purged',
        payload: { count, before, owner: ownerId, reason },
      };
    }
    case 'consolidate-memories':
      return {
        agentId: command.agentId,
        type: 'memory.consolidated',
        payload: { id: command.result.id, sources: [...new Set(command.ids)] },
      };
    default:
      return null;
  }
}

const REMOVALS: ReadonlySet<Mutation['mutation']> = new Set(['remove', 'purge-archived']);
