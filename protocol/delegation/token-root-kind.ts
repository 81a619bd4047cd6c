import type { Instant, PeerId } from '../base/meanings.js';
import { MESH_NAMESPACE } from '../decide/adoption-kind.js';
import { homeId } from '../kinds/home.js';
import type { Kind } from '../kinds/kind.js';
import { isText, type Rest } from '../kinds/payload.js';
import { recordKind } from '../kinds/record-kind.js';
import { instant } from '../kinds/replicated-value.js';

/** The public key that verifies the tokens of a node. A node that was told to begin again has a new one. */
export interface TokenRoot {
  /** The node that mints with it. */
  readonly peer_id: PeerId;
  /** The first 16 hex digits of the SHA-256 of the key. */
  readonly key_id: string;
  /** Ed25519, 64 hex digits. */
  readonly public_key: string;
  readonly created_at: Instant;
  readonly rest: Rest;
}

const hex = (digits: number) => {
  const shape = new RegExp(`^[0-9a-f]{${digits}}$`);
  return (value: unknown): boolean => typeof value === 'string' && shape.test(value);
};
const isPart = (value: unknown): boolean => isText(value) && !value.includes('/');

export const rootId = ({ peer_id, key_id }: Pick<TokenRoot, 'peer_id' | 'key_id'>): string =>
  homeId(peer_id, key_id);

export const tokenRootKind: Kind<TokenRoot> = recordKind<TokenRoot>({
  name: 'token_root',
  members: {
    peer_id: { accepts: isPart, default: '' },
    key_id: { accepts: isPart, admits: hex(16), default: '' },
    public_key: { accepts: isText, admits: hex(64), default: '' },
    created_at: { accepts: isText, admits: instant, default: '' },
  },
  idOf: rootId,
  namespaceOf: () => MESH_NAMESPACE,
  namespaceOfId: () => MESH_NAMESPACE,
  losers: 'dropped',
  reach: 'everybody',
  // Only a node itself says which key mints its tokens.
  writer: 'maker',
  exported: false,
  decides: true,
  isVisible: () => true,
});
