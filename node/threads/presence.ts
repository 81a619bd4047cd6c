import { readFileSync, readlinkSync } from 'node:fs';
import { UNHEARD } from '../../actors/core/commits.js';
import type { Presence } from '../../actors/maintenance/ownership.js';
import { failed, ok, type Result } from '../../protocol/base/result.js';
import type { Clock, Crypto, Scheduler } from '../../protocol/base/seams.js';
import type { ReadStore } from '../../storage/port.js';
import { ServerPresence } from '../../storage/postgres/server-presence.js';
import type { Settings } from '../config/settings.js';
import { databaseName } from '../config/store-url.js';
import { isAlive } from '../is-alive.js';
import { isDead, type ServingRole, SocketNames } from '../private-socket.js';
import { systemClock, systemCrypto, systemScheduler } from '../seams.js';

/** The name of this process as the owner of a database: with its id, and with where ids of processes mean the same. */
export const holderName = (role: ServingRole, uuid: string): string =>
  `${role}:${process.pid}:${uuid}${SPACE === null ? '' : `:${SPACE}`}`;

/** The start of the machine and its space of process ids; null where the system does not tell. */
const SPACE = ((): string | null => {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return `${boot}/${readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')}`;
  } catch {
    return null;
  }
})();

export interface PresenceParts {
  readonly settings: Pick<Settings, 'home' | 'dbPath' | 'storeUrl'>;
  /** The name of this process; null for one that only asks for others. */
  readonly holder: string | null;
  readonly crypto: Crypto;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly scheduler: Pick<Scheduler, 'after'>;
}

/**
 * How the processes of a database see each other. Those of a file are on one machine and known by their processes and sockets;
 * those of a server may be anywhere, and the server knows their sessions.
 */
export function presenceOf({ settings, ...parts }: PresenceParts): Presence {
  const { storeUrl } = settings;
  if (storeUrl !== null) return new ServerPresence({ ...parts, url: storeUrl.reveal() });
  const sockets = new SocketNames(settings.home, databaseName(settings), parts.crypto);
  return {
    ...UNHEARD,
    lasts: false,
    appear: async () => true,
    seen: () => 0,
    hasEnded: (holder) => hasEnded(holder, sockets),
    close: async () => {},
  };
}

/** The process that owns the database and lives; null where there is none, for a process that does no duties itself. */
export async function livingOwner(
  store: Pick<ReadStore, 'query'>,
  settings: PresenceParts['settings'],
): Promise<Result<string | null>> {
  const owner = await store.query({ kind: 'current-owner', nowMs: systemClock.nowMs() });
  if (!owner.ok) return failed(owner.error);
  const { holder } = owner.value;
  if (holder === null) return ok(null);
  const seams = { clock: systemClock, crypto: systemCrypto, scheduler: systemScheduler };
  const presence = presenceOf({ ...seams, settings, holder: null });
  try {
    return ok((await presence.hasEnded(holder)) ? null : holder);
  } finally {
    await presence.close();
  }
}

/**
 * True when the process of a holder has ended without leaving: its id is free in the same space of ids; else, as ids mean
 * little between containers, only when no process listens at its socket either.
 */
async function hasEnded(holder: string, sockets: SocketNames): Promise<boolean> {
  const pid = Number(holder.split(':')[1]);
  if (!Number.isSafeInteger(pid) || pid <= 0 || isAlive(pid)) return false;
  if (SPACE !== null && holder.endsWith(`:${SPACE}`)) return true;
  return isDead(sockets.pathOf(holder));
}
