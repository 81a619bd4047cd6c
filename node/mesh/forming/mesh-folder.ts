import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Random } from '../../../protocol/base/seams.js';
import { StartRefusedError } from '../../../protocol/base/start-refused.js';
import { openKeyFolder, PRIVATE_MODE, replaceFile } from '../../identity/key-file.js';
import { fingerprintOfCertificate, type KeyAndCertificate } from './certificate.js';

/** What a node knows about the mesh that it belongs to. */
export interface MeshFacts {
  readonly version: 1;
  /** SHA-256 of the authority's certificate, lower-case hex. */
  readonly mesh_id: string;
  readonly peer_id: string;
  /** The address at which other nodes reach this one; null for a node that calls and cannot be called. */
  readonly url: string | null;
  /** The address on which it listens for them. */
  readonly listen: { readonly host: string; readonly port: number } | null;
}

const FACTS = z.object({
  version: z.literal(1),
  mesh_id: z.string(),
  peer_id: z.string(),
  url: z.string().nullable(),
  listen: z.object({ host: z.string(), port: z.number().int().min(0).max(65_535) }).nullable(),
});

/**
 * The folder `mesh` in the home (0700, files 0600): facts, this node's certificate and key, the authority's certificate,
 * the roster and open invitations; on the node that made the mesh also the authority's key.
 */
export class MeshFolder {
  readonly path: string;
  readonly factsPath: string;
  readonly rosterPath: string;
  readonly invitesPath: string;
  readonly lockPath: string;
  readonly nodeKeyPath: string;
  readonly nodeCertPath: string;
  readonly authorityKeyPath: string;
  readonly authorityCertPath: string;

  constructor(home: string) {
    this.path = join(home, 'mesh');
    this.factsPath = join(this.path, 'mesh.json');
    this.rosterPath = join(this.path, 'peers.json');
    this.invitesPath = join(this.path, 'invites');
    this.lockPath = join(this.path, 'lock');
    this.nodeKeyPath = join(this.path, 'node.key');
    this.nodeCertPath = join(this.path, 'node.crt');
    this.authorityKeyPath = join(this.path, 'authority.key');
    this.authorityCertPath = join(this.path, 'authority.crt');
  }

  /** Makes the folder, and refuses one that others may write to. */
  open(): void {
    openKeyFolder(this.path);
  }

  /** Null while the node belongs to no mesh. Throws StartRefusedError when the file cannot be used. */
  facts(): MeshFacts | null {
    if (!existsSync(this.factsPath)) return null;
    const parsed = FACTS.safeParse(parseJson(this.read(this.factsPath)));
    if (parsed.success) return parsed.data;
    throw new StartRefusedError(
      'CONFIG_INVALID',
      `${this.factsPath} is damaged: restore it from a copy, or join the mesh again`,
    );
  }

  /** PEM of the authority's certificate. */
  authorityCert(): string {
    return this.read(this.authorityCertPath);
  }

  /** The authority itself; null on nodes that only joined. */
  authority(): KeyAndCertificate | null {
    if (!existsSync(this.authorityKeyPath)) return null;
    return { key: this.read(this.authorityKeyPath), cert: this.authorityCert() };
  }

  /** True on the node that made the mesh. */
  get isAuthority(): boolean {
    return existsSync(this.authorityKeyPath);
  }

  /** Fingerprint of this node's certificate. */
  nodeFingerprint(): string {
    return fingerprintOfCertificate(new X509Certificate(this.read(this.nodeCertPath)));
  }

  /** Puts a whole file in place, readable only by its owner. */
  write(path: string, text: string, random: Random): void {
    replaceFile(path, Buffer.from(text), PRIVATE_MODE, random);
  }

  read(path: string): string {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new StartRefusedError('CONFIG_INVALID', `cannot read ${path}: ${code}`);
    }
  }
}

/** Null for a text that is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
