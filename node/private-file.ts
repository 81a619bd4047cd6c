import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncToDisk } from '../storage/atomic-file.js';

/**
 * A file that appears under its name only when it is complete and on disk; only its owner may read it. Until `finish`
 * it has another name in the same folder, and `abandon` removes it.
 */
export class PrivateFile {
  private readonly draft: string;
  private readonly file: number;
  private open = true;

  constructor(
    private readonly path: string,
    token: string,
  ) {
    this.draft = `${path}.${token}.partial`;
    this.file = openSync(this.draft, 'wx', 0o600);
  }

  write(content: string | Uint8Array): void {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    for (let at = 0; at < bytes.length; ) at += writeSync(this.file, bytes, at);
  }

  finish(): void {
    fsyncSync(this.file);
    this.close();
    renameSync(this.draft, this.path);
    syncToDisk(dirname(this.path));
  }

  abandon(): void {
    rmSync(this.draft, { force: true });
    this.close();
  }

  private close(): void {
    if (this.open) closeSync(this.file);
    this.open = false;
  }
}
