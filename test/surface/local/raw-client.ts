import { readdirSync } from 'node:fs';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { loadSettings } from '../../../node/config/load-settings.js';
import { databaseName } from '../../../node/config/store-url.js';
import { callerSettingsOf, LOCAL_PROTOCOL } from '../../../node/local/messages.js';
import { VERSION } from '../../../node/version.js';
import { onTestStore } from '../../support/test-store.js';
import { event, until, untilAnswer, within } from '../../support/wait.js';

type Fields = Record<string, unknown>;

/** The daemon's local socket in a home. */
export async function socketOf(home: string): Promise<string> {
  const names = () => readdirSync(home).filter((name) => /^daemon-.*\.sock$/.test(name));
  await until('the local socket is there', () => names().length === 1);
  return join(home, names()[0]!);
}

/** The greeting of an honest process. */
export function greetingFor(home: string): Fields {
  const settings = onTestStore(loadSettings({ home }, { env: {} }));
  return {
    protocol: LOCAL_PROTOCOL,
    version: VERSION,
    dbPath: databaseName(settings),
    keyDir: settings.keyDir,
    settings: callerSettingsOf(settings),
  };
}

/** A call as it travels. */
export const callOf = (id: number, operation: string, input: Fields): Fields => ({
  id,
  operation,
  surface: 'mcp',
  caller: {
    agentId: 'ai:raw',
    claimed: 'configured',
    viewer: { all: true, agentId: null, asNamespace: null },
    admin: false,
    local: true,
  },
  input,
  unknownFields: 'ignore',
  key: '00000000-0000-4000-8000-000000000000',
  again: false,
});

/** A client of the socket that can break every rule. */
export class RawClient {
  readonly lines: Fields[] = [];
  private readonly closed: Promise<void>;
  private rest = '';

  private constructor(readonly socket: Socket) {
    this.closed = new Promise((resolve) => {
      socket.on('close', () => resolve());
    });
    socket.on('error', () => undefined);
  }

  static async connect(path: string): Promise<RawClient> {
    for (;;) {
      const client = new RawClient(createConnection(path));
      try {
        await event('the connection opens', client.socket, 'connect');
        return client;
      } catch (error) {
        // The system refuses those that the daemon has had no time yet to take.
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        await new Promise((resume) => setTimeout(resume, 20));
      }
    }
  }

  /** A connection that has been greeted. */
  static async greeted(home: string): Promise<RawClient> {
    const client = await RawClient.connect(await socketOf(home));
    client.read();
    client.send(greetingFor(home));
    await untilAnswer(
      'the daemon answers the greeting',
      async () => client.lines,
      ([first]) => first?.['protocol'] !== undefined,
    );
    return client;
  }

  /** Begins to read what the daemon says. */
  read(): this {
    this.socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.rest + text).split('\n');
      this.rest = lines.pop()!;
      for (const line of lines) this.lines.push(JSON.parse(line) as Fields);
    });
    return this;
  }

  raw(data: string | Uint8Array): void {
    this.socket.write(data);
  }

  send(message: Fields): void {
    this.raw(`${JSON.stringify(message)}\n`);
  }

  /** The answer to a call. */
  async answer(id: number): Promise<Fields> {
    const lines = await untilAnswer(
      `call ${id} is answered`,
      async () => this.lines,
      (all) => all.some((line) => line['id'] === id && 'answer' in line),
    );
    return lines.find((line) => line['id'] === id && 'answer' in line)!['answer'] as Fields;
  }

  call(id: number, operation: string, input: Fields): Promise<Fields> {
    this.send(callOf(id, operation, input));
    return this.answer(id);
  }

  /** Resolves when the daemon has ended the connection. */
  ended(withinMs = 20_000): Promise<void> {
    return within('the daemon ends the connection', this.closed, {
      withinMs,
      seen: () => JSON.stringify(this.lines),
    });
  }

  /** The first answer of any call, or null when the daemon ends the connection. */
  fate(): Promise<Fields | null> {
    const answered = untilAnswer(
      'a call is answered or the connection ends',
      async () => this.lines.find((line) => 'answer' in line) ?? this.socket.destroyed,
      Boolean,
    );
    return answered.then((found) => (typeof found === 'boolean' ? null : (found['answer'] as Fields)));
  }
}
