import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { modeText, statOf } from '../config/file-modes.js';
import { signerOf } from '../identity/key-file.js';
import { type Section, SectionBuilder } from './report.js';

const KEY_BYTES = 32;
const MACHINE = 'daemon';

/** The identity of this node according to its keys. */
export interface KeysResult {
  readonly section: Section;
  /** Null while there is no usable machine key. */
  readonly peerId: string | null;
  readonly publicKey: Uint8Array | null;
}

/** Checks the key folder and every key in it: modes, lengths, and whether the two files of a pair match. */
export function checkKeys(keyDir: string): KeysResult {
  const section = new SectionBuilder('Keys').fact('folder', keyDir);
  const folder = statOf(keyDir);
  if (folder === null || !folder.isDirectory()) {
    if (folder !== null) section.crit('KEY_DIR_NOT_FOLDER', `${keyDir} is not a folder`, `move it away`);
    else section.info('KEY_DIR_ABSENT', 'there are no keys yet; the first start makes the machine key');
    return { section: section.done(), peerId: null, publicKey: null };
  }
  section.fact('mode', modeText(folder));
  if ((folder.mode & 0o022) !== 0) {
    section.crit(
      'KEY_DIR_WRITABLE',
      `${keyDir} (${modeText(folder)}) may be written by others; the node refuses to start`,
      `chmod 700 ${keyDir}`,
    );
  } else if ((folder.mode & 0o077) !== 0) {
    section.warn(
      'KEY_DIR_READABLE',
      `${keyDir} (${modeText(folder)}) is open to others`,
      `chmod 700 ${keyDir}`,
    );
  }
  let names: string[] = [];
  try {
    names = readdirSync(keyDir).filter((name) => name.endsWith('.priv'));
  } catch {
    section.crit('KEY_DIR_UNREADABLE', `${keyDir} cannot be read`, 'run the node as the user who owns it');
  }
  section.fact('private keys', names.length);
  let peerId: string | null = null;
  let own: Uint8Array | null = null;
  for (const name of names) {
    const publicKey = checkPair(join(keyDir, name), section);
    if (name !== `${MACHINE}.priv` || publicKey === null) continue;
    own = publicKey;
    peerId = `peer-${createHash('sha256').update(publicKey).digest('hex').slice(0, 16)}`;
    section.fact('peer id', peerId);
  }
  if (!names.includes(`${MACHINE}.priv`)) {
    const orphan = statOf(join(keyDir, `${MACHINE}.pub`)) !== null;
    if (orphan) {
      section.warn(
        'MACHINE_KEY_LOST',
        'there is a public machine key without its private key; the next start makes a new identity',
        `restore ${join(keyDir, `${MACHINE}.priv`)} from a backup`,
      );
    } else {
      section.info('MACHINE_KEY_ABSENT', 'there is no machine key yet; the first start makes it');
    }
  }
  return { section: section.done(), peerId, publicKey: own };
}

/** The public key that belongs to a private key file; null when the file is unusable. */
function checkPair(path: string, section: SectionBuilder): Uint8Array | null {
  const stat = statOf(path);
  if (stat !== null && (stat.mode & 0o077) !== 0) {
    section.crit(
      'PRIVATE_KEY_MODE',
      `${path} (${modeText(stat)}) may be read by others, so the node refuses it`,
      `chmod 600 ${path}`,
    );
  }
  let seed: Buffer;
  try {
    seed = readFileSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    section.crit(
      'PRIVATE_KEY_UNREADABLE',
      `${path} cannot be read: ${code}`,
      'correct its owner or restore it',
    );
    return null;
  }
  if (seed.length !== KEY_BYTES) {
    section.crit(
      'PRIVATE_KEY_LENGTH',
      `${path} holds ${seed.length} bytes instead of ${KEY_BYTES}`,
      'restore it from a backup',
    );
    return null;
  }
  const publicKey = signerOf(seed).publicKey;
  const publicPath = path.replace(/\.priv$/, '.pub');
  if (statOf(publicPath) !== null && !samePublicKey(publicPath, publicKey)) {
    section.crit(
      'PUBLIC_KEY_MISMATCH',
      `${publicPath} does not match ${path}; a peer that enrols it will refuse this node's signatures`,
      `restore the pair from a backup, or remove ${publicPath} and export the key again`,
    );
  }
  return publicKey;
}

function samePublicKey(path: string, expected: Uint8Array): boolean {
  try {
    return Buffer.from(expected).equals(readFileSync(path));
  } catch {
    return false;
  }
}
