import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { type AuditHead, auditHeadBytes } from '../../protocol/audit.js';
import type { Signer } from '../../protocol/seams.js';

export const auditHeadPath = (databasePath: string): string => `${databasePath}.audit-head`;

/** Reads a head file: null when it does not exist, `damaged` when it cannot be parsed. */
export function readAuditHead(path: string): AuditHead | 'damaged' | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    return 'damaged';
  }
  try {
    const { sequence, hash, public_key, signature } = JSON.parse(text) as Record<string, unknown>;
    if (!Number.isSafeInteger(sequence)) return 'damaged';
    return {
      sequence: sequence as number,
      hash: bytesOf(hash, 'hex'),
      publicKey: bytesOf(public_key, 'base64'),
      signature: bytesOf(signature, 'base64'),
    };
  } catch {
    return 'damaged';
  }
}

function bytesOf(text: unknown, encoding: 'hex' | 'base64'): Uint8Array {
  if (typeof text !== 'string') throw new TypeError('not a text');
  return Buffer.from(text, encoding);
}

/**
 * The file next to the database that records the last known end of the audit chain. After a crash it may lag behind,
 * which is harmless; a chain that ends before it was cut.
 */
export class AuditHeadFile {
  constructor(private readonly path: string) {}

  /**
   * Moves to a later head, unless the chain no longer leads to the stored one. `hashAt` answers the hash of the chain's
   * row with a number; when it differs from the stored head, the chain was cut and then grew again.
   */
  write(
    head: { readonly sequence: number; readonly hash: Uint8Array },
    signer: Signer,
    hashAt: (sequence: number) => Uint8Array | null,
  ): void {
    const known = readAuditHead(this.path);
    // Another process may have written a later head meanwhile.
    if (known !== null && known !== 'damaged') {
      if (known.sequence >= head.sequence) return;
      const hash = hashAt(known.sequence);
      if (hash === null || !Buffer.from(hash).equals(known.hash)) return;
    }
    const signature = signer.sign(auditHeadBytes(head.sequence, head.hash));
    const text = JSON.stringify({
      sequence: head.sequence,
      hash: Buffer.from(head.hash).toString('hex'),
      public_key: Buffer.from(signer.publicKey).toString('base64'),
      signature: Buffer.from(signature).toString('base64'),
    });
    const draft = `${this.path}.${process.pid}`;
    const file = openSync(draft, 'w', 0o600);
    try {
      writeSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, this.path);
  }
}
