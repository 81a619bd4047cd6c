import { createConnection, type Socket } from 'node:net';
import { event, within } from '../support/wait.js';
import { callOf, greetingFor, socketOf } from '../surface/local/raw-client.js';
import { Dice } from './dice.js';
import { mutate } from './mutate.js';
import { fault, type Surface, type SurfaceOptions, sideBySide, Tally } from './surface.js';
import type { Target } from './targets.js';
import { mutateTree } from './tree.js';
import { Values } from './values.js';

const AT_ONCE = 16;
const HUGE = 'h'.repeat(1024 * 1024);
const CALL = callOf(1, 'memory_recall', { context: 'wo liegt der Schlüssel?\nzweite Zeile' });

/** What other processes of the user may write to the socket of a node: greetings and calls, halves of them, garbage. */
export class LocalSocketSurface implements Surface {
  readonly name = 'local';
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #tally = new Tally();
  readonly #greeting: Readonly<Record<string, unknown>>;

  private constructor(
    home: string,
    private readonly path: string,
    { seed }: SurfaceOptions,
  ) {
    this.#dice = new Dice(seed);
    this.#values = new Values(this.#dice);
    this.#greeting = greetingFor(home);
  }

  static async open({ daemon }: Target, options: SurfaceOptions): Promise<LocalSocketSurface> {
    return new LocalSocketSurface(daemon.home, await socketOf(daemon.home), options);
  }

  async send(count: number): Promise<void> {
    const drawn = Array.from({ length: count }, () => this.#draw());
    await sideBySide(AT_ONCE, count, (turn) => this.#connection(drawn[turn]!));
  }

  /** An honest call is answered. */
  async check(): Promise<void> {
    const socket = createConnection(this.path);
    socket.write(`${JSON.stringify(this.#greeting)}\n`);
    await event('the greeting is answered', socket, 'data');
    socket.write(`${JSON.stringify(CALL)}\n`);
    const [answer] = await event('the call is answered', socket, 'data');
    socket.destroy();
    const { id } = JSON.parse(String(answer).split('\n')[0]!) as { id?: number };
    if (id !== CALL['id']) fault(`the node answered ${String(answer).slice(0, 200)}`);
  }

  summary(): string {
    return String(this.#tally);
  }

  async end(): Promise<void> {
    if (this.#tally.of('answered') === 0) fault('no call was answered: the lines prove too little');
  }

  #draw(): { readonly bytes: Buffer; readonly lines: number } {
    const dice = this.#dice;
    const drawn = (whole: object): string => {
      const roll = dice.unit();
      if (roll < 0.5) return JSON.stringify(whole);
      if (roll < 0.8) return JSON.stringify(mutateTree(whole, dice, this.#values));
      if (roll < 0.85) return JSON.stringify(this.#values.anything(0));
      if (roll < 0.852) return HUGE;
      return mutate(Buffer.from(JSON.stringify(whole)), dice).toString('latin1');
    };
    const calls = Array.from({ length: 1 + dice.below(3) }, () => drawn(CALL));
    const bytes = Buffer.from(`${[drawn(this.#greeting), ...calls].join('\n')}\n`);
    const isCut = dice.chance(0.1);
    return isCut
      ? { bytes: bytes.subarray(0, dice.below(bytes.length)), lines: 0 }
      : { bytes, lines: 1 + calls.length };
  }

  /** Writes and waits until the node has ended the connection, or has answered every line. */
  async #connection({
    bytes,
    lines: expected,
  }: {
    readonly bytes: Buffer;
    readonly lines: number;
  }): Promise<void> {
    const socket: Socket = createConnection(this.path);
    let answered = '';
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (text: string) => {
      answered += text;
      if (expected > 0 && answered.split('\n').length > expected) socket.destroy();
    });
    const closed = new Promise<void>((resolve) => {
      socket.on('close', () => resolve());
    });
    socket.write(bytes);
    // Half of the lines may be an honest greeting, after which the node waits.
    if (expected === 0) socket.end();
    await within('the node is done with a connection', closed, {
      seen: () => bytes.toString('latin1').slice(0, 2000),
    });
    const lines = answered.split('\n').slice(0, -1);
    this.#tally.add(lines.length > 1 ? 'answered' : 'ended');
    for (const line of lines) JSON.parse(line);
  }
}
