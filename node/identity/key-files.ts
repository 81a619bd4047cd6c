import { dirname, join } from 'node:path';
import { agentIdProblem } from '../../protocol/base/ids.js';
import { fail, ok, type Result } from '../../protocol/base/result.js';
import type { Random, Signer } from '../../protocol/base/seams.js';
import { makeFolder } from '../../storage/make-folder.js';
import {
  createFile,
  destroySeed,
  isWritableByOthers,
  KeyFileError,
  openKeyFolder,
  PRIVATE_MODE,
  PUBLIC_MODE,
  readPublicKey,
  readSeed,
  replaceFile,
  signerOf,
} from './key-file.js';
import { MACHINE_LABEL } from './machine-key.js';

/**
 * The keys of agents, as files in the key folder (reference-federation §1.3): `<agent_id>.pub` and `<agent_id>.priv`,
 * 32 raw bytes each; an id with slashes becomes nested folders. If both files exist, the private one decides which key
 * the agent has, and the public one is derived from it. A `<peer_id>.pub` in the same folder enrols a peer.
 */

/** What a change of key files needs besides the key. */
export interface KeyChange {
  readonly keyDir: string;
  readonly agentId: string;
  /** Replaces a key that is there. */
  readonly force: boolean;
  readonly nowMs: number;
  readonly random: Random;
}

export interface InstalledKey {
  readonly publicKey: Uint8Array;
  readonly publicPath: string;
  /** Where the public key that it replaces was kept. */
  readonly archivedPath: string | null;
}

interface KeyPaths {
  readonly privatePath: string;
  readonly publicPath: string;
}

/** How many times one key can be archived within a second; each archive takes the next free second as its name. */
const ARCHIVES_IN_A_ROW_MAX = 60;

/** Says why an agent can have no key files, or null: a reserved id, the machine's label, a path out of the folder. */
export function keyLabelProblem(agentId: string): string | null {
  const problem = agentIdProblem(agentId);
  if (problem !== null) return problem;
  // On a file system that ignores case these would be the files of the machine.
  if (agentId.toLowerCase() === MACHINE_LABEL) return `"${agentId}" names the machine's own key`;
  if (agentId.split('/').some((part) => part === '' || part === '.')) {
    return 'an agent_id with an empty or "." part cannot have key files';
  }
  return null;
}

/**
 * The key that signs for an agent, or null when it has no private key here. Throws KeyFileError when the file or a
 * folder above it may be used by others, or holds no key.
 */
export function loadAgentKey(keyDir: string, agentId: string): Signer | null {
  if (keyLabelProblem(agentId) !== null) return null;
  refuseOpenFolders(keyDir, agentId);
  const seed = readSeed(keyPaths(keyDir, agentId).privatePath);
  return seed === null ? null : signerOf(seed);
}

/**
 * The public key of an agent, a peer or the machine (`daemon`), or null. Throws KeyFileError as `loadAgentKey` does.
 */
export function publicKeyOf(keyDir: string, label: string): Uint8Array | null {
  if (label !== MACHINE_LABEL && keyLabelProblem(label) !== null) return null;
  refuseOpenFolders(keyDir, label);
  return currentKey(keyPaths(keyDir, label)).publicKey;
}

/**
 * Gives an agent the key of a seed. CONFLICT when it has a different one, unless forced: then the old public key is
 * kept as `<id>.pub.<unix seconds>` and the old private key is destroyed. The same key again changes nothing.
 */
export function installSeed(change: KeyChange, seed: Uint8Array): Result<InstalledKey> {
  const { privatePath, publicPath } = openPaths(change);
  const { publicKey } = signerOf(seed);
  if (change.force) {
    const archivedPath = archive(change, publicPath, publicKey);
    destroySeed(privatePath, () => replaceFile(privatePath, seed, PRIVATE_MODE, change.random));
    return ok({ publicKey: settle(change, privatePath, publicPath), publicPath, archivedPath });
  }
  const had = currentKey({ privatePath, publicPath });
  if (had.publicKey !== null && !equal(had.publicKey, publicKey)) return taken(change.agentId);
  if (!had.hasPrivate && !createFile(privatePath, seed, PRIVATE_MODE, change.random)) {
    return taken(change.agentId);
  }
  if (!createFile(publicPath, publicKey, PUBLIC_MODE, change.random)) {
    const there = readPublicKey(publicPath);
    if (there === null || !equal(there, publicKey)) {
      // Another process has just put a public key there first.
      if (!had.hasPrivate) destroySeed(privatePath);
      return taken(change.agentId);
    }
  }
  return ok({ publicKey, publicPath, archivedPath: null });
}

