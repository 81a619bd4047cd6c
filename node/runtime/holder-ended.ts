import { readFileSync, readlinkSync } from 'node:fs';
import { isAlive } from '../is-alive.js';
import { isDead, type ServingRole, type SocketNames } from '../private-socket.js';

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

/**
 * True when the process of a holder has ended without leaving: its id is free in the same space of ids; else, as ids mean
 * little between containers, only when no process listens at its socket either.
 */
export async function hasEnded(holder: string, sockets: SocketNames): Promise<boolean> {
  const pid = Number(holder.split(':')[1]);
  if (!Number.isSafeInteger(pid) || pid <= 0 || isAlive(pid)) return false;
  if (SPACE !== null && holder.endsWith(`:${SPACE}`)) return true;
  return isDead(sockets.pathOf(holder));
}
