import type { Kinds } from '../kinds/kinds.js';
import type { Roster } from '../mesh/peer.js';
import type { OperationPage, SignedHead, VerifiedOperation, WireOperation } from '../mesh/wire.js';
import type { ReadOperation } from '../mesh/wire-schema.js';
import type { Crypto } from '../seams.js';
import type { VerifiedBatch } from './verified-batch.js';
import { AuthorVerifier, type KeyProblem } from './verify-author.js';
import { type Origins, verifyAlone, verifyOperations } from './verify-operations.js';

export interface VerifierParts {
  /** This node, with its key where it has one. */
  readonly self: { readonly peerId: string; readonly signer: { readonly publicKey: Uint8Array } | null };
  readonly roster: Roster;
  readonly crypto: Crypto;
  readonly publicKeyProblem: KeyProblem;
  /** Left out: every kind of this release. */
  readonly kinds?: Kinds | undefined;
}

/**
 * Verifies operations of other nodes, whichever message brought them: by the keys and the scopes that the roster has now.
 * It takes time and touches nothing.
 */
export class Verifier {
  private readonly origins: Origins;
  private readonly authors: AuthorVerifier;

  constructor(private readonly parts: VerifierParts) {
    const { self, roster, crypto, publicKeyProblem, kinds } = parts;
    this.authors = new AuthorVerifier(crypto, publicKeyProblem, kinds);
    this.origins = {
      keyOf: (id) =>
        id === self.peerId ? (self.signer?.publicKey ?? null) : (roster.find(id)?.publicKey ?? null),
      scopeOf: (id) => roster.find(id) ?? UNRESTRICTED,
    };
  }

  /** The operations of a push, as far as they could be read. */
  batch(read: readonly ReadOperation[], heads: readonly SignedHead[]): VerifiedBatch {
    return verifyOperations(read, heads, this.origins, this.authors, this.parts.crypto);
  }

  /** A page that a peer answered, as with a push. */
  page({ operations, heads }: Pick<OperationPage, 'operations' | 'heads'>): VerifiedBatch {
    return this.batch(
      operations.map((operation) => ({ ok: true, operation })),
      heads,
    );
  }

  /** Operations that a peer gave back one by one; those whose payload is not their own are left out. */
  singles(operations: readonly WireOperation[]): VerifiedOperation[] {
    return operations.flatMap(
      (operation) => verifyAlone(operation, this.origins, this.authors, this.parts.crypto) ?? [],
    );
  }
}

const UNRESTRICTED = { allowedNamespaces: null };
