import { mergeBy } from './joins.js';
import { type Kind, NO_AUTHOR } from './kind.js';
import { type Payload, payloadOf, type Rest } from './payload.js';
import { covers, type Facts } from './version.js';

/** The payload of a removal that holds nothing but the reason. */
export const NO_FACTS: Payload<Facts> = payloadOf<{ readonly rest: Rest }>({}) as unknown as Payload<Facts>;

/** The defaults of a kind: the concurrent version with the latest edit wins as a whole. */
export function plain<I extends object>(): Pick<
  Kind<I>,
  | 'namespaceOf'
  | 'namespaceOfId'
  | 'about'
  | 'governsBelow'
  | 'lasting'
  | 'ownerMember'
  | 'memoryMembers'
  | 'editOf'
  | 'merge'
  | 'ends'
  | 'settled'
  | 'reach'
  | 'writer'
  | 'movable'
  | 'author'
  | 'prevailing'
  | 'final'
  | 'charged'
> {
  return {
    namespaceOf: () => null,
    namespaceOfId: () => null,
    about: () => [],
    governsBelow: false,
    lasting: false,
    ownerMember: null,
    memoryMembers: [],
    editOf: (version) => version,
    merge: mergeBy<I>({}),
    ends: (by, version) => covers(by, version),
    settled: (outcome) => outcome,
    reach: 'namespace',
    writer: 'anybody',
    movable: false,
    author: () => NO_AUTHOR,
    prevailing: [],
    final: [],
    charged: false,
  };
}
