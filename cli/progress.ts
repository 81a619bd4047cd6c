import type { Writable } from 'node:stream';

/** A line that shows progress, only on a terminal: programs and logs do not get it. */
export class Progress {
  private shown = false;

  constructor(
    private readonly stream: Writable & { readonly isTTY?: boolean },
    private readonly label: string,
  ) {}

  /** Shows a count, and the total when it is known. */
  update(count: number, of: number | null = null): void {
    this.say(of === null ? String(count) : `${count} of ${of}`);
  }

  /** Shows the current step, in words. */
  say(what: string): void {
    if (this.stream.isTTY !== true) return;
    this.shown = true;
    // The previous text may have been longer.
    this.stream.write(`\r${this.label} ${what}\u001b[K`);
  }

  /** Clears the line. */
  end(): void {
    if (this.shown) this.stream.write('\r\u001b[K');
    this.shown = false;
  }
}
