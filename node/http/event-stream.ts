import type { ServerResponse } from 'node:http';
import type { ByteSum } from './byte-sum.js';

export const EVENT_STREAM_TYPE = 'text/event-stream';

/** An answer that goes on, until the client leaves or either side ends it. */
export class EventStream {
  constructor(private readonly response: ServerResponse) {}

  /** Sends pieces without copying them: other streams send the same ones. */
  send(pieces: readonly Uint8Array[]): void {
    if (this.response.writableEnded) return;
    for (const piece of pieces) this.response.write(piece);
  }

  /** Sends a piece whose bytes count until they have left, or until the connection closes. */
  write(piece: Uint8Array, unsent: ByteSum): void {
    if (this.response.writableEnded || this.response.closed) return;
    let counted = true;
    unsent.add(piece.length);
    const left = () => {
      if (counted) unsent.remove(piece.length);
      counted = false;
      this.response.off('close', left);
    };
    this.response.once('close', left);
    this.response.write(piece, left);
  }

  /** Bytes that the connection has not taken yet. */
  unread(): number {
    return this.response.writableLength;
  }

  end(): void {
    this.response.end();
  }

  destroy(): void {
    this.response.destroy();
  }

  onClose(run: () => void): void {
    if (this.response.closed) run();
    else this.response.once('close', run);
  }
}
