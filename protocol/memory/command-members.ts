import { namespaceProblem } from '../base/ids.js';
import { NOBODY } from '../decide/command.js';
import { exactly, imageOf, isAgent, isRequester, type ReadMember } from '../decide/command-shape.js';
import { type Held, type Proposal, said } from '../decide/proposal.js';
import { ownerOf } from '../identity/owner.js';
import { isObject, isText } from '../kinds/payload.js';
import { orNull } from '../kinds/replicated-value.js';
import { type Memory, memoryJson } from './memory.js';
import { memoryKind } from './memory-kind.js';
import { claimed } from './new-memory.js';

export const isEnvelope = orNull((value) =>
  exactly({
    agentId: isAgent,
    fingerprint: isText,
    publicKey: isText,
    expiresAtMs: (ms) => Number.isFinite(ms),
  })(value, NOBODY),
);

/** A new memory of the requester. What another node signed was not verified here, so it is only claimed. */
export const newMemory: ReadMember<Memory> = {
  read: (value, by) => {
    if (!isObject(value)) return undefined;
    const {
      access_count: _a,
      last_accessed_at: _l,
      hlc: _h,
      origin: _o,
      origin_seq: _q,
      seen: _s,
      ...sent
    } = value;
    const image = imageOf(memoryKind, sent);
    if (image === undefined || namespaceProblem(image.namespace) !== null) return undefined;
    const memory: Memory = {
      ...image,
      ...{ access_count: 0, last_accessed_at: null, hlc: '', origin: '', origin_seq: 0, seen: {} },
    };
    const owner = ownerOf(memory);
    if (owner !== null && !isRequester(owner, by)) return undefined;
    return by.isOwn ? memory : claimed(memory);
  },
};

/** What the service counts and dates, which nobody proposes. */
const KEPT_BY_SERVICE = new Set([
  ...['access_count', 'last_accessed_at', 'created_at', 'updated_at', 'version', 'reflection_depth'],
  ...['confidence_source', 'persona_version'],
]);

/** The proposal of a command that brings its whole memory, and what it says beside it. */
export function ofMemory({ memory }: Held, more: Held = {}): Proposal | null {
  const row = memoryKind.payload.parse(memory) as Memory | null;
  if (row === null) return null;
  const json = Object.entries(memoryJson(row)).filter(([name]) => !KEPT_BY_SERVICE.has(name));
  const payload = said({ ...Object.fromEntries(json), ...more });
  return { payload, about: [], brings: row, scope: null };
}
