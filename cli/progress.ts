import type { Writable } from 'node:stream';

/** A line that tells how far something is, on a terminal alone: programs and logs get none. */
export class Progress {
  private shown = false;

  constructor(
    private readonly stream: Writable & { readonly isTTY?: boolean },
    private readonly label: string,
  ) {}

  /** Shows a count, and of how many when that is known. */
  update(count: number, of: number | null = null): void {
    this.say(of === null ? String(count) : `${count} of ${of}`);
  }

  /** Shows what happens now, in words. */
  say(what: string): void {
    if (this.stream.isTTY !== true) return;
    this.shown = true;
    // What stood there may have been longer.
    this.stream.write(`\r${this.label} ${what}\u001b[K`);
  }

  /** Clears the line. */
  end(): void {
    if (this.shown) this.stream.write('\r\u001b[K');
    this.shown = false;
  }
}
