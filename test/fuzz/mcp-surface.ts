import { join } from 'node:path';
import { z } from 'zod';
import { OPERATIONS } from '../../node/operations/registry.js';
import { McpProcess, type Message } from '../surface/mcp/mcp-process.js';
import { Dice } from './dice.js';
import { digestOf, settledDigest } from './digest.js';
import { mutate } from './mutate.js';
import { envelopeProblem, isRecorded, parse } from './oracle.js';
import { Refused } from './refused.js';
import { fault, type Surface, type SurfaceOptions, Tally } from './surface.js';
import { type FieldSchema, Values } from './values.js';

const TOOLS = OPERATIONS.filter(({ mcp }) => mcp !== undefined);
const INPUTS = new Map(
  TOOLS.map(({ name, input }) => [name, z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })]),
);
const BATCH = 50;
/** Refused calls that are sent again at once. */
const REPLAYED_MAX = 400;
/** The codes of JSON-RPC that a caller can bring about; -32603 is a fault. */
const RPC_CODES: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602]);

interface Line {
  readonly text: Buffer;
  /** The id that must be answered; null where the line was mutated. */
  readonly id: string | null;
}

/** Drawn lines to an MCP server of its own process, on the database of a home that others may use too. */
export class McpSurface implements Surface {
  readonly name = 'mcp';
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #tally = new Tally();
  readonly #refused: Refused<Line>;
  #batches = 0;

  private constructor(
    private readonly server: McpProcess,
    home: string,
    options: SurfaceOptions,
  ) {
    this.#dice = new Dice(options.seed);
    this.#values = new Values(this.#dice);
    this.#refused = new Refused({
      digest: () => settledDigest(join(home, 'mnemesh.db')),
      digestNow: () => digestOf(join(home, 'mnemesh.db')),
      send: async (lines) => {
        const answered = await this.#exchange(lines);
        return lines.map(({ id }) => changesNothing(answered.get(id)));
      },
      show: ({ text }) => text.toString('latin1').slice(0, 6000),
      keptMax: REPLAYED_MAX,
    });
  }

  static async open(home: string, options: SurfaceOptions): Promise<McpSurface> {
    const server = new McpProcess({ args: ['--profile', 'full'], home });
    await server.request('hello', 'initialize', {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 'fuzz', version: '1' },
    });
    return new McpSurface(server, home, options);
  }

  async send(count: number): Promise<void> {
    for (let sent = 0; sent < count; sent += BATCH) {
      const size = Math.min(BATCH, count - sent);
      const lines = Array.from({ length: size }, (_, index) =>
        drawLine(this.#dice, this.#values, `r${this.#batches}-${index}`),
      );
      const answered = await this.#exchange(lines);
      for (const message of answered.values()) {
        const refused = isRefusal(message);
        this.#tally.add(message.error !== undefined ? 'protocol' : refused ? 'refused' : 'results');
        if (!refused) harvest(message, this.#values);
      }
      for (const line of lines) {
        if (line.id !== null && changesNothing(answered.get(line.id))) this.#refused.add(line);
      }
    }
  }

  check(): Promise<void> {
    return this.#refused.prove();
  }

  summary(): string {
    return `${this.#tally}; ${this.#refused.proven} refused calls were sent again and changed nothing`;
  }

  async end(): Promise<void> {
    const code = await this.server.end();
    if (code !== 0) fault(`the MCP server ended with ${code}`, this.server.errors.slice(-2000));
    if (this.#refused.proven === 0) fault('no refused call was proven');
  }

  /** Sends lines and a call behind them: calls run in their order, so its answer comes after all of theirs. */
  async #exchange(lines: readonly Line[]): Promise<Map<Message['id'] | null, Message>> {
    const { server } = this;
    this.#batches += 1;
    const sync = `sync${this.#batches}`;
    server.messages.length = 0;
    for (const { text } of lines) server.raw(text);
    try {
      await server.call(sync, 'memory_capabilities');
      for (const { id } of lines) if (id !== null) await server.answer(id);
    } catch (error) {
      fault(String(error), ...lines.map(({ text }) => text.toString('latin1').slice(0, 300)));
    }
    const answered = server.messages.filter(({ id }) => id !== sync);
    for (const message of answered) {
      const problem = messageProblem(message);
      if (problem !== null) fault(problem, ...shown(message, lines), server.errors.slice(-2000));
    }
    return new Map(answered.map((message, index) => [message.id ?? `none${index}`, message]));
  }
}

const isRefusal = (message: Message | undefined) =>
  message !== undefined && (message.error !== undefined || message.result?.['isError'] === true);

const changesNothing = (message: Message | undefined) =>
  isRefusal(message) && !isRecorded(JSON.stringify(message));

function drawLine(dice: Dice, values: Values, id: string): Line {
  const tool = dice.pick(TOOLS);
  values.careful = dice.chance(0.5);
  const json = INPUTS.get(tool.name)!;
  const required = new Set((json.required ?? []) as string[]);
  const args: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries((json.properties ?? {}) as Record<string, FieldSchema>)) {
    const kept = required.has(name) ? (values.careful ? 1 : 0.93) : 0.2;
    if (dice.chance(kept)) args[name] = values.field(name, schema);
  }
  if (dice.chance(0.05)) args[dice.pick(['nonsense', 'toString', '', 'agent_id'])] = values.anything(2);
  const name = dice.chance(0.98)
    ? tool.name
    : dice.pick(['', 'memory_nothing', '__proto__', 'x'.repeat(500)]);
  const method = dice.chance(0.97)
    ? 'tools/call'
    : dice.pick(['tools/list', 'ping', 'prompts/list', 'prompts/get', 'no/such']);
  const params = dice.chance(0.98)
    ? { name, arguments: dice.chance(0.98) ? args : values.anything(2) }
    : values.anything(2);
  const text = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
  if (!dice.chance(0.2)) return { text, id };
  return { text: Buffer.concat([mutate(text, dice), Buffer.from('\n')]), id: null };
}

function messageProblem(message: Message): string | null {
  const { error, result } = message;
  if (error !== undefined) {
    if (!RPC_CODES.has(error.code)) return `JSON-RPC code ${error.code}`;
    return error.data === undefined ? null : envelopeProblem(error.data, null);
  }
  if (result === undefined) return 'neither a result nor an error';
  if (result['isError'] !== true) return null;
  const [content] = result['content'] as { text: string }[];
  return envelopeProblem(parse(Buffer.from(content!.text)), null);
}

function harvest({ result }: Message, values: Values): void {
  const [content] = (result?.['content'] ?? []) as { text?: string }[];
  const id = /"id":"([^"]+)"/.exec(content?.text ?? '')?.[1];
  if (id !== undefined) values.remember(id);
}

/** A message that is a fault, with the line that it answers. */
function shown(message: Message, batch: readonly Line[]): string[] {
  const line =
    batch.find(({ id }) => id === message.id)?.text ?? Buffer.concat(batch.map(({ text }) => text));
  return [JSON.stringify(message).slice(0, 2000), line.toString('latin1').slice(0, 6000)];
}
