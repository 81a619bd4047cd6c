import { fail, ok, type Result } from '../../../../protocol/base/result.js';
import { FAMILIES } from '../../../config/tool-families.js';
import type { ReadCall } from '../../../pipeline/call.js';
import { factsOf } from './facts.js';

interface FamilyQuestion {
  readonly family: string;
  readonly includeSchema: boolean;
  readonly verbose: boolean;
}

/**
 * The tools of one family, by name or with their definitions (reference-mcp-cli §5.4). VALIDATION_FAILED for an empty
 * or unknown family; FORBIDDEN for the definitions of a family that the allowlist denies to the caller.
 */
export async function familyReport(
  call: ReadCall,
  { family, includeSchema, verbose }: FamilyQuestion,
): Promise<Result<Record<string, unknown>>> {
  const { families, permitted } = factsOf(call);
  const known = families.find(({ name }) => name === family);
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
  if (!permitted.includes(known.name)) {
    const { agentId } = call.caller;
    await call.services.touches.noteSchemaDenial({ agentId, families: [known.name] });
    const message = `the allowlist of this node does not let ${agentId} use the family ${known.name}: its operator decides that with [mcp.allowlist]`;
    return fail('FORBIDDEN', message);
  }
  const definitions = known.tools.map((name) => call.services.catalogue.describe(name, verbose));
  return ok({ schema_version: 'v0.6.4-family-schemas-1', ...head, verbose, tools: definitions });
}
