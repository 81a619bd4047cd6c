import type { Writable } from 'node:stream';

import { printable } from './views/text.js';

const COLUMNS_WITHOUT_TERMINAL = 100;

/** The output of a command. Standard output carries only answers, standard error everything else. */
export class Terminal {
  private broken = false;

  constructor(
    private readonly out: Writable & { readonly columns?: number },
    private readonly errors: Writable & { readonly isTTY?: boolean },
  ) {
    // `written` receives each error; without a listener the error would also end the process.
    out.on('error', () => undefined);
    errors.on('error', () => undefined);
  }

  /** True when the reader of standard output is gone. */
  get closed(): boolean {
    return this.broken;
  }

  /** True when a person reads what is not an answer. */
  get talks(): boolean {
    return this.errors.isTTY === true;
  }

  /** Characters per line. */
  get columns(): number {
    return this.out.columns ?? COLUMNS_WITHOUT_TERMINAL;
  }

  /**
   * Prints a text with escapes for what a terminal would obey; JSON keeps its values. Resolves when it is written, or
   * the reader is gone; rejects when it cannot be written.
   */
  print(text: string): Promise<void> {
    return this.write(printable(text));
  }

  /** Prints what is meant as it is: bytes for a file, or a screen with its control sequences. */
  async write(text: string | Uint8Array): Promise<void> {
    if (this.broken) return;
    try {
      await written(this.out, text);
    } catch (error) {
      // A reader that stops early (`… | head`) is not a failure of the command.
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
      this.broken = true;
    }
  }

  complain(text: string): Promise<void> {
    return written(this.errors, printable(text)).catch(() => undefined);
  }
}

function written(stream: Writable, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
