import { chmodSync, closeSync, constants, openSync, readdirSync, rmSync } from 'node:fs';
import { createConnection, type Server, type Socket } from 'node:net';
import { basename, dirname, join } from 'node:path';
import type { Crypto } from '../protocol/base/seams.js';
import { LineSplitter } from './line-splitter.js';

/** The limit that every Unix supports; a longer path would be cut silently. */
const SOCKET_PATH_BYTES_MAX = 103;

/** What serves calls of other processes: a daemon, or the MCP server that owns the database. */
export type ServingRole = 'daemon' | 'mcp';

/** Names of the sockets of one database; each holder has its own, so that an old one cannot unlink a new one's. */
export class SocketNames {
  private readonly database: string;

  constructor(
    private readonly home: string,
    dbPath: string,
    private readonly crypto: Pick<Crypto, 'sha256Hex'>,
  ) {
    this.database = crypto.sha256Hex(dbPath).slice(0, 8);
  }

  /** The socket of a holder, whose name begins with its role. */
  pathOf(holder: string): string {
    const [role] = holder.split(':', 1);
    return join(this.home, `${role}-${this.database}-${this.crypto.sha256Hex(holder).slice(0, 8)}.sock`);
  }

  /** The paths of all sockets of a role, also of those whose process was killed. */
  paths(role: ServingRole): readonly string[] {
    try {
      return readdirSync(this.home)
        .filter((name) => name.startsWith(`${role}-${this.database}-`))
        .map((name) => join(this.home, name));
    } catch {
      // Without a home there is no socket.
      return [];
    }
  }

  /** Removes the sockets that killed holders left behind. */
  async removeDead(): Promise<void> {
    const paths = [...this.paths('daemon'), ...this.paths('mcp')];
    await Promise.all(
      paths.map(async (path) => {
        if (await isDead(path)) rmSync(path, { force: true });
      }),
    );
  }
}

/** True for the socket of a killed process; false also where there is none. */
export function isDead(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connectTo(path);
    socket.on('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
  });
}

/** A name of a socket that the system takes, as long as it is open. */
interface ShortName {
  readonly path: string;
  close(): void;
}

/**
 * A long path gets a short name through the open folder, which only this process can use, so that no other user can
 * put a socket in its place. Throws where the system has no such names.
 */
function shortName(path: string): ShortName {
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES_MAX) return { path, close: () => {} };
  const folder = openSync(dirname(path), constants.O_RDONLY | constants.O_DIRECTORY);
  return { path: `/proc/self/fd/${folder}/${basename(path)}`, close: () => closeSync(folder) };
}

/** Connects to a socket, however long its path is. */
export function connectTo(path: string): Socket {
  const name = shortName(path);
  // The address is used before `createConnection` returns.
  const socket = createConnection(name.path);
  name.close();
  return socket;
}

/** Listens where no other user may ask, from the first moment on. Rejects when the path cannot be bound. */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  rmSync(path, { force: true });
  const name = shortName(path);
  // Closing the server removes its socket by that name.
  server.once('close', () => name.close());
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    // The mode of a socket follows from the umask alone; `listen` binds before it returns.
    const usual = process.umask(0o077);
    try {
      server.listen(name.path, resolve);
    } finally {
      process.umask(usual);
    }
  });
  try {
    chmodSync(path, 0o600);
  } catch (error) {
    server.close();
    throw error;
  }
}

/**
 * Hands the lines of a connection to `take`, in order. `broken` hears of a line
 * that is too long, or at which `take` threw; no further line is taken then.
 */
export class SocketLines {
  private readonly splitter: LineSplitter;
  /** Lines of the last chunk that were not taken yet. */
  private kept: string[] = [];
  private state: 'open' | 'paused' | 'stopped' = 'open';

  constructor(
    private readonly socket: Socket,
    private readonly bytesMax: number,
    private readonly take: (line: string) => void,
    private readonly broken: (error: unknown) => void,
  ) {
    this.splitter = new LineSplitter(bytesMax);
    socket.on('data', (chunk: Buffer) => this.push(chunk));
  }

  pause(): void {
    if (this.state !== 'open') return;
    this.state = 'paused';
    this.socket.pause();
  }

  resume(): void {
    if (this.state !== 'paused') return;
    this.state = 'open';
    this.drain();
    if (this.state === 'open') this.socket.resume();
  }

  /** Takes no further line; what still comes is dropped, so that the end of the connection is seen. */
  stop(): void {
    this.state = 'stopped';
    this.kept = [];
    this.socket.resume();
  }

  private push(chunk: Buffer): void {
    if (this.state === 'stopped') return;
    for (const line of this.splitter.push(chunk)) {
      if (line !== 'too-long') this.kept.push(textOf(line.bytes));
      else {
        this.drain();
        this.fail(new Error(`a line is longer than ${this.bytesMax} bytes`));
        return;
      }
    }
    this.drain();
  }

  private drain(): void {
    try {
      while (this.state === 'open' && this.kept.length > 0) this.take(this.kept.shift()!);
    } catch (error) {
      this.fail(error);
    }
  }

  private fail(error: unknown): void {
    if (this.state === 'stopped') return;
    this.stop();
    this.broken(error);
  }
}

const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString();
