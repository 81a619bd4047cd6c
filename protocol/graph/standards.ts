import { type Deciding, type DecisionContext, decided } from '../decide/deciding.js';
import { memoryById } from '../decide/reads.js';
import { dropRecord, putRecord, recordRow } from '../decide/record-writes.js';
import { namespaceProblem } from '../ids.js';
import { NO_REST } from '../kinds/payload.js';
import { type Standard, standardKind } from '../kinds/standard-kind.js';
import type { MemoryId } from '../meanings.js';
import { isExpired, isVisible } from '../memory/access.js';
import type { Viewer } from '../ranking/types.js';
import { fail } from '../result.js';

/** Pins a memory as the standard of a namespace, or names the namespace that it inherits from (interface §2.5). */
export interface SetStandard {
  readonly kind: 'set-standard';
  readonly namespace: string;
  /** The memory that becomes the standard; null leaves only the parent. */
  readonly standardId: MemoryId | null;
  readonly parent: string | null;
  readonly viewer: Viewer;
}

/** What `set-standard` answers. */
export interface SetStandardOutcome {
  readonly standard: Standard;
}

/** Removes the standard of a namespace; the memory stays. */
export interface ClearStandard {
  readonly kind: 'clear-standard';
  readonly namespace: string;
}

/** What `clear-standard` answers. */
export interface ClearStandardOutcome {
  readonly cleared: boolean;
}

/** Sets a standard. NOT_FOUND for a memory that the caller cannot see; VALIDATION_FAILED for an invalid namespace. */
export function* decideSetStandard(
  command: SetStandard,
  context: DecisionContext,
): Deciding<SetStandardOutcome> {
  const { namespace, standardId, parent, viewer } = command;
  for (const [field, value] of [
    ['namespace', namespace],
    ['parent', parent],
  ] as const) {
    const problem = value === null ? null : namespaceProblem(value);
    if (problem !== null) return fail('VALIDATION_FAILED', `${field}: ${problem}`, { fields: [field] });
  }
  if (standardId === null && parent === null) {
    return fail('VALIDATION_FAILED', 'a standard names a memory or a parent', { fields: ['id'] });
  }
  if (parent === namespace) {
    return fail('VALIDATION_FAILED', 'a namespace cannot be its own parent', { fields: ['parent'] });
  }
  if (standardId !== null) {
    const memory = yield* memoryById(standardId);
    if (memory === null || isExpired(memory, context.now) || !isVisible(memory, viewer)) {
      return fail('NOT_FOUND', 'memory not found');
    }
  }
  const before = (yield* recordRow(standardKind, namespace))?.image ?? null;
  const said = { standard_id: standardId, parent_namespace: parent, set_by: viewer.agentId };
  if (before !== null && isSame(before, said)) return decided({ standard: before }, []);
  const image: Standard = { rest: NO_REST, ...before, namespace, ...said, updated_at: context.now };
  return decided({ standard: image }, [yield* putRecord(standardKind, { id: namespace, namespace }, image)]);
}

function isSame(a: Standard, b: Pick<Standard, 'standard_id' | 'parent_namespace' | 'set_by'>): boolean {
  return (
    a.standard_id === b.standard_id && a.parent_namespace === b.parent_namespace && a.set_by === b.set_by
  );
}

/** Clears a standard; does nothing when no standard is set. */
export function* decideClearStandard({ namespace }: ClearStandard): Deciding<ClearStandardOutcome> {
  const row = yield* recordRow(standardKind, namespace);
  if (row === null) return decided({ cleared: false }, []);
  return decided({ cleared: true }, [dropRecord(standardKind, row, 'clear')]);
}