/**
 * Gives an agent or a peer a public key that has been admitted; its private key is elsewhere. CONFLICT when it has
 * a different key, unless forced: then the old public key is kept and the old private key is destroyed.
 */
export function installPublicKey(change: KeyChange, publicKey: Uint8Array): Result<InstalledKey> {
  const { privatePath, publicPath } = openPaths(change);
  if (change.force) {
    const archivedPath = archive(change, publicPath, publicKey);
    replaceFile(publicPath, publicKey, PUBLIC_MODE, change.random);
    const seed = readSeedOrNull(privatePath);
    if (seed === null || !equal(signerOf(seed).publicKey, publicKey)) removeSeed(privatePath);
    return ok({ publicKey, publicPath, archivedPath });
  }
  const had = currentKey({ privatePath, publicPath }).publicKey;
  if (had !== null && !equal(had, publicKey)) return taken(change.agentId);
  if (had === null && !createFile(publicPath, publicKey, PUBLIC_MODE, change.random)) {
    return taken(change.agentId);
  }
  return ok({ publicKey, publicPath, archivedPath: null });
}

/** The paths of the files of a label. */
export function keyPaths(keyDir: string, label: string): KeyPaths {
  return { privatePath: join(keyDir, `${label}.priv`), publicPath: join(keyDir, `${label}.pub`) };
}

/** The key in force: that of the private file, or else that of the public file. */
function currentKey(paths: KeyPaths): { publicKey: Uint8Array | null; hasPrivate: boolean } {
  const seed = readSeed(paths.privatePath);
  if (seed !== null) return { publicKey: signerOf(seed).publicKey, hasPrivate: true };
  return { publicKey: readPublicKey(paths.publicPath), hasPrivate: false };
}

/** The paths of an agent whose folders exist and only the operator may change. Throws KeyFileError. */
function openPaths({ keyDir, agentId }: KeyChange): KeyPaths {
  const problem = keyLabelProblem(agentId);
  if (problem !== null) throw new KeyFileError(problem);
  openKeyFolder(keyDir);
  const paths = keyPaths(keyDir, agentId);
  try {
    makeFolder(dirname(paths.privatePath));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTDIR' && code !== 'EEXIST') throw error;
    throw new KeyFileError(
      `${dirname(paths.privatePath)} is not a folder: the key of another agent has that name`,
    );
  }
  refuseOpenFolders(keyDir, agentId);
  return paths;
}

function refuseOpenFolders(keyDir: string, label: string): void {
  const parts = label.split('/').slice(0, -1);
  for (let depth = 0; depth <= parts.length; depth += 1) {
    const folder = join(keyDir, ...parts.slice(0, depth));
    if (isWritableByOthers(folder)) {
      throw new KeyFileError(`${folder} may be written by others: run chmod 700 on it`);
    }
  }
}

/** Keeps the public key that is about to be replaced; null when there is no key, or the new one is the same. */
function archive(change: KeyChange, publicPath: string, next: Uint8Array): string | null {
  const old = readPublicKey(publicPath);
  if (old === null || equal(old, next)) return null;
  const seconds = Math.floor(change.nowMs / 1000);
  for (let ahead = 0; ahead < ARCHIVES_IN_A_ROW_MAX; ahead += 1) {
    const path = `${publicPath}.${seconds + ahead}`;
    if (createFile(path, old, PUBLIC_MODE, change.random)) return path;
  }
  throw new KeyFileError(`${publicPath} was replaced too often within a minute: wait and try again`);
}

/** Derives the public file from the private one, even if another process replaces the pair at the same time. */
function settle(change: KeyChange, privatePath: string, publicPath: string): Uint8Array {
  for (;;) {
    const seed = readSeed(privatePath);
    if (seed === null) throw new KeyFileError(`${privatePath} disappeared while it was being made`);
    const { publicKey } = signerOf(seed);
    const there = readPublicKey(publicPath);
    if (there !== null && equal(there, publicKey)) return publicKey;
    replaceFile(publicPath, publicKey, PUBLIC_MODE, change.random);
  }
}

/** A private key that cannot be used cannot be kept either. */
function readSeedOrNull(path: string): Uint8Array | null {
  try {
    return readSeed(path);
  } catch (error) {
    if (error instanceof KeyFileError) return null;
    throw error;
  }
}

function removeSeed(path: string): void {
  try {
    destroySeed(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

const taken = (agentId: string) =>
  fail('CONFLICT', `${agentId} has a different key already; use --force to replace it`);

const equal = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;
