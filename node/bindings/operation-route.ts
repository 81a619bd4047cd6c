import { fieldTypes, isRequired } from '../pipeline/coerce.js';
import { fieldFacts } from '../pipeline/field-facts.js';
import type { HttpBinding, Operation } from '../pipeline/operation.js';

/** How an external value becomes a field. */
export interface FieldPlan {
  readonly field: string;
  /** True when text from a URL must be converted to another type. */
  readonly coerced: boolean;
  /** True when null is a value of the field; otherwise null means that it is absent. */
  readonly nullable: boolean;
}

/** A binding of an operation, prepared once for all requests. */
export interface OperationRoute {
  readonly kind: 'operation';
  readonly operation: Operation;
  readonly binding: HttpBinding;
  /** Fields in the path, in its order. */
  readonly params: readonly FieldPlan[];
  /** Fields in the query or body, by every name that they have there. */
  readonly fields: ReadonlyMap<string, FieldPlan>;
  /** Header to field. */
  readonly headers: readonly (readonly [string, FieldPlan])[];
  /** True when `agent_id` names the caller and is not a filter. */
  readonly claims: boolean;
  /** True when at least one field of the body is required. */
  readonly bodyRequired: boolean;
}

/** Prepares the routes of the operations that have an HTTP binding. */
export function operationRoutes(operations: readonly Operation[]): OperationRoute[] {
  return operations.flatMap((operation) =>
    (operation.http ?? []).map((binding) => route(operation, binding)),
  );
}

function route(operation: Operation, binding: HttpBinding): OperationRoute {
  const inPath = [...binding.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
  const elsewhere = Object.keys(fieldFacts(operation)).filter(
    (field) => !inPath.includes(field) && binding.omit?.includes(field) !== true,
  );
  const fields = new Map(elsewhere.map((field) => [field, plan(operation, field)]));
  for (const [alias, field] of Object.entries(binding.aliases ?? {})) {
    const target = fields.get(field);
    if (target !== undefined) fields.set(alias, target);
  }
  return {
    kind: 'operation',
    operation,
    binding,
    params: inPath.map((field) => plan(operation, field)),
    fields,
    headers: Object.entries(binding.headers ?? {}).map(([header, field]) => [header, plan(operation, field)]),
    claims: (binding.agentId ?? agentIdRole(operation)) !== 'filter',
    bodyRequired:
      binding.fields === 'body' &&
      elsewhere.some((field) => binding.defaults?.[field] === undefined && isRequired(operation, field)),
  };
}

function plan(operation: Operation, field: string): FieldPlan {
  const types = fieldTypes(operation, field);
  return { field, coerced: types.length > 0 && !types.includes('string'), nullable: types.includes('null') };
}

/** What an `agent_id` among the fields of an operation means, on all of its routes together. */
export function claimRole(operation: Operation): 'claim' | 'filter' | 'subject' {
  const roles = (operation.http ?? []).map(({ agentId }) => agentId ?? agentIdRole(operation));
  if (roles.length === 0) return agentIdRole(operation);
  return roles.find((role) => role !== 'filter') ?? 'filter';
}

/** A read that filters by `agent_id` may name any agent; everywhere else the id names the caller. */
function agentIdRole(operation: Operation): 'claim' | 'filter' {
  return operation.effect === 'read' && Object.hasOwn(fieldFacts(operation), 'agent_id') ? 'filter' : 'claim';
}
