import { z } from 'zod';
import * as limits from '../../../protocol/base/limits.js';
import { failed, ok, type Result } from '../../../protocol/base/result.js';
import { isWithin } from '../../../protocol/base/within.js';
import { GATES } from '../../../protocol/decide/gate.js';
import type { Excepted } from '../../../protocol/namespaces/excepted.js';
import { type Governance, shownGovernance } from '../../../protocol/namespaces/policy-members.js';
import type { ShownStandard } from '../../../protocol/namespaces/queries.js';
import { rulingViewer } from '../../identity/caller.js';
import type { ReadCall } from '../../pipeline/call.js';
import * as fields from '../../pipeline/fields.js';
import { defineOperation } from '../../pipeline/operation.js';
import { resolveId } from '../shared/resolve-id.js';

export const governance = z.looseObject({}).describe('The policy, with its defaults');

export const shownStandard = z.object({
  namespace: z.string(),
  standard_id: z.string().nullable(),
  title: z.string().optional(),
  content: z.string().optional(),
  priority: z.int().optional(),
  parent: z.string().optional(),
  governance: governance.nullable(),
  warning: z.string().optional(),
});

/** The standard of a namespace, or of its whole chain (interface §4.7, reference-http §3.4). */
export const standardOutput = shownStandard.partial().extend({
  namespace: z.string(),
  chain: z.array(z.string()),
  standards: z.array(shownStandard),
  count: z.int(),
  ...fields.listEnd,
});

