import { readFileSync, renameSync } from 'node:fs';
import type { Signer } from '../../protocol/base/seams.js';
import { type AuditHead, type AuditHeads, auditHeadBytes } from '../../protocol/log/audit.js';
import { placeFile } from '../atomic-file.js';

export const auditHeadPath = (databasePath: string): string => `${databasePath}.audit-head`;

/** Reads a head file: no heads when it does not exist, `damaged` when it cannot be parsed. */
export function readAuditHeads(path: string): AuditHeads {
  const text = textOf(path);
  return text === 'damaged' ? text : headsIn(text);
}

function textOf(path: string): string | 'damaged' | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : 'damaged';
  }
}

/** The newest head stands at the top, where releases that know only one look for it. */
function headsIn(text: string | null): AuditHeads {
  if (text === null) return [];
  try {
    const { others = [], ...newest } = JSON.parse(text) as Record<string, unknown>;
    if (!Array.isArray(others)) return 'damaged';
    return [newest, ...others].map(headOf);
  } catch {
    return 'damaged';
  }
}

function headOf(value: unknown): AuditHead {
  const { sequence, hash, public_key, signature } = value as Record<string, unknown>;
  if (!Number.isSafeInteger(sequence)) throw new TypeError('not a sequence');
  return {
    sequence: sequence as number,
    hash: bytesOf(hash, 'hex'),
    publicKey: bytesOf(public_key, 'base64'),
    signature: bytesOf(signature, 'base64'),
  };
}

const shownHead = ({ sequence, hash, publicKey, signature }: AuditHead) => ({
  sequence,
  hash: Buffer.from(hash).toString('hex'),
  public_key: Buffer.from(publicKey).toString('base64'),
  signature: Buffer.from(signature).toString('base64'),
});

function bytesOf(text: unknown, encoding: 'hex' | 'base64'): Uint8Array {
  if (typeof text !== 'string') throw new TypeError('not a text');
  return Buffer.from(text, encoding);
}

/**
 * The file next to the database that records the last known end of the audit chain, once for each key that writes into
 * it. After a crash it may lag behind, which is harmless; a chain that ends before a head was cut.
 */
export class AuditHeadFile {
  constructor(
    private readonly path: string,
    /** Heads of other homes that a new file keeps, as far as the chain leads to them. */
    private readonly earlier: AuditHeads = [],
  ) {}

  read(): AuditHeads {
    return readAuditHeads(this.path);
  }

  /**
   * Moves the signer's head, and leaves those of other homes as they are. Writes nothing when the chain no longer leads to
   * one of them: `hashAt` answers the hash of the chain's row with a number, and when it differs from a stored head, the
   * chain was cut and then grew again.
   */
  write(
    head: { readonly sequence: number; readonly hash: Uint8Array },
    signer: Signer,
    hashAt: (sequence: number) => Uint8Array | null,
  ): void {
    const signature = signer.sign(auditHeadBytes(head.sequence, head.hash));
    const own: AuditHead = { ...head, publicKey: signer.publicKey, signature };
    const isOwn = ({ publicKey }: AuditHead) => Buffer.from(publicKey).equals(signer.publicKey);
    // A process of another home may write its head at the same moment.
    for (let tries = 0; tries < TRIES; tries += 1) {
      const text = textOf(this.path);
      const known = text === 'damaged' ? text : headsIn(text);
      const heads = text === null ? this.kept(isOwn, hashAt) : known === 'damaged' ? [] : known;
      if (heads.some((each) => isOwn(each) && each.sequence >= head.sequence)) return;
      if (!heads.every(({ sequence, hash }) => equal(hashAt(sequence), hash))) return;
      const [newest, ...others] = [own, ...heads.filter((each) => !isOwn(each))]
        .sort((one, other) => other.sequence - one.sequence)
        .map(shownHead);
      const next = JSON.stringify(others.length === 0 ? newest : { ...newest, others });
      if (this.replace(next, text)) return;
    }
  }

  private kept(
    isOwn: (head: AuditHead) => boolean,
    hashAt: (sequence: number) => Uint8Array | null,
  ): readonly AuditHead[] {
    if (this.earlier === 'damaged') return [];
    return this.earlier.filter((head) => !isOwn(head) && equal(hashAt(head.sequence), head.hash));
  }

  /** Puts a text into the file, unless that no longer holds `before`. */
  private replace(text: string, before: string | null): boolean {
    const { path } = this;
    const file = { path, draft: `${path}.${process.pid}`, content: text, mode: 0o600, syncsFolder: false };
    return placeFile(file, (draft) => {
      if (textOf(path) !== before) return false;
      renameSync(draft, path);
      return true;
    });
  }
}

/** How often a head is written again when another process has changed the file meanwhile. */
const TRIES = 5;

const equal = (one: Uint8Array | null, other: Uint8Array): boolean =>
  one !== null && Buffer.from(one).equals(other);
