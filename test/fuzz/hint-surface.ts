import { WebSocket } from 'ws';
import { formatHint, HINTS_PATH } from '../../protocol/wire/hint.js';
import { event } from '../support/wait.js';
import { Dice } from './dice.js';
import type { Member, MeshTarget } from './mesh-target.js';
import { mutate } from './mutate.js';
import { fault, type Surface, type SurfaceOptions, Tally } from './surface.js';
import { mutateTree } from './tree.js';
import { Values } from './values.js';

/** Texts that one line says before it is asked whether it still lives. */
const BURST_MAX = 60;
/** Ends of a line that a bad hint may bring about. */
const ENDS: ReadonlySet<number> = new Set([1002, 1003, 1006, 1007, 1009]);

/** Hints of a member over its WebSocket: right ones, wrong ones, too long ones. */
export class HintSurface implements Surface {
  readonly name = 'hints';
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #ends = new Tally();
  readonly #member: Member;

  constructor(
    private readonly mesh: MeshTarget,
    { seed }: SurfaceOptions,
  ) {
    this.#dice = new Dice(seed);
    this.#values = new Values(this.#dice);
    this.#member = mesh.hostile[1]!;
  }

  async send(count: number): Promise<void> {
    for (let sent = 0; sent < count; ) {
      const burst = Math.min(1 + this.#dice.below(BURST_MAX), count - sent);
      await this.#line(Array.from({ length: burst }, () => this.#draw()));
      sent += burst;
    }
  }

  async check(): Promise<void> {
    const socket = await this.#open(this.mesh.honest);
    socket.send(formatHint({ origin: `${this.mesh.honest.peer.peerId}/honest`, seq: 1 }));
    socket.ping();
    await event('the line of the honest member answers', socket, 'pong');
    socket.terminate();
  }

  summary(): string {
    return `lines that ended by code: ${this.#ends}`;
  }

  async end(): Promise<void> {
    if (this.#ends.of(1003) === 0) fault('no line was ended for a bad hint: the hints prove too little');
  }

  async #open({ peer, cert, key }: Member): Promise<WebSocket> {
    const path = `/api/v1${HINTS_PATH}`;
    const query = `to=${this.mesh.facts.peer_id}&at=${encodeURIComponent(new Date().toISOString())}`;
    const headers = peer.get(path, query).headers as Record<string, string>;
    const socket = new WebSocket(`wss://${this.mesh.url.host}${path}?${query}`, {
      headers,
      cert,
      key,
      rejectUnauthorized: false,
    });
    socket.on('error', () => undefined);
    await event('the line for hints opens', socket, 'open');
    return socket;
  }

  async #line(said: readonly (string | Buffer)[]): Promise<void> {
    const socket = await this.#open(this.#member);
    const closed = event('the line ends or answers', socket, 'close');
    closed.catch(() => undefined);
    for (const each of said) socket.send(each, { binary: typeof each !== 'string' });
    socket.ping();
    socket.once('pong', () => socket.close());
    const [code] = (await closed) as [number];
    this.#ends.add(code);
    if (code !== 1000 && code !== 1005 && !ENDS.has(code))
      fault(`a line ended with code ${code}`, ...said.map(String));
  }

  #draw(): string | Buffer {
    const dice = this.#dice;
    const hint = { origin: `${this.#member.peer.peerId}/x`, seq: dice.below(2 ** 31) };
    if (dice.chance(0.9)) return formatHint(hint);
    const text = JSON.stringify(mutateTree(hint, dice, this.#values));
    return dice.pick([
      text,
      mutate(Buffer.from(text), dice).toString('latin1'),
      Buffer.from(text),
      'x'.repeat(3000),
    ]);
  }
}
