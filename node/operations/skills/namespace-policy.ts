import { READ_RECORDS_MAX, REFLECTION_DEPTH_MAX } from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import type { Standard } from '../../../protocol/memory/standard-kind.js';
import { standardKind } from '../../../protocol/memory/standard-kind.js';
import { namespacesAbove, ofOperators, policiesOf } from '../../../protocol/namespaces/effective-policy.js';
import { numberIn } from '../../../protocol/namespaces/reflection-policy.js';
import type { ReadCall } from '../../pipeline/call.js';

/** The deepest reflections of a namespace that count, as `memory_reflect` has it. */
export async function deepestReflections(call: ReadCall, namespace: string): Promise<Result<number>> {
  const found = await said(call, namespace, 'max_reflection_depth');
  if (!found.ok) return failed(found.error);
  const { near, floor } = found.value;
  const most = near ?? REFLECTION_DEPTH_MAX;
  return ok(Math.min(most, floor ?? most));
}

/** The depth from which reflections of a namespace become skills where no policy says another one. */
const PROMOTION_DEPTH = 1;

/** The depth from which they do. */
export async function promotionDepth(call: ReadCall, namespace: string): Promise<Result<number>> {
  const found = await said(call, namespace, 'skill_promotion_min_depth');
  if (!found.ok) return failed(found.error);
  const { near, floor } = found.value;
  const least = near ?? PROMOTION_DEPTH;
  return ok(Math.max(least, floor ?? least));
}

/** What the nearest policy of a namespace says, and the nearest of those that admins and the operator set. */
async function said(
  call: ReadCall,
  namespace: string,
  member: string,
): Promise<Result<{ readonly near: number | null; readonly floor: number | null }>> {
  const known = new Map<string, Standard | null>();
  let missing = [...namespacesAbove(namespace)];
  while (missing.length > 0) {
    for (const name of missing) known.set(name, null);
    const ids = missing.slice(0, READ_RECORDS_MAX);
    const found = await call.services.store.query({ kind: 'read-records', of: standardKind.name, ids });
    if (!found.ok) return failed(found.error);
    const standards = found.value.records.map(({ image }) => image as Standard);
    for (const standard of standards) known.set(standard.namespace, standard);
    const parents = standards.flatMap(({ parent_namespace: parent }) =>
      parent === null ? [] : namespacesAbove(parent),
    );
    missing = [...new Set(parents)].filter((name) => !known.has(name));
  }
  const standardOf = (name: string) => known.get(name) ?? null;
  return ok({
    near: numberIn(policiesOf(namespace, standardOf), member),
    floor: numberIn(policiesOf(namespace, ofOperators(standardOf)), member),
  });
}
