import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { nearest } from '../../protocol/base/nearest.js';
import { type Failure, failure } from '../../protocol/base/result.js';
import type { Profile } from '../bindings/profile.js';
import { explicitAgentId, type LocalIdentity, localCaller } from '../identity/local-caller.js';
import { type Answer, type Answered, shapedAnswer } from '../pipeline/answer.js';
import { fieldTypes } from '../pipeline/coerce.js';
import { formattedText } from '../pipeline/formatted-text.js';
import type { McpBinding, Operation } from '../pipeline/operation.js';
import type { Request } from '../pipeline/pipeline.js';
import { failureBody, rpcErrorOf } from './rpc-error.js';

/** Runs the operations of this machine, in the daemon or in this process. */
export interface ToolRunner {
  run(operation: Operation, request: Request & { readonly surface: 'mcp' }): Promise<Answer>;
}

/** What a session knows about its caller and its node. */
export interface Session {
  readonly runner: ToolRunner;
  readonly identity: LocalIdentity;
  /** `clientInfo.name` of initialize. */
  readonly clientName: string | null;
  readonly profile: Profile;
  /** Aborted when the client gives the call up. */
  readonly cancelled: AbortSignal;
}

type Fields = Record<string, unknown>;

interface Bound {
  readonly input: Fields;
  /** Arguments that the tool does not have. */
  readonly unknown: readonly string[];
}

/** An answer names at most this many unknown arguments, each cut to this length. */
const NAMED_MAX = 16;
const NAMED_LENGTH_MAX = 64;

/**
 * Runs a tool. A protocol error, such as a schema violation, is thrown as an RpcError. A domain error is a result
 * with `isError: true` whose text is the body that HTTP would answer (decisions, "MCP errors").
 */
export async function callTool(
  operation: Operation,
  args: Fields,
  session: Session,
): Promise<CallToolResult> {
  const binding = operation.mcp as McpBinding;
  const { input, unknown } = bindArguments(operation, binding, args);
  const refused = operation.overwrites === true ? unknownProblem(operation, unknown) : null;
  if (refused !== null) throw rpcErrorOf(refused)!;
  const explicit = explicitAgentId(operation, { agent_id: args['agent_id'], ...input });
  const caller = localCaller(session.identity, explicit, session.clientName);
  const answer = caller.ok
    ? await session.runner.run(operation, {
        surface: 'mcp',
        caller: caller.value,
        input,
        unknownFields: 'ignore',
        profile: session.profile,
        gone: () => session.cancelled,
      })
    : caller;
  if (answer.ok) return textResult(render(operation, binding, answer, input), ...hintsOf(operation, unknown));
  const protocolError = rpcErrorOf(answer.error);
  if (protocolError !== null) throw protocolError;
  return { ...textResult(JSON.stringify(failureBody(answer.error))), isError: true };
}

const textResult = (...texts: readonly string[]): CallToolResult => ({
  content: texts.map((text) => ({ type: 'text', text })),
});

/** A second text after the answer, for the agent that reads it: the first stays what programs parse. */
const hintsOf = (operation: Operation, unknown: readonly string[]): readonly string[] =>
  unknown.length === 0 ? [] : [`Ignored ${unknownText(operation, unknown)}.`];

/** UNKNOWN_FIELD: a misspelt argument of a tool that removes or overwrites would change what it does, without a word. */
function unknownProblem(operation: Operation, unknown: readonly string[]): Failure | null {
  if (unknown.length === 0) return null;
  const message = `nothing was changed: ${unknownText(operation, unknown)}`;
  return failure('UNKNOWN_FIELD', message, { fields: unknown });
}

function unknownText(operation: Operation, unknown: readonly string[]): string {
  const { shape } = operation.input;
  const named = unknown.map((name) => {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const likely = Object.hasOwn(shape, snake) ? snake : nearest(name, Object.keys(shape));
    return `"${name}"${likely === null ? '' : ` (did you mean "${likely}"?)`}`;
  });
  return `unknown argument${named.length === 1 ? '' : 's'} ${named.join(', ')} of ${operation.name}`;
}

/**
 * Arguments as fields of the operation: aliases resolved, defaults of this surface filled in, omitted fields left
 * out. A null for a field that is not nullable means that the argument is absent, as some clients send it.
 */
function bindArguments(operation: Operation, binding: McpBinding, args: Fields): Bound {
  const input: Fields = { ...binding.defaults };
  const unknown: string[] = [];
  for (const [name, value] of Object.entries(args)) {
    const field = Object.hasOwn(operation.input.shape, name) ? name : binding.aliases?.[name];
    if (field === undefined || binding.omit?.includes(field) === true) {
      // Every tool takes the id of its caller (interface §5.3).
      if (name !== 'agent_id') unknown.push(name.slice(0, NAMED_LENGTH_MAX));
      continue;
    }
    if (field !== name && Object.hasOwn(args, field)) continue;
    if (value === null && !fieldTypes(operation, field).includes('null')) continue;
    input[field] = value;
  }
  const bound = input['format'] === 'json' ? input : { ...binding.toonDefaults, ...input };
  return { input: bound, unknown: unknown.slice(0, NAMED_MAX) };
}

/** Compact JSON unless the format asks for another text (reference-mcp-cli §5.2). */
function render(operation: Operation, binding: McpBinding, answer: Answered, input: Fields): string {
  const text = formattedText(operation, answer.value, input);
  if (text !== null) return text;
  return JSON.stringify(shapedAnswer(binding.shape, answer));
}
