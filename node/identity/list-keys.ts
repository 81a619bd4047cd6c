import { readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { publicKeyText } from '../../protocol/base/key-text.js';
import { isWritableByOthers, KeyFileError } from './key-file.js';
import { keyLabelProblem, keyPaths, publicKeyOf } from './key-files.js';
import { fingerprintOf, MACHINE_LABEL } from './machine-key.js';

/** One key of the key folder, as people and programs see it; never private material. */
export interface KeyRow {
  /** An agent, a peer, or `daemon` for the machine itself. */
  readonly agent_id: string;
  /** SHA-256 of the public key in hex; null when the files cannot be used. */
  readonly fingerprint: string | null;
  /** URL-safe base64 without padding. */
  readonly public_key: string | null;
  readonly has_private: boolean;
  /** True when only the owner can read the private file and write the others. */
  readonly modes_ok: boolean;
  /** Why the key cannot be used, or null. */
  readonly problem: string | null;
}

/** Every key of the folder, by agent id; an empty list when there is no folder. Archived public keys are left out. */
export function listKeys(keyDir: string): KeyRow[] {
  let names: string[];
  try {
    names = readdirSync(keyDir, { recursive: true, encoding: 'utf8' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  const labels = new Set(
    names.filter((name) => /\.(pub|priv)$/.test(name)).map((name) => name.replace(/\.(pub|priv)$/, '')),
  );
  return [...labels]
    .filter((label) => label === MACHINE_LABEL || keyLabelProblem(label) === null)
    .filter((label) => statOf(keyPaths(keyDir, label)).some((stats) => stats?.isFile() === true))
    .sort()
    .map((label) => rowOf(keyDir, label));
}

function rowOf(keyDir: string, label: string): KeyRow {
  const [privateStats, publicStats] = statOf(keyPaths(keyDir, label));
  const modesOk =
    ((privateStats?.mode ?? 0) & 0o077) === 0 &&
    ((publicStats?.mode ?? 0) & 0o022) === 0 &&
    !foldersOf(keyDir, label).some(isWritableByOthers);
  const row = { agent_id: label, has_private: privateStats !== undefined, modes_ok: modesOk };
  try {
    const publicKey = publicKeyOf(keyDir, label);
    if (publicKey !== null) {
      const text = publicKeyText(publicKey);
      return { ...row, fingerprint: fingerprintOf(publicKey), public_key: text, problem: null };
    }
    return { ...row, fingerprint: null, public_key: null, problem: 'the files disappeared' };
  } catch (error) {
    if (!(error instanceof KeyFileError)) throw error;
    return { ...row, fingerprint: null, public_key: null, problem: error.message };
  }
}

function statOf(paths: { privatePath: string; publicPath: string }): [Stats | undefined, Stats | undefined] {
  const stats = (path: string) => statSync(path, { throwIfNoEntry: false });
  return [stats(paths.privatePath), stats(paths.publicPath)];
}

function foldersOf(keyDir: string, label: string): string[] {
  const parts = label.split('/').slice(0, -1);
  return [keyDir, ...parts.map((_, depth) => join(keyDir, ...parts.slice(0, depth + 1)))];
}
