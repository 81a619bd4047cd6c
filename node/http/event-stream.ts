import type { ServerResponse } from 'node:http';

/** An answer that goes on, until the client leaves or either side ends it. */
export class EventStream {
  constructor(private readonly response: ServerResponse) {}

  /** Sends pieces without copying them: other streams send the same ones. */
  send(pieces: readonly Uint8Array[]): void {
    if (this.response.writableEnded) return;
    for (const piece of pieces) this.response.write(piece);
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
