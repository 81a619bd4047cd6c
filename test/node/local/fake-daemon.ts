import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Settings } from '../../../node/config/settings.js';
import { databaseName } from '../../../node/config/store-url.js';
import { LOCAL_PROTOCOL, type LocalCall } from '../../../node/local/messages.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import type { Services } from '../../../node/pipeline/call.js';
import { runOperation } from '../../../node/pipeline/pipeline.js';
import { listenPrivately, SocketNames } from '../../../node/private-socket.js';
import { systemCrypto } from '../../../node/seams.js';

/**
 * What the fake does with a call: `answer` it; end as if it was killed, `before` or `after` it ran the call; answer that
 * it shuts down (`refuse`); or `hold` the call until `release`.
 */
export type Fate = 'answer' | 'before' | 'after' | 'refuse' | 'hold';

/** Speaks the local socket of a daemon, and dies where a test says so. Calls run on the services of a node. */
export class FakeDaemon {
  readonly calls: LocalCall[] = [];
  /** Fates of the next calls; then they are answered. */
  readonly fates: Fate[] = [];
  greetings = 0;
  /** What it does with the greeting of a process. */
  manner: 'greets' | 'refuses' | 'hangs' = 'greets';
  private readonly server: Server = createServer();
  private readonly sockets = new Set<Socket>();
  private readonly held: (() => Promise<void>)[] = [];

  private constructor(private readonly services: Services) {}

  static async listen(settings: Settings, services: Services, holder = 'daemon:fake'): Promise<FakeDaemon> {
    const fake = new FakeDaemon(services);
    fake.server.on('connection', (socket) => void fake.serve(socket));
    await listenPrivately(
      fake.server,
      new SocketNames(settings.home, databaseName(settings), systemCrypto).pathOf(holder),
    );
    return fake;
  }

  get connections(): number {
    return this.sockets.size;
  }

  /** Ends as a killed process does, but for the file of its socket. */
  async die(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }

  /** Answers the calls that were held. */
  async release(): Promise<void> {
    await Promise.all(this.held.splice(0).map((answer) => answer()));
  }

  get holds(): number {
    return this.held.length;
  }

  private async serve(socket: Socket): Promise<void> {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const lines = createInterface({ input: socket })[Symbol.asyncIterator]();
    try {
      if ((await lines.next()).done === true) return;
      this.greetings += 1;
      if (this.manner === 'hangs') return;
      const reply =
        this.manner === 'greets' ? { protocol: LOCAL_PROTOCOL } : { refused: 'the daemon is shutting down' };
      socket.write(`${JSON.stringify(reply)}\n`);
      for await (const line of { [Symbol.asyncIterator]: () => lines })
        await this.take(JSON.parse(line) as LocalCall, socket);
    } catch {
      socket.destroy();
    }
  }

  private async take(call: LocalCall, socket: Socket): Promise<void> {
    this.calls.push(call);
    const fate = this.fates.shift() ?? 'answer';
    const answer = async () => {
      socket.write(`${JSON.stringify({ id: call.id, answer: await this.run(call) })}\n`);
    };
    if (fate === 'before') socket.destroy();
    else if (fate === 'hold') this.held.push(answer);
    else if (fate === 'refuse') {
      const error = { code: 'SHUTTING_DOWN', message: 'this node is shutting down' };
      socket.write(`${JSON.stringify({ id: call.id, answer: { ok: false, error } })}\n`);
    } else if (fate === 'after') {
      await this.run(call);
      socket.destroy();
    } else await answer();
  }

  private run({ id: _id, operation: name, profile: _profile, ...request }: LocalCall) {
    const operation = OPERATIONS.find((each) => each.name === name)!;
    return runOperation(operation, request, this.services);
  }
}
