import { fail, ok, type Result } from '../../../../protocol/base/result.js';
import type { ReadCall } from '../../../pipeline/call.js';
import { FAMILIES } from '../../../pipeline/operation.js';
import { factsOf } from './facts.js';

interface FamilyQuestion {
  readonly family: string;
  readonly includeSchema: boolean;
  readonly verbose: boolean;
}

/**
 * The tools of one family, by name or with their definitions (reference-mcp-cli §5.4). VALIDATION_FAILED for an empty
 * or unknown family.
 */
export function familyReport(
  call: ReadCall,
  { family, includeSchema, verbose }: FamilyQuestion,
): Result<Record<string, unknown>> {
  const known = factsOf(call).families.find(({ name }) => name === family);
  if (known === undefined) {
    const problem = family === '' ? 'family must not be empty' : `unknown family '${family}'`;
    return fail('VALIDATION_FAILED', `${problem}. Valid families: ${FAMILIES.join(', ')}`, {
      fields: ['family'],
    });
  }
  const head = { family: known.name, loaded_under_active_profile: known.loaded };
  if (!includeSchema) {
    return ok({ schema_version: 'v0.6.4-family-list-1', ...head, tools: [...known.tools] });
  }
  const definitions = known.tools.map((name) => call.services.catalogue.describe(name, verbose));
  return ok({ schema_version: 'v0.6.4-family-schemas-1', ...head, verbose, tools: definitions });
}
