import { chmodSync, readdirSync, rmSync } from 'node:fs';
import { createConnection, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Crypto } from '../protocol/seams.js';
import { LineSplitter } from './line-splitter.js';

/** The limit that every Unix supports; a longer path would be cut silently. */
const SOCKET_PATH_BYTES_MAX = 103;

/** Names of the sockets of one database; each holder has its own, so that an old one cannot unlink a new one's. */
export class SocketNames {
  private readonly prefix: string;

  constructor(
    kind: 'owner' | 'daemon',
    private readonly home: string,
    dbPath: string,
    private readonly crypto: Pick<Crypto, 'sha256Hex'>,
  ) {
    this.prefix = `${kind}-${crypto.sha256Hex(dbPath).slice(0, 8)}-`;
  }

  pathOf(holder: string): string {
    return join(this.home, `${this.prefix}${this.crypto.sha256Hex(holder).slice(0, 8)}.sock`);
  }

  /** The paths of all sockets, also of those whose process was killed. */
  paths(): readonly string[] {
    try {
      return readdirSync(this.home)
        .filter((name) => name.startsWith(this.prefix))
        .map((name) => join(this.home, name));
    } catch {
      // Without a home there is no socket.
      return [];
    }
  }

  /** Removes the sockets that killed holders left behind, where several holders may live. */
  async removeDead(): Promise<void> {
    await Promise.all(
      this.paths().map(async (path) => {
        if (await isDead(path)) rmSync(path, { force: true });
      }),
    );
  }

  /** Removes the sockets that killed holders left behind, where this holder is the only one. */
  removeOthers(holder: string): void {
    const mine = this.pathOf(holder);
    for (const path of this.paths()) if (path !== mine) rmSync(path, { force: true });
  }
}

/** True for the socket of a killed process; false also where there is none. */
export function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    socket.on('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
  });
}

/** Listens where no other user may ask, from the first moment on. Rejects when the path cannot be bound. */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  if (Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX) {
    throw new Error(`the home folder's path is too long for a socket: ${path}`);
  }
  rmSync(path, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // The mode of a socket follows from the umask alone; `listen` binds before it returns.
    const usual = process.umask(0o077);
    try {
      server.listen(path, resolve);
    } finally {
      process.umask(usual);
    }
  });
  chmodSync(path, 0o600);
}

/** The lines of a connection. Throws at a line that is too long. */
export async function* linesOf(socket: Socket, bytesMax: number): AsyncGenerator<string> {
  const lines = new LineSplitter(bytesMax);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    for (const line of lines.push(chunk)) {
      if (line === 'too-long') throw new Error(`a line is longer than ${bytesMax} bytes`);
      yield Buffer.from(line.bytes).toString();
    }
  }
}
