import type { Settings } from '../config/settings.js';
import type { Caller } from '../identity/caller.js';
import type { SignedFields } from '../identity/sign-write.js';

/** The fields of a write that its author signs, as they will be stored. */
export function signedFields(
  input: Readonly<Record<string, unknown>>,
  caller: Caller,
  settings: Pick<Settings, 'defaultNamespace'>,
): SignedFields {
  return {
    agentId: caller.agentId,
    namespace: String(input['namespace'] ?? settings.defaultNamespace),
    title: String(input['title']),
    kind: String(input['kind']),
    content: String(input['content']),
  };
}
