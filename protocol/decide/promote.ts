import type { Outcomes, PromoteMemory } from '../commands.js';
import { higherTier, type Memory } from '../memory.js';
import { isExpired, isVisible, mayChange } from './access.js';
import { type Deciding, type DecisionContext, decided, memoryById } from './decision.js';
import { notFound, notOwner } from './update.js';

/**
 * Promotes a memory: long clears the expiry, mid keeps it. A row that is there already stays as it is and no
 * operation is written (interface §3, reference-mcp-cli §1.2).
 */
export function* decidePromote(
  command: PromoteMemory,
  context: DecisionContext,
): Deciding<Outcomes['promote-memory']> {
  const row = yield* memoryById(command.id);
  if (row === null || isExpired(row, context.now) || !isVisible(row, command.viewer)) return notFound();
  if (!mayChange(row, command.viewer)) return notOwner();
  const tier = higherTier(row.tier, command.targetTier);
  // A long row that was given an expiry of its own keeps it unless it is promoted to long once more.
  const expiresAt = command.targetTier === 'long' ? null : row.expires_at;
  if (tier === row.tier && expiresAt === row.expires_at) return decided({ memory: row }, []);
  const memory: Memory = {
    ...row,
    tier,
    expires_at: expiresAt,
    updated_at: context.now,
    version: row.version + 1,
  };
  return decided({ memory }, [
    { mutation: 'replace-memory', operation: 'promote', before: row, memory, reembed: false },
  ]);
}
