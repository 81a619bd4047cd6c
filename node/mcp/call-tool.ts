import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Profile } from '../bindings/profile.js';
import { explicitAgentId, type LocalIdentity, localCaller } from '../identity/local-caller.js';
import { fieldTypes } from '../pipeline/coerce.js';
import { formattedText } from '../pipeline/formatted-text.js';
import type { McpBinding, Operation } from '../pipeline/operation.js';
import type { Answer, Request } from '../pipeline/pipeline.js';
import { shapedAnswer } from '../pipeline/replicate.js';
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
}

type Fields = Record<string, unknown>;

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
  const input = bindArguments(operation, binding, args);
  const caller = localCaller(session.identity, explicitAgentId(operation, input), session.clientName);
  const answer = caller.ok
    ? await session.runner.run(operation, {
        surface: 'mcp',
        caller: caller.value,
        input,
        unknownFields: 'ignore',
        profile: session.profile,
      })
    : caller;
  if (answer.ok) return textResult(render(operation, binding, answer.value, input));
  const protocolError = rpcErrorOf(answer.error);
  if (protocolError !== null) throw protocolError;
  return { ...textResult(JSON.stringify(failureBody(answer.error))), isError: true };
}

const textResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] });

/**
 * Arguments as fields of the operation: aliases resolved, defaults of this surface filled in, omitted fields left
 * out. A null for a field that is not nullable means that the argument is absent, as some clients send it.
 */
function bindArguments(operation: Operation, binding: McpBinding, args: Fields): Fields {
  const input: Fields = { ...binding.defaults };
  for (const [name, value] of Object.entries(args)) {
    const field = Object.hasOwn(operation.input.shape, name) ? name : binding.aliases?.[name];
    if (field === undefined || binding.omit?.includes(field) === true) continue;
    if (field !== name && Object.hasOwn(args, field)) continue;
    if (value === null && !fieldTypes(operation, field).includes('null')) continue;
    input[field] = value;
  }
  return input['format'] === 'json' ? input : { ...binding.toonDefaults, ...input };
}

/** Compact JSON unless the format asks for another text (reference-mcp-cli §5.2). */
function render(operation: Operation, binding: McpBinding, answer: Fields, input: Fields): string {
  const text = formattedText(operation, answer, input);
  if (text !== null) return text;
  return JSON.stringify(shapedAnswer(binding.shape, answer));
}
