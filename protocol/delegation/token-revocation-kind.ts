import { REPLICATED_WORD_BYTES_MAX } from '../base/limits.js';
import type { Instant } from '../base/meanings.js';
import { MESH_NAMESPACE } from '../decide/adoption-kind.js';
import type { Kind } from '../kinds/kind.js';
import { isText, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant, textOf } from '../kinds/replicated-value.js';

/** Says that a token, and every token that was narrowed from it, is void. */
export interface TokenRevocation {
  /** The revocation id of the block that ends the token, 128 hex digits. */
  readonly revocation_id: string;
  readonly revoked_by: string;
  readonly revoked_at: Instant;
  readonly rest: Rest;
}

const REVOCATION_ID = /^[0-9a-f]{128}$/;
export const isRevocationId = (value: unknown): value is string =>
  typeof value === 'string' && REVOCATION_ID.test(value);

export const tokenRevocationKind: Kind<TokenRevocation> = recordKind<TokenRevocation>({
  name: 'token_revocation',
  members: {
    revocation_id: { accepts: isText, admits: isRevocationId, default: '' },
    revoked_by: { accepts: isText, admits: textOf(REPLICATED_WORD_BYTES_MAX), default: '' },
    revoked_at: { accepts: isText, admits: instant, default: '' },
  },
  idOf: ({ revocation_id }) => revocation_id,
  namespaceOf: () => MESH_NAMESPACE,
  namespaceOfId: () => MESH_NAMESPACE,
  // A revocation that could be taken back would be none.
  lasting: true,
  losers: 'dropped',
  reach: 'everybody',
  exported: false,
  decides: true,
});
