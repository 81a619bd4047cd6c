import { z } from 'zod';
import { failed, ok } from '../../../protocol/base/result.js';
import { FAMILIES } from '../../config/tool-families.js';
import type { ReadCall } from '../../pipeline/call.js';
import { defineOperation } from '../../pipeline/operation.js';
import { factsOf, permittedFamiliesOf } from './capabilities/facts.js';
import { familyReport } from './capabilities/family-report.js';
import { type ReportVersion, report, reportVersion } from './capabilities/report.js';

const input = z.object({
  accept: z
    .union([z.string(), z.number()])
    .describe('Shape of the report: v1, v2 or v3 (default)')
    .optional(),
  family: z.string().max(64).describe('Only the tools of this family').optional(),
  include_schema: z.boolean().default(false).describe('With the input schema of each tool'),
  verbose: z.boolean().default(false).describe('With the documentation of each tool'),
});

type Input = z.output<typeof input>;

/** The present abilities of this node (interface §4.14, §9; capabilities envelope v1, v2, v3). */
export const memoryCapabilities = defineOperation({
  name: 'memory_capabilities',
  family: 'meta',
  summary: 'Report what this node can do right now.',
  input,
  output: z.looseObject({ schema_version: z.string() }),
  effect: 'read',
  guards: {},
  delegable: 'by-namespace',
  http: [
    {
      method: 'GET',
      path: '/capabilities',
      fields: 'query',
      headers: { 'accept-capabilities': 'accept' },
      omit: ['accept', 'family', 'include_schema', 'verbose'],
    },
  ],
  mcp: {
    description: 'Report what this server can do: tools and their families, features, models, limits.',
    always: true,
  },
  run: async (call, fieldsIn) => {
    const version = reportVersion(fieldsIn.accept);
    if (fieldsIn.family !== undefined) {
      const answer = await familyReport(call, {
        family: fieldsIn.family,
        includeSchema: fieldsIn.include_schema,
        verbose: fieldsIn.verbose,
      });
      return answer.ok ? ok(answer.value as { schema_version: string }) : failed(answer.error);
    }
    const body = await report(call, version);
    return ok({ ...body, ...(await payloads(call, version, fieldsIn)) } as { schema_version: string });
  },
});

/** Schemas and documentation, where requested and permitted: in the rows of v3, as a separate list in v2. */
async function payloads(call: ReadCall, version: ReportVersion, { include_schema, verbose }: Input) {
  if (version === '1' || !(include_schema || verbose)) return {};
  const { catalogue, touches } = call.services;
  const permitted = permittedFamiliesOf(call);
  const denied = FAMILIES.filter((family) => !permitted.includes(family));
  if (denied.length > 0) await touches.noteSchemaDenial({ agentId: call.caller.agentId, families: denied });
  const parts = (name: string) => {
    const { description, inputSchema, docstring } = catalogue.describe(name, verbose);
    return {
      ...(include_schema ? { description, inputSchema } : {}),
      ...(verbose ? { docstring } : {}),
    };
  };
  if (version === '2') {
    const shown = catalogue.tools.filter(({ family }) => permitted.includes(family));
    return { tool_payloads: shown.map(({ name }) => ({ name, ...parts(name) })) };
  }
  const { tools } = factsOf(call);
  return {
    tools: tools.map((tool) => ({ ...tool, ...(permitted.includes(tool.family) ? parts(tool.name) : {}) })),
  };
}
