import { statSync } from 'node:fs';

/**
 * The file that a connection has open. When its path names another file, or no file, writes still succeed but are lost
 * when the last process closes the file: such a write must not be acknowledged.
 */
export class FileIdentity {
  private readonly opened: string | null;

  constructor(private readonly path: string) {
    this.opened = identityOf(path);
  }

  /** True while the path names the file that was opened. */
  isCurrent(): boolean {
    return identityOf(this.path) === this.opened;
  }
}

function identityOf(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}
