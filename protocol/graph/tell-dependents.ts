import { uuidOfDigest } from '../base/ids.js';
import type { MemoryId } from '../base/meanings.js';
import { failed, type Result } from '../base/result.js';
import { type AnyCommand, type AnyDeclared, gatedBy, viewerOf } from '../decide/command.js';
import type { Decision, DecisionContext } from '../decide/deciding.js';
import type { Mutation } from '../decide/mutations.js';
import { appendAudit } from '../decide/mutations.js';
import { digestOfText, type Reading } from '../decide/reads.js';
import { chargeFor } from '../identity/ensure-quota.js';
import type { Link } from '../links/link.js';
import { linkId } from '../links/link.js';
import { linkChanges, memoryChanges } from '../memory/changes.js';
import type { Memory } from '../memory/memory.js';
import { insertMemory } from '../memory/memory-writes.js';
import { memoryById } from '../memory/reads.js';
import { dependentsOf, noticeOf } from './superseded-reflections.js';

/**
 * Tells those whose memories reflect on a reflection that a command supersedes, whatever command made the link, in the same
 * transaction. Links of peers and imports were told of where they were made. The messages are the service's own, so no
 * gate is asked about them; the caller is charged for them.
 */
export function* tellDependents<T>(
  declared: AnyDeclared,
  command: AnyCommand,
  result: Result<Decision<T>>,
  context: DecisionContext,
): Reading<Result<Decision<T>>> {
  const viewer = viewerOf(declared, command);
  if (!result.ok || viewer === null || gatedBy(declared, command) === null) return result;
  const told: Mutation[] = [];
  for (const link of supersedingLinks(result.value.mutations)) {
    const ends = {
      source: yield* endOf(link.source_id, result.value.mutations),
      target: yield* endOf(link.target_id, result.value.mutations),
    };
    for (const dependent of yield* dependentsOf(link, ends, viewer, context.now)) {
      const text = `mnemesh/superseded/${linkId(link)}/${dependent.owner}/${context.now}`;
      const id = uuidOfDigest(yield* digestOfText({ text }));
      const notice = noticeOf(link, id, dependent, context.now);
      const charge = yield* chargeFor(notice, null, context);
      if (!charge.ok) return failed(charge.error);
      told.push(...charge.value, insertMemory(notice), auditOf(link, dependent.memories));
    }
  }
  if (told.length === 0) return result;
  return { ok: true, value: { ...result.value, mutations: [...result.value.mutations, ...told] } };
}

/** The links that begin to hold, of those that say that one memory supersedes another and who observed it. */
const supersedingLinks = (mutations: readonly Mutation[]): readonly Link[] =>
  linkChanges(mutations.filter(({ mutation }) => mutation === 'write'))
    .map(({ link }) => link)
    .filter(
      ({ relation, retired_at, observed_by }) =>
        relation === 'supersedes' && retired_at === null && observed_by !== null,
    );

/** An end of a link, which the same command may store or take away. */
function* endOf(id: MemoryId, mutations: readonly Mutation[]): Reading<Memory | null> {
  const change = memoryChanges(mutations).find(({ before, after }) => (after ?? before)?.id === id);
  return change === undefined ? yield* memoryById(id) : (change.after ?? change.before);
}

function auditOf(link: Link, dependents: readonly MemoryId[]): Mutation {
  const { source_id: invalidating_id, target_id: invalidated_id, observed_by } = link;
  const payload = { invalidated_id, invalidating_id, dependents };
  return appendAudit({ event: { agentId: observed_by!, type: 'reflection.invalidation_notified', payload } });
}