/** Pins a memory as the standard of a namespace, with its policy (interface §4.7). */
export const memoryNamespaceSetStandard = defineOperation({
  name: 'memory_namespace_set_standard',
  family: 'governance',
  summary: 'Pin a memory as the standard of a namespace, or set its parent or policy.',
  input: z.object({
    namespace: fields.namespace.describe('Namespace; * is that of everybody'),
    id: fields.memoryId.describe('Memory that becomes the standard; the present one unless given').optional(),
    parent: fields.namespace
      .nullable()
      .describe('Namespace to inherit from instead of the ancestors; null inherits from these')
      .optional(),
    governance: fields
      .jsonObject(limits.GOVERNANCE_BYTES_MAX)
      .nullable()
      .describe('Members of the policy to set; a member that is null is removed, and null removes the policy')
      .optional(),
  }),
  output: z.object({
    set: z.literal(true),
    namespace: z.string(),
    standard_id: z.string().nullable(),
    parent: z.string().optional(),
    governance: governance.optional(),
    excepted: z
      .array(
        z.object({ namespace: z.string(), memory: z.boolean(), gates: z.array(z.enum([...GATES, 'read'])) }),
      )
      .describe('Namespaces below where the memory, or gates of the policy, do not count')
      .optional(),
    excepted_truncated: z.literal(true).describe('There may be more of them').optional(),
  }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  http: [
    {
      method: 'POST',
      path: '/namespaces/{namespace}/standard',
      fields: 'body',
      nested: 'standard',
      status: 201,
    },
    { method: 'POST', path: '/namespaces', fields: 'body', nested: 'standard', status: 201 },
  ],
  mcp: {
    description:
      'Pin a memory as the standard, a guideline that everybody in a namespace must follow, or set the policy or parent of the namespace.',
  },
  cli: {
    command: 'namespace set-standard',
    short: { n: 'namespace' },
    view: 'message',
    message: (output) =>
      [
        `standard of ${output['namespace']}: ${output['standard_id'] ?? 'no memory'}`,
        ...((output['excepted'] ?? []) as readonly Excepted[]).map(
          ({ namespace, memory, gates }) =>
            `not in ${namespace} and below (${[...(memory ? ['memory'] : []), ...gates].join(', ')}), which has a policy or a parent of its own`,
        ),
        ...(output['excepted_truncated'] === true ? ['there may be more such namespaces'] : []),
      ].join('; '),
    examples: [
      'namespace set-standard --namespace team --id 3f2a',
      `namespace set-standard --namespace team --governance '{"write":"owner"}'`,
    ],
  },
  run: async (call, { namespace, id, parent, governance: given }) => {
    const { store, settings } = call.services;
    const resolved = id === undefined ? ok(undefined) : await resolveId(call, id);
    if (!resolved.ok) return failed(resolved.error);
    const result = await store.execute({
      kind: 'set-standard',
      namespace,
      ...(resolved.value === undefined ? {} : { standardId: resolved.value }),
      ...(parent === undefined ? {} : { parent }),
      ...(given === undefined ? {} : { governance: given }),
      viewer: rulingViewer(call.caller),
      defaultNamespace: settings.defaultNamespace,
    });
    if (!result.ok) return failed(result.error);
    const { standard } = result.value;
    return ok({
      set: true as const,
      namespace,
      standard_id: standard.standard_id,
      ...(standard.parent_namespace === null ? {} : { parent: standard.parent_namespace }),
      ...(standard.governance === null ? {} : { governance: shown(standard.governance)! }),
      ...(await exceptedBelow(call, namespace)),
    });
  },
});

/** The namespaces in which not all of a standard counts; nothing where that cannot be read, as the standard is set already. */
async function exceptedBelow(call: ReadCall, namespace: string) {
  const viewer = rulingViewer(call.caller);
  const found = await call.services.store.query({ kind: 'excepted-namespaces', namespace, viewer });
  if (!found.ok) return {};
  const { excepted, truncated } = found.value;
  return {
    excepted: excepted.map((each) => ({ ...each, gates: [...each.gates] })),
    ...(truncated ? { excepted_truncated: true as const } : {}),
  };
}

/** Shows the standard of a namespace (interface §4.7). */
export const memoryNamespaceGetStandard = defineOperation({
  name: 'memory_namespace_get_standard',
  family: 'governance',
  summary: 'Show the standard of a namespace, or with inherit those of its whole chain.',
  input: z.object({
    namespace: fields.namespace,
    inherit: z.boolean().default(false).describe('Show the whole chain, from * to the namespace'),
  }),
  output: standardOutput,
  effect: 'read',
  guards: {},
  http: [{ method: 'GET', path: '/namespaces/{namespace}/standard', fields: 'query' }],
  mcp: { description: 'Show the standard and policy of a namespace.' },
  cli: {
    command: 'namespace get-standard',
    short: { n: 'namespace' },
    view: 'object',
    table: { namespace: 'NAMESPACE', standard_id: 'MEMORY', title: 'TITLE' },
    examples: ['namespace get-standard --namespace team/alpha --inherit'],
  },
  run: (call, { namespace, inherit }) => standardsOf(call, namespace, inherit),
});

/** Unpins the standard of a namespace; the memory stays (interface §4.7). */
export const memoryNamespaceClearStandard = defineOperation({
  name: 'memory_namespace_clear_standard',
  family: 'governance',
  summary: 'Remove the standard of a namespace and its policy; the memory stays.',
  input: z.object({ namespace: fields.namespace }),
  output: z.object({ cleared: z.boolean(), namespace: z.string() }),
  effect: 'write',
  overwrites: true,
  guards: { attestation: 'by-name' },
  http: [
    { method: 'DELETE', path: '/namespaces/{namespace}/standard', fields: 'query' },
    { method: 'DELETE', path: '/namespaces', fields: 'query' },
  ],
  mcp: { description: 'Remove the standard and policy of a namespace; the memory stays.' },
  cli: {
    command: 'namespace clear-standard',
    short: { n: 'namespace' },
    view: 'message',
    message: ({ cleared, namespace }) =>
      cleared === true ? `cleared: ${namespace}` : `${namespace} has no standard`,
    examples: ['namespace clear-standard --namespace team'],
  },
  run: async (call, { namespace }) => {
    const viewer = rulingViewer(call.caller);
    const { store, settings } = call.services;
    const { defaultNamespace } = settings;
    const result = await store.execute({ kind: 'clear-standard', namespace, viewer, defaultNamespace });
    return result.ok ? ok({ cleared: result.value.cleared, namespace }) : failed(result.error);
  },
});

/** The answer about the standard of a namespace, or about those of its chain. */
export async function standardsOf(
  call: ReadCall,
  namespace: string,
  inherit: boolean,
): Promise<Result<z.input<typeof standardOutput>>> {
  const { viewer } = call.caller;
  const result = await call.services.store.query({
    kind: 'read-standards',
    namespace,
    inherit,
    viewer,
    now: call.now,
  });
  if (!result.ok) return failed(result.error);
  const isShown = (name: string) => isWithin(name, viewer.within);
  const chain = result.value.chain.filter(isShown);
  const standards = result.value.standards.filter((each) => isShown(each.namespace)).map(standardJson);
  const own = inherit ? {} : (standards[0] ?? { standard_id: null });
  return ok({ ...own, namespace, chain, standards, count: standards.length });
}

function standardJson(standard: ShownStandard): z.input<typeof shownStandard> {
  const { namespace, standard_id, parent, memory, missing } = standard;
  return {
    namespace,
    standard_id,
    ...(memory === null ? {} : { title: memory.title, content: memory.content, priority: memory.priority }),
    ...(parent === null ? {} : { parent }),
    governance: shown(standard.governance),
    ...(missing
      ? { warning: 'the memory of this standard does not exist here, or is not visible to the caller' }
      : {}),
  };
}

const shown = (given: Governance | null) => {
  const policy = shownGovernance(given);
  return policy === null ? null : { ...policy };
};
