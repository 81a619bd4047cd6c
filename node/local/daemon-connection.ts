import type { Socket } from 'node:net';
import {
  LOCAL_ANSWER_BYTES_MAX,
  LOCAL_GREETING_TIMEOUT_MS,
  LOCAL_LINE_BYTES_MAX,
} from '../../protocol/base/limits.js';
import type { Crypto, Scheduler } from '../../protocol/base/seams.js';
import type { Settings } from '../config/settings.js';
import { databaseName } from '../config/store-url.js';
import type { Answer } from '../pipeline/answer.js';
import type { ProgressReport } from '../pipeline/call.js';
import type { Request } from '../pipeline/pipeline.js';
import { connectTo, type ServingRole, SocketLines, SocketNames } from '../private-socket.js';
import { VERSION } from '../version.js';
import {
  callerSettingsOf,
  type Greeting,
  type GreetingReply,
  LOCAL_PROTOCOL,
  type LocalCall,
  type LocalReply,
} from './messages.js';

interface Pending {
  readonly resolve: (answer: Answer | 'lost') => void;
  readonly progress: ProgressReport | undefined;
}

/** The connection of a process to the one that serves its database: a daemon, or the MCP server that owns it. */
export class DaemonConnection {
  private readonly pending = new Map<number, Pending>();
  private next = 0;
  private closing = false;
  private ended = false;

  private constructor(
    private readonly socket: Socket,
    /** Called when the other process has ended, not only this connection. */
    private readonly onEnded: () => void,
  ) {
    // Only calls under way keep the process alive.
    socket.unref();
  }

  /** Null when no daemon answers at the path, or when it refuses this process. */
  static open(
    path: string,
    greeting: Greeting,
    scheduler: Scheduler,
    onEnded: () => void,
  ): Promise<DaemonConnection | null> {
    const socket = connectTo(path);
    const timer = scheduler.after(LOCAL_GREETING_TIMEOUT_MS, () => socket.destroy(), { keepAlive: true });
    return new Promise((resolve) => {
      let connection: DaemonConnection | null = null;
      const take = (line: string): void => {
        if (connection !== null) connection.take(JSON.parse(line) as LocalReply);
        else {
          timer.cancel();
          const reply = JSON.parse(line) as GreetingReply;
          if (!('protocol' in reply)) socket.destroy();
          else {
            connection = new DaemonConnection(socket, onEnded);
            resolve(connection);
          }
        }
      };
      // A socket of a killed daemon, or of another program, ends here too.
      const end = () => socket.destroy();
      new SocketLines(socket, LOCAL_ANSWER_BYTES_MAX, take, end);
      socket.on('error', end);
      socket.on('end', end);
      socket.on('close', () => {
        timer.cancel();
        connection?.lose();
        resolve(null);
      });
      socket.write(`${JSON.stringify(greeting)}\n`);
    });
  }

  get isOpen(): boolean {
    return !this.ended && !this.closing;
  }

  /**
   * `lost`: the daemon ended before it answered; whether the call had an effect is unknown. `too-long`: the daemon takes
   * no call of this length, and nothing was sent.
   */
  call(
    call: Omit<LocalCall, 'id'>,
    { progress, gone }: Pick<Request, 'progress' | 'gone'> = {},
  ): Promise<Answer | 'lost' | 'too-long'> {
    if (this.ended) return Promise.resolve('lost');
    const id = this.next;
    const line = `${JSON.stringify({ id, ...call })}\n`;
    if (Buffer.byteLength(line) > LOCAL_LINE_BYTES_MAX) return Promise.resolve('too-long');
    this.next += 1;
    this.socket.ref();
    const signal = gone?.();
    const cancel = () => void this.socket.write(`${JSON.stringify({ cancel: id })}\n`);
    return new Promise((resolve) => {
      const answered = (answer: Answer | 'lost') => {
        signal?.removeEventListener('abort', cancel);
        resolve(answer);
      };
      this.pending.set(id, { resolve: answered, progress });
      this.socket.write(line);
      if (signal?.aborted === true) cancel();
      else signal?.addEventListener('abort', cancel, { once: true });
    });
  }

  /** Takes no further call; calls under way are still answered. */
  close(): void {
    this.closing = true;
    if (this.pending.size === 0) this.socket.destroy();
  }

  /** The connection broke off: the calls under way are lost. */
  private lose(): void {
    this.ended = true;
    for (const { resolve } of this.pending.values()) resolve('lost');
    this.pending.clear();
    if (!this.closing) this.onEnded();
  }

  private take(reply: LocalReply): void {
    const pending = this.pending.get(reply.id);
    if (pending === undefined) return;
    if ('progress' in reply) {
      pending.progress?.(...reply.progress);
      return;
    }
    this.pending.delete(reply.id);
    pending.resolve(reply.answer);
    if (this.pending.size > 0) return;
    if (this.closing) this.socket.destroy();
    else this.socket.unref();
  }
}

/** The connection to the daemon, or another process, that serves the database of these settings; null when none does. */
export async function findDaemon(
  settings: Settings,
  crypto: Pick<Crypto, 'sha256Hex'>,
  scheduler: Scheduler,
  role: ServingRole = 'daemon',
  onEnded: () => void = () => undefined,
): Promise<DaemonConnection | null> {
  const { home, dbPath, keyDir } = settings;
  if (dbPath === ':memory:') return null;
  const greeting = {
    protocol: LOCAL_PROTOCOL,
    version: VERSION,
    dbPath: databaseName(settings),
    keyDir,
    settings: callerSettingsOf(settings),
  };
  for (const path of new SocketNames(home, databaseName(settings), crypto).paths(role)) {
    const daemon = await DaemonConnection.open(path, greeting, scheduler, onEnded);
    if (daemon !== null) return daemon;
  }
  return null;
}
