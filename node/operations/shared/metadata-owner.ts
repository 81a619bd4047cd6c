import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { ReadCall } from '../../pipeline/call.js';

type Metadata = Readonly<Record<string, unknown>>;

/** The owner of a new memory. Metadata may name the writer too, but no caller can write for another (decisions, "side doors"). */
export function ownerByMetadata(call: ReadCall, metadata: Metadata): Result<string> {
  const claimed = metadata['agent_id'] ?? undefined;
  const owner = call.caller.agentId;
  if (claimed === undefined || claimed === owner) return ok(owner);
  if (call.surface === 'http') {
    return fail('agent_id_body_header_mismatch', 'metadata.agent_id does not match the authenticated caller');
  }
  return fail('FORBIDDEN', 'metadata.agent_id does not match the caller');
}

/** The metadata that a caller can set: without the members that the service decides. */
export function callersMetadata(metadata: Metadata): Metadata {
  const { attest_level: _level, attested_by: _by, imported_from_agent_id: _from, ...rest } = metadata;
  return rest;
}
