import type { Writable } from 'node:stream';

/** A line that counts, on a terminal alone: programs and logs get none. */
export class Progress {
  private shown = false;

  constructor(
    private readonly stream: Writable & { readonly isTTY?: boolean },
    private readonly label: string,
  ) {}

  update(count: number): void {
    if (this.stream.isTTY !== true) return;
    this.shown = true;
    this.stream.write(`\r${this.label} ${count}`);
  }

  /** Clears the line. */
  end(): void {
    if (this.shown) this.stream.write('\r\u001b[K');
    this.shown = false;
  }
}
