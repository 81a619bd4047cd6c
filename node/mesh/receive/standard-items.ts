import { z } from 'zod';
import { namespaceProblem } from '../../../protocol/base/ids.js';
import { fail, failed, ok, type Result } from '../../../protocol/base/result.js';
import { isObject, NO_REST } from '../../../protocol/kinds/payload.js';
import { mayHold } from '../../../protocol/log/scope.js';
import { type Standard, standardKind } from '../../../protocol/memory/standard-kind.js';
import { isOperators, STANDARD_MEMBERS } from '../../../protocol/namespaces/standard-owner.js';
import * as fields from '../../pipeline/fields.js';
import { parseInput } from '../../pipeline/parse.js';
import { type Effect, liveMemory, outOfScope, type Pushed } from './pushed-item.js';

/** An item of `namespace_meta` (reference-http: POST /sync/push). */
const namespaceMeta = {
  input: z.object({
    namespace: fields.namespace,
    standard_id: fields.memoryId.nullish(),
    parent_namespace: fields.namespace.nullish(),
    updated_at: fields.instant,
  }),
};

/**
 * Takes a standard of a peer without operations. The later `updated_at` wins, also against a removal here. The memory
 * must exist here and be in the scope of the peer, like the ends of a link.
 */
export async function takeStandard(item: unknown, pushed: Pushed): Promise<Result<Effect>> {
  if (!isObject(item)) return fail('VALIDATION_FAILED', 'must be a JSON object');
  const parsed = parseInput(namespaceMeta, item, 'ignore');
  if (!parsed.ok) return failed(parsed.error);
  const { namespace, standard_id = null, parent_namespace = null, updated_at } = parsed.value;
  const { peer, call } = pushed;
  if (!mayHold(peer, namespace)) return outOfScope();
  if (standard_id === null && parent_namespace === null) {
    return fail('VALIDATION_FAILED', 'a standard must name a memory or a parent', {
      fields: ['standard_id'],
    });
  }
  if (parent_namespace === namespace) {
    return fail('VALIDATION_FAILED', 'a namespace cannot be its own parent', {
      fields: ['parent_namespace'],
    });
  }
  const memory = standard_id === null ? ok(null) : await liveMemory(standard_id, pushed);
  if (!memory.ok) return failed(memory.error);
  const held = await heldStandard(namespace, pushed);
  if (!held.ok) return failed(held.error);
  const said = { namespace, standard_id, parent_namespace, updated_at };
  const image: Standard = { ...said, ...keptOf(held.value, said, call.caller.agentId), rest: NO_REST };
  const imported = await call.services.store.execute({
    kind: 'import-record',
    record: { kind: standardKind.name, id: namespace, namespace, image },
    revive: false,
  });
  if (!imported.ok) return failed(imported.error);
  return ok(imported.value.change === 'unchanged' ? 'noop' : 'namespace_meta_applied');
}

/** What these items do not carry, the policy and the authors, stays that of this node; what they change is nobody's rule. */
function keptOf(
  held: Standard | null,
  said: Pick<Standard, 'standard_id' | 'parent_namespace'>,
  sender: string,
): Pick<Standard, 'governance' | 'set_by' | 'operator_set'> {
  if (held === null) return { governance: null, set_by: sender, operator_set: null };
  const { governance, set_by } = held;
  const image = { ...said, governance };
  const kept = STANDARD_MEMBERS.filter(
    (member) => isOperators(held, member) && held[member] !== null && held[member] === image[member],
  );
  return { governance, set_by, operator_set: kept.length === 0 && set_by !== null ? null : kept };
}

/** The standard of a namespace on this node; null when there is none. */
async function heldStandard(namespace: string, { call }: Pushed): Promise<Result<Standard | null>> {
  const { store } = call.services;
  const read = await store.query({ kind: 'read-records', of: standardKind.name, ids: [namespace] });
  if (!read.ok) return failed(read.error);
  return ok((read.value.records[0]?.image as Standard | undefined) ?? null);
}

/** Clears the standard of a namespace; a namespace without one is left as it is. */
export async function takeStandardClear(item: unknown, { peer, call }: Pushed): Promise<Result<Effect>> {
  const problem = typeof item === 'string' ? namespaceProblem(item) : 'must be a namespace';
  if (problem !== null) return fail('VALIDATION_FAILED', problem);
  const namespace = item as string;
  if (!mayHold(peer, namespace)) return outOfScope();
  const cleared = await call.services.store.execute({ kind: 'clear-standard', namespace });
  if (!cleared.ok) return failed(cleared.error);
  return ok(cleared.value.cleared ? 'namespace_meta_cleared' : 'noop');
}
