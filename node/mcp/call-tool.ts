import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { nearest } from '../../protocol/base/nearest.js';
import { type Failure, failed, failure, type Result } from '../../protocol/base/result.js';
import type { Profile } from '../config/tool-profile.js';
import type { Caller } from '../identity/caller.js';
import type { Answer } from '../pipeline/answer.js';
import type { ProgressReport } from '../pipeline/call.js';
import { fieldTypes } from '../pipeline/coerce.js';
import type { McpBinding, Operation } from '../pipeline/operation.js';
import type { Request } from '../pipeline/pipeline.js';
import { boundAnswer } from './bound-answer.js';
import type { VersionFeatures } from './protocol-version.js';
import { failureBody, rpcErrorOf } from './rpc-error.js';

type Fields = Record<string, unknown>;

/** How the calls of a session reach the node, and in whose name. */
export interface NodeAccess {
  /** The caller of an operation with these arguments; `clientName` is `clientInfo.name` of initialize. */
  callerOf(operation: Operation, args: Readonly<Fields>, clientName: string | null): Result<Caller>;
  run(operation: Operation, request: Omit<Request, 'surface'>): Promise<Answer>;
  /** When a call that comes now is answered in any case, in monotonic milliseconds; absent where it may take any time. */
  deadlineMs?(): number;
}

/** What a call knows of its session and its request. */
export interface CallContext {
  readonly clientName: string | null;
  readonly features: VersionFeatures;
  /** Aborted when the client gives the call up. */
  readonly cancelled: AbortSignal;
  /** Null where the client asked for no progress. */
  readonly progress: ProgressReport | null;
  readonly deadlineMs?: number | undefined;
  /** The `traceparent` of the request, unparsed. */
  readonly traceparent?: string | undefined;
}

export interface ToolSession {
  readonly access: NodeAccess;
  readonly profile: Profile;
}

interface Bound {
  readonly input: Fields;
  /** Arguments that the tool does not have. */
  readonly unknown: readonly string[];
}

/** An answer names at most this many unknown arguments, each cut to this length. */
const NAMED_MAX = 16;
const NAMED_LENGTH_MAX = 64;

/**
 * Runs a tool. A failure is a result with `isError: true` whose text is the body that HTTP would answer; in a session of
 * the first version a protocol error, such as a schema violation, is thrown as an RpcError (decisions, "Versions of MCP").
 */
export async function callTool(
  operation: Operation,
  args: Fields,
  session: ToolSession,
  context: CallContext,
): Promise<CallToolResult> {
  const binding = operation.mcp as McpBinding;
  const { input, unknown } = bindArguments(operation, binding, args);
  const refused = operation.overwrites === true ? unknownProblem(operation, unknown) : null;
  const ask = (fields: Fields) => run(operation, { args, input: fields }, session, context);
  const answer = refused === null ? await ask(input) : failed(refused);
  if (!answer.ok) return errorResult(namingUnknown(operation, answer.error, unknown), context.features);
  const { value, text, hint } = await boundAnswer({ operation, input, again: ask }, answer);
  const result = textResult(text, ...(hint === null ? [] : [hint]), ...hintsOf(operation, unknown));
  return context.features.structured ? { ...result, structuredContent: value } : result;
}

/** Runs an operation as the caller of the session. */
export async function run(
  operation: Operation,
  { args, input }: { readonly args: Fields; readonly input: Fields },
  { access, profile }: ToolSession,
  { clientName, cancelled, progress, deadlineMs, traceparent }: CallContext,
): Promise<Answer> {
  const caller = access.callerOf(operation, { agent_id: args['agent_id'], ...input }, clientName);
  if (!caller.ok) return caller;
  return access.run(operation, {
    caller: caller.value,
    input,
    unknownFields: 'ignore',
    profile,
    gone: () => cancelled,
    ...(progress === null ? {} : { progress }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    traceparent,
  });
}

/** The result of a call that failed. */
export function errorResult(error: Failure, { later }: VersionFeatures): CallToolResult {
  const protocolError = later ? null : rpcErrorOf(error);
  if (protocolError !== null) throw protocolError;
  return { ...textResult(JSON.stringify(failureBody(error))), isError: true };
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

/** A refusal for arguments says also which ones were not known: one of them may be meant for the one that is missing. */
function namingUnknown(operation: Operation, error: Failure, unknown: readonly string[]): Failure {
  if (error.code !== 'VALIDATION_FAILED' || unknown.length === 0) return error;
  return { ...error, message: `${error.message} (${unknownText(operation, unknown)})` };
}

function unknownText(operation: Operation, unknown: readonly string[]): string {
  const { input, mcp } = operation;
  const offered = Object.keys(input.shape).filter((name) => mcp?.omit?.includes(name) !== true);
  const named = unknown.map((name) => {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const likely = offered.includes(snake) ? snake : nearest(name, offered);
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
