import type { Writable } from 'node:stream';

const COLUMNS_WITHOUT_TERMINAL = 100;

/** Where a command writes. Standard output carries answers alone, standard error everything else. */
export class Terminal {
  private broken = false;

  constructor(
    private readonly out: Writable & { readonly columns?: number },
    private readonly errors: Writable,
  ) {
    // `written` hears of each error; without a listener it would end the process as well.
    out.on('error', () => undefined);
    errors.on('error', () => undefined);
  }

  /** True when nobody reads standard output any more. */
  get closed(): boolean {
    return this.broken;
  }

  /** Characters to a line. */
  get columns(): number {
    return this.out.columns ?? COLUMNS_WITHOUT_TERMINAL;
  }

  /** Resolves when the text has left this process, or nobody reads it; rejects when it could not be written. */
  async print(text: string | Uint8Array): Promise<void> {
    if (this.broken) return;
    try {
      await written(this.out, text);
    } catch (error) {
      // A reader that has seen enough (`… | head`) is no failure of the command.
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
      this.broken = true;
    }
  }

  complain(text: string): Promise<void> {
    return written(this.errors, text).catch(() => undefined);
  }
}

function written(stream: Writable, text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}
