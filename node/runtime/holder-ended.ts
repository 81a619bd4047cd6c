import { isDead, type SocketNames } from '../private-socket.js';

/**
 * True when the process of a holder has ended without leaving: its id is free, and no process listens at its socket. One of
 * them proves nothing: process ids mean little between containers.
 */
export async function hasEnded(holder: string, sockets: SocketNames): Promise<boolean> {
  const pid = Number(holder.split(':')[1]);
  if (!Number.isSafeInteger(pid) || pid <= 0 || isAlive(pid)) return false;
  return await isDead(sockets.pathOf(holder));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
