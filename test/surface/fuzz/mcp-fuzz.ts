import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { temporaryFolder } from '../../support/daemon-process.js';
import { auditLog } from '../../support/log-audit.js';
import { McpProcess, type Message } from '../mcp/mcp-process.js';
import { Dice } from './dice.js';
import { fault, MemoryWatch, replayRefused } from './loop.js';
import { mutate } from './mutate.js';
import { envelopeProblem, parse } from './oracle.js';
import { type FieldSchema, Values } from './values.js';

const TOOLS = OPERATIONS.filter(({ mcp }) => mcp !== undefined);
const BATCH = 25;
/** Refused calls that are sent again at the end. */
const REPLAYED_MAX = 400;
/** The codes of JSON-RPC that a caller can bring about; -32603 is a fault. */
const RPC_CODES: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602]);

interface Line {
  readonly text: Buffer;
  /** The id that must be answered; null where the line was mutated. */
  readonly id: string | null;
}

/** Sends drawn lines to a real MCP server and fails as `fuzzHttp` does. */
export async function fuzzMcp(plan: {
  readonly seed: number;
  readonly lines: number;
  readonly log: (line: string) => void;
}): Promise<void> {
  const { seed, lines, log } = plan;
  const home = temporaryFolder('fuzz-mcp');
  const path = join(home, 'mnemesh.db');
  const server = new McpProcess({ args: ['--profile', 'full'], home });
  const dice = new Dice(seed);
  const values = new Values(dice);
  await server.request('hello', 'initialize', {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'fuzz', version: '1' },
  });
  const tally = { results: 0, refused: 0, protocol: 0 };
  const refusedLines: Line[] = [];
  const memory = new MemoryWatch('memory', () => Promise.resolve(anonymousBytes(server.child.pid!)));
  for (let sent = 0; sent < lines; sent += BATCH) {
    await memory.at(sent, lines);
    const batch = Array.from({ length: BATCH }, (_, index) => drawLine(dice, values, `r${sent + index}`));
    const answers = await exchangeLines(server, batch, `sync${sent}`, seed);
    for (const message of answers) {
      const problem = messageProblem(message);
      if (problem !== null) fault(seed, problem, ...shown(message, batch), server.errors.slice(-2000));
      if (message.error !== undefined) tally.protocol += 1;
      else if (message.result?.['isError'] === true) tally.refused += 1;
      else {
        tally.results += 1;
        harvest(message, values);
      }
    }
    const byId = new Map(answers.map((message) => [message.id, message]));
    refusedLines.push(...batch.filter(({ id }) => id !== null && isRefusal(byId.get(id))));
  }
  log(await memory.end());
  let syncs = 0;
  const proving = await replayRefused(path, refusedLines.slice(-REPLAYED_MAX), BATCH, async (again) => {
    syncs += 1;
    const answers = await exchangeLines(server, again, `again${syncs}`, seed);
    const byId = new Map(answers.map((message) => [message.id, message]));
    return again.map(({ id }) => isRefusal(byId.get(id)));
  });
  assert.ok(proving > 0, 'the replay proves nothing');
  log(
    `seed ${seed}: ${lines} lines, ${JSON.stringify(tally)}, ${proving} refused calls sent again changed nothing`,
  );
  assert.equal(await server.end(), 0, server.errors);
  assert.deepEqual(auditLog(path), []);
}

const isRefusal = (message: Message | undefined) =>
  message !== undefined && (message.error !== undefined || message.result?.['isError'] === true);

/** Sends lines and a call behind them: calls run in their order, so its answer comes after all of theirs. */
async function exchangeLines(
  server: McpProcess,
  lines: readonly Line[],
  sync: string,
  seed: number,
): Promise<Message[]> {
  server.messages.length = 0;
  for (const { text } of lines) server.raw(text);
  try {
    await server.call(sync, 'memory_capabilities');
    for (const { id } of lines) if (id !== null) await server.answer(id);
  } catch (error) {
    throw new Error(
      `seed ${seed}: ${String(error)}\n${lines.map(({ text }) => text.toString('latin1').slice(0, 300)).join('')}`,
    );
  }
  return server.messages.filter(({ id }) => id !== sync);
}

function drawLine(dice: Dice, values: Values, id: string): Line {
  const tool = dice.pick(TOOLS);
  values.careful = dice.chance(0.5);
  const json = z.toJSONSchema(tool.input, { io: 'input', unrepresentable: 'any' });
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

/** The memory of a process that is its own and backed by no file; null where the system does not tell. */
function anonymousBytes(pid: number): number | null {
  try {
    const kibibytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kibibytes === undefined ? null : Number(kibibytes) * 1024;
  } catch {
    return null;
  }
}
