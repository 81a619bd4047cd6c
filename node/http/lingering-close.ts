import type { Duplex } from 'node:stream';
import type { Scheduler } from '../../protocol/base/seams.js';
import { LINGER_MS } from './http-limits.js';

/**
 * Ends a connection so that its client can read the last answer. A system resets a connection that is closed with
 * unread bytes, and then the client's system drops what it has received and its program has not read yet. So what the
 * client still sends is read and discarded until it ends its side too, for `LINGER_MS` at most.
 */
export function closeLingering(socket: Duplex, scheduler: Scheduler): void {
  if (socket.destroyed) return;
  if (socket.writable) socket.end();
  const timer = scheduler.after(LINGER_MS, () => socket.destroy());
  socket.once('close', () => timer.cancel());
  const closed = () => socket.destroy();
  if (!socket.readableEnded) socket.once('end', closed).resume();
  else if (socket.writableFinished) closed();
  else socket.once('finish', closed);
}
