/** A line of the stream without its line feed, or a sign that a line is too long and is skipped. */
export type Line = { readonly bytes: Uint8Array } | 'too-long';

const NEWLINE = 0x0a;

/** Cuts a byte stream into lines; keeps at most `bytesMax` bytes of an unfinished one. */
export class LineSplitter {
  private parts: Uint8Array[] = [];
  private held = 0;
  private skipping = false;

  constructor(private readonly bytesMax: number) {}

  /**
   * The lines that this chunk completes, in order. A line that is too long is reported once, as soon as it exceeds the
   * limit.
   */
  *push(chunk: Uint8Array): Generator<Line> {
    let start = 0;
    while (start < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, start);
      const end = newline === -1 ? chunk.length : newline;
      const piece = chunk.subarray(start, end);
      if (!this.skipping) {
        if (this.held + piece.length > this.bytesMax) {
          this.drop();
          this.skipping = true;
          yield 'too-long';
        } else if (piece.length > 0) {
          this.parts.push(piece);
          this.held += piece.length;
        }
      }
      if (newline === -1) return;
      if (this.skipping) this.skipping = false;
      else yield { bytes: this.take() };
      start = newline + 1;
    }
  }

  /** The rest after the last newline when the stream ends; null when it is empty or too long. */
  end(): Line | null {
    return this.held === 0 ? null : { bytes: this.take() };
  }

  private take(): Uint8Array {
    const bytes = this.parts.length === 1 ? (this.parts[0] as Uint8Array) : Buffer.concat(this.parts);
    this.drop();
    return bytes;
  }

  private drop(): void {
    this.parts = [];
    this.held = 0;
  }
}
