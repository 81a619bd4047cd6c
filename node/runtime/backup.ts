import { basename, join } from 'node:path';
import { fail, type Result } from '../../protocol/base/result.js';
import { instantFromMs } from '../../protocol/base/time.js';
import { namingDisk } from '../../storage/disk-failure.js';
import { takeBackup } from '../../storage/sqlite/backup.js';
import { type Restored, restoreBackup } from '../../storage/sqlite/restore.js';
import type { CopyStep } from '../../storage/sqlite/snapshot-files.js';

export type { CopyStep };

import type { Settings } from '../config/settings.js';
import { loadMachineIdentity } from '../identity/machine-key.js';
import { systemClock, systemCrypto, systemRandom } from '../seams.js';
import { refusedOnServer } from './on-server.js';

const freshToken = () => Buffer.from(systemRandom.bytes(8)).toString('hex');

/** Copies the node's database into a folder and prunes older backups there; the node may be running. */
export function backUp(
  settings: Settings,
  folder: string,
  keep: number,
  step: CopyStep,
): ReturnType<typeof takeBackup> {
  const refused = refusedOnServer(settings, 'backup');
  if (refused !== null) return refused;
  const now = instantFromMs(systemClock.nowMs());
  const { dbPath: path } = settings;
  try {
    return namingDisk([join(folder, basename(path)), path], () =>
      takeBackup({ path, folder, keep, now, token: freshToken().slice(0, 8), step }),
    );
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall !== 'mkdir') throw error;
    const isTaken = code === 'EEXIST' || code === 'ENOTDIR';
    return fail(
      'INVALID_ARGUMENT',
      isTaken ? `${folder} is not a folder` : `cannot make the folder ${folder}: ${code}`,
    );
  }
}

/** Replaces the node's database by a backup; no process may have the database open. */
export function restore(
  settings: Settings,
  from: string,
  skipVerify: boolean,
  step: CopyStep,
): Result<Restored & { readonly dbEpoch: string }> {
  const refused = refusedOnServer(settings, 'restore');
  if (refused !== null) return refused;
  const nowMs = systemClock.nowMs();
  const freshEpoch = freshToken();
  const { peerId, key } = loadMachineIdentity(settings.keyDir, systemRandom);
  const restored = namingDisk([settings.dbPath], () =>
    restoreBackup({
      path: settings.dbPath,
      from,
      skipVerify,
      nowMs,
      now: instantFromMs(nowMs),
      freshEpoch,
      identity: { peerId },
      crypto: systemCrypto,
      busyTimeoutMs: 0,
      signer: key,
      by: settings.agentId ?? peerId,
      step,
    }),
  );
  return restored.ok ? { ok: true, value: { ...restored.value, dbEpoch: freshEpoch } } : restored;
}
