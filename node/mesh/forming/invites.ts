import { createHash, type KeyObject, type X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock, Random } from '../../../protocol/base/seams.js';
import { createFile, newSeed, openKeyFolder, PRIVATE_MODE, signerOf } from '../../identity/key-file.js';
import { type MeshFolder, parseJson } from './mesh-folder.js';

/**
 * Invitations. The secret of an invitation is an Ed25519 seed, and a joining node presents a certificate of that key. So
 * the secret never travels, and a connection without an invitation cannot even open. This node keeps only a hash of the
 * public key.
 */

const INVITE = z.object({
  version: z.literal(1),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  allowed_namespaces: z.array(z.string()).nullable(),
});
const USE = z.object({ peer_id: z.string(), tls_key: z.string() });

export type Invite = z.infer<typeof INVITE>;
/** The user of an invitation: the peer, and a hash of its TLS key. */
export type InviteUse = z.infer<typeof USE>;

const DAY_MS = 86_400_000;
const HASH = /^[0-9a-f]{64}$/;

export class Invites {
  readonly #path: string;

  constructor(
    folder: MeshFolder,
    private readonly seams: { readonly clock: Clock; readonly random: Random },
  ) {
    this.#path = folder.invitesPath;
  }

  /** Makes an invitation; only the answer has the secret. */
  create(
    ttlSeconds: number,
    namespaces: readonly string[] | null,
  ): { secret: Uint8Array; expiresAtMs: number } {
    openKeyFolder(this.#path);
    this.#removeOld();
    const secret = newSeed();
    const nowMs = this.seams.clock.nowMs();
    const invite: Invite = {
      version: 1,
      created_at_ms: nowMs,
      expires_at_ms: nowMs + ttlSeconds * 1000,
      allowed_namespaces: namespaces === null ? null : [...namespaces],
    };
    const file = this.#file(hashOf(signerOf(secret).publicKey));
    createFile(file, Buffer.from(JSON.stringify(invite)), PRIVATE_MODE, this.seams.random);
    return { secret, expiresAtMs: invite.expires_at_ms };
  }

  /** An invitation by the hash of its key, valid or not. */
  find(hash: string): Invite | null {
    if (!HASH.test(hash)) return null;
    return INVITE.safeParse(readJson(this.#file(hash))).data ?? null;
  }

  isExpired(invite: Invite): boolean {
    return this.seams.clock.nowMs() >= invite.expires_at_ms;
  }

  /** Uses an invitation; returns its user: the given one, or an earlier one. */
  use(hash: string, use: InviteUse): InviteUse {
    const path = `${this.#file(hash)}.used`;
    createFile(path, Buffer.from(JSON.stringify(use)), PRIVATE_MODE, this.seams.random);
    return this.usedBy(hash) ?? { peer_id: '', tls_key: '' };
  }

  usedBy(hash: string): InviteUse | null {
    const path = `${this.#file(hash)}.used`;
    if (!existsSync(path)) return null;
    // A use that cannot be read blocks the invitation for everyone.
    return USE.safeParse(readJson(path)).data ?? { peer_id: '', tls_key: '' };
  }

  /** The number of valid invitations. */
  open(): number {
    return this.#hashes().filter((hash) => {
      const invite = this.find(hash);
      return invite !== null && !this.isExpired(invite) && this.usedBy(hash) === null;
    }).length;
  }

  #hashes(): string[] {
    if (!existsSync(this.#path)) return [];
    return readdirSync(this.#path)
      .map((name) => /^([0-9a-f]{64})\.json$/.exec(name)?.[1])
      .filter((hash) => hash !== undefined);
  }

  #removeOld(): void {
    for (const hash of this.#hashes()) {
      const invite = this.find(hash);
      if (invite !== null && this.seams.clock.nowMs() < invite.expires_at_ms + DAY_MS) continue;
      rmSync(this.#file(hash), { force: true });
      rmSync(`${this.#file(hash)}.used`, { force: true });
    }
  }

  #file(hash: string): string {
    return join(this.#path, `${hash}.json`);
  }
}

/** The name of an invitation: SHA-256 of the 32 bytes of its public key, hex. */
export function hashOf(publicKey: Uint8Array): string {
  return createHash('sha256').update(publicKey).digest('hex');
}

/** The invitation of a client's certificate; null for a certificate with another kind of key. */
export function inviteOf(certificate: X509Certificate): string | null {
  const key: KeyObject = certificate.publicKey;
  if (key.asymmetricKeyType !== 'ed25519') return null;
  return hashOf(key.export({ format: 'der', type: 'spki' }).subarray(-32));
}

function readJson(path: string): unknown {
  try {
    return parseJson(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}
