import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';

const CHUNK_BYTES = 65_536;

/** Reads what is added to a file, also when another file takes its name. */
export class FollowedFile {
  #file: number | null = null;
  #at = 0;
  #rest = '';
  readonly #decoder = new TextDecoder();

  /** Begins at the end of the file that is there now. */
  constructor(private readonly path: string) {
    this.#file = this.#opened();
    this.#at = this.#file === null ? 0 : fstatSync(this.#file).size;
  }

  /** The complete lines that came since the last call. */
  added(): readonly string[] {
    const lines = this.#read();
    if (!this.#isReplaced()) return lines;
    this.close();
    this.#file = this.#opened();
    this.#at = 0;
    return [...lines, ...this.#read()];
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #read(): readonly string[] {
    if (this.#file === null) return [];
    const bytes = Buffer.alloc(CHUNK_BYTES);
    for (;;) {
      const count = readSync(this.#file, bytes, 0, CHUNK_BYTES, this.#at);
      if (count === 0) break;
      this.#at += count;
      this.#rest += this.#decoder.decode(bytes.subarray(0, count), { stream: true });
    }
    const lines = this.#rest.split('\n');
    this.#rest = lines.pop() ?? '';
    return lines;
  }

  #isReplaced(): boolean {
    try {
      const { ino, size } = statSync(this.path);
      return this.#file === null || fstatSync(this.#file).ino !== ino || size < this.#at;
    } catch {
      return false;
    }
  }

  #opened(): number | null {
    try {
      return openSync(this.path, 'r');
    } catch {
      return null;
    }
  }
}
