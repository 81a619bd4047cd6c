import type { PeerId } from '../base/meanings.js';
import type { Crypto } from '../base/seams.js';
import type { Kinds } from '../kinds/kinds.js';
import type { OperationPage, SignedHead, VerifiedOperation, WireOperation } from '../log/wire-operation.js';
import type { Roster } from '../peers/peer.js';
import type { ReadOperation } from '../wire/wire-schema.js';
import type { VerifiedBatch } from './verified-batch.js';
import { AuthorVerifier, type KeyProblem } from './verify-author.js';
import { type Origins, verifyOperations, verifySingle } from './verify-operations.js';

/** Refuses operations whose content may not be here. */
export interface OperationScreen {
  /** Called before each message; `refuses` can be asked when it has resolved. */
  ready(): Promise<void>;
  refuses(operation: WireOperation): boolean;
}

export interface VerifierParts {
  /** This node, with its key if it has one. */
  readonly self: { readonly peerId: PeerId; readonly signer: { readonly publicKey: Uint8Array } | null };
  readonly roster: Roster;
  readonly crypto: Crypto;
  readonly publicKeyProblem: KeyProblem;
  readonly kinds: Kinds;
  readonly screen?: OperationScreen;
}

/**
 * Verifies operations of other nodes, whichever message brought them, with the roster's current keys and scopes. It
 * computes only and changes nothing.
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
      refuses: (operation) => parts.screen?.refuses(operation) === true,
    };
  }

  /** Must have resolved before a message is verified. */
  async ready(): Promise<void> {
    await this.parts.screen?.ready();
  }

  /** Verifies the operations of a push, as far as they could be read. */
  batch(read: readonly ReadOperation[], heads: readonly SignedHead[]): VerifiedBatch {
    return verifyOperations(read, heads, this.origins, this.authors, this.parts.crypto);
  }

  /** Verifies a page that a peer answered, like a push. */
  page({ operations, heads }: Pick<OperationPage, 'operations' | 'heads'>): VerifiedBatch {
    return this.batch(
      operations.map((operation) => ({ ok: true, operation })),
      heads,
    );
  }

  /**
   * Verifies operations that a peer gave back one by one; an operation whose payload does not match its hash is left
   * out.
   */
  singles(operations: readonly WireOperation[]): VerifiedOperation[] {
    return operations.flatMap(
      (operation) => verifySingle(operation, this.origins, this.authors, this.parts.crypto) ?? [],
    );
  }
}

const UNRESTRICTED = { allowedNamespaces: null };
