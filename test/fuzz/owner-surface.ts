import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { SocketNames } from '../../node/private-socket.js';
import { systemCrypto } from '../../node/seams.js';
import { OwnerSocket } from '../../node/semantics/owner-socket.js';
import { EVIDENCE, FakeIndex, REQUEST } from '../node/semantics/fake-index.js';
import { recordingLog } from '../storage/vectors/real-seams.js';
import { temporaryFolder } from '../support/daemon-process.js';
import { event, within } from '../support/wait.js';
import { Dice } from './dice.js';
import { mutate } from './mutate.js';
import { fault, type Surface, type SurfaceOptions, sideBySide, Tally } from './surface.js';
import { mutateTree } from './tree.js';
import { Values } from './values.js';

const AT_ONCE = 16;
const HUGE = 'h'.repeat(1024 * 1024);
const NEWLINE = 0x0a;
const WHOLE = JSON.stringify(REQUEST);

/** What other processes of the user may write to the socket of a database's owner: questions, halves of them, garbage. */
export class OwnerSurface implements Surface {
  readonly name = 'owner';
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #tally = new Tally();

  private constructor(
    private readonly path: string,
    private readonly socket: OwnerSocket,
    { seed }: SurfaceOptions,
  ) {
    this.#dice = new Dice(seed);
    this.#values = new Values(this.#dice);
  }

  static async open(options: SurfaceOptions): Promise<OwnerSurface> {
    const home = temporaryFolder('fuzz-owner');
    const path = new SocketNames('owner', home, join(home, 'x.db'), systemCrypto).pathOf('fuzz');
    const index = new FakeIndex('owner', async () => {
      index.asked.length = 0;
      return EVIDENCE;
    });
    return new OwnerSurface(path, await OwnerSocket.listen(path, index, recordingLog()), options);
  }

  async send(count: number): Promise<void> {
    const drawn = Array.from({ length: count }, () => this.#draw());
    await sideBySide(AT_ONCE, count, (turn) => this.#connection(drawn[turn]!));
  }

  /** An honest question is answered. */
  async check(): Promise<void> {
    const socket = createConnection(this.path);
    socket.write(`${WHOLE}\n`);
    const [answer] = await event('the owner answers', socket, 'data');
    socket.destroy();
    const { scanned } = JSON.parse(String(answer)) as { scanned?: number };
    if (scanned !== EVIDENCE.scanned) fault(`the owner answered ${String(answer)}`);
  }

  summary(): string {
    return String(this.#tally);
  }

  async end(): Promise<void> {
    await this.socket.close();
    if (this.#tally.of('answered') === 0) fault('no question was answered: the lines prove too little');
  }

  #draw(): Buffer {
    const dice = this.#dice;
    const lines = Array.from({ length: 1 + dice.below(3) }, () => {
      const roll = dice.unit();
      if (roll < 0.3) return WHOLE;
      if (roll < 0.7) return JSON.stringify(mutateTree(REQUEST, dice, this.#values));
      if (roll < 0.75) return JSON.stringify(this.#values.anything(0));
      if (roll < 0.752) return HUGE;
      return mutate(Buffer.from(WHOLE), dice).toString('latin1');
    });
    const bytes = Buffer.from(`${lines.join('\n')}\n`);
    return dice.chance(0.1) ? bytes.subarray(0, dice.below(bytes.length)) : bytes;
  }

  /** Writes and waits until the owner has ended the connection, or has answered and gets no more. */
  async #connection(bytes: Buffer): Promise<void> {
    const socket: Socket = createConnection(this.path);
    let answered = '';
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (text: string) => {
      answered += text;
      if (answered.endsWith('\n')) socket.destroy();
    });
    const closed = new Promise<void>((resolve) => {
      socket.on('close', () => resolve());
    });
    socket.write(bytes);
    // A line that never ends is never answered.
    if (bytes.at(-1) !== NEWLINE) socket.end();
    await within('the owner is done with a connection', closed, {
      seen: () => bytes.toString('latin1').slice(0, 2000),
    });
    const lines = answered.split('\n').slice(0, -1);
    this.#tally.add(lines.length > 0 ? 'answered' : 'ended');
    for (const line of lines) JSON.parse(line);
  }
}
