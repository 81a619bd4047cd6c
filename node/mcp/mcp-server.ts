import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { CallToolResult, ServerResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Profile } from '../bindings/profile.js';
import { VERSION } from '../version.js';
import type { CallContext } from './call-tool.js';
import { instructionsFor } from './instructions.js';
import { getPrompt, listPrompts } from './prompts.js';
import { FIRST_VERSION, featuresOf, type VersionFeatures, versionFor } from './protocol-version.js';
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from './rpc-error.js';

/** What the server offers; called only when a client asks for it. */
export interface Tools {
  readonly profile: Profile;
  /** The rows of the tools, with what the version of the session has. */
  list(features: VersionFeatures): Promise<readonly object[]>;
  /** Null when there is no such tool in this profile. */
  call(name: string, args: Record<string, unknown>, context: CallContext): Promise<CallToolResult | null>;
}

const CAPABILITIES = { tools: {}, prompts: {} };
const TOOL_NAME_SHOWN_MAX = 128;

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

// The SDK's own schemas would refuse requests that the interface accepts, or refuse them with other messages.
const params = z.unknown().optional().transform(fieldsOf);
const initializeRequest = z.object({ method: z.literal('initialize'), params });
const listToolsRequest = z.object({ method: z.literal('tools/list') });
const callToolRequest = z.object({
  method: z.literal('tools/call'),
  params: params.transform(({ name, arguments: args }) => ({
    name: typeof name === 'string' ? name : '',
    arguments: fieldsOf(args),
  })),
});
const listPromptsRequest = z.object({ method: z.literal('prompts/list') });
const getPromptRequest = z.object({ method: z.literal('prompts/get'), params });

/** By default the library makes a validator for clients' answers to forms, but this server never sends forms. */
const NO_VALIDATOR = {
  getValidator: () => {
    throw new Error('this server sends no requests to its clients');
  },
};

/** The protocol side of the MCP surface (interface §1, §4.14), over any transport. */
export function createMcpServer(tools: Tools): Server {
  const server = new Server(
    { name: 'mnemesh', version: VERSION },
    { capabilities: CAPABILITIES, jsonSchemaValidator: NO_VALIDATOR },
  );
  let clientName: string | null = null;
  let version = FIRST_VERSION;
  const greet = (from: Record<string, unknown>) => {
    const { name } = fieldsOf(from['clientInfo']);
    if (typeof name === 'string') clientName = name;
  };

  server.setRequestHandler(initializeRequest, (request) => {
    greet(request.params);
    version = versionFor(request.params['protocolVersion']);
    return {
      protocolVersion: version,
      capabilities: CAPABILITIES,
      serverInfo: { name: 'mnemesh', version: VERSION },
      ...(featuresOf(version).later ? { instructions: instructionsFor(tools.profile) } : {}),
    };
  });
  // An initialize without an id is not answered, but still names the client (reference-mcp-cli §5.1).
  server.setNotificationHandler(initializeRequest, (notification) => greet(notification.params));

  server.setRequestHandler(
    listToolsRequest,
    async () => ({ tools: [...(await tools.list(featuresOf(version)))] }) as unknown as ServerResult,
  );
  server.setRequestHandler(callToolRequest, async ({ params: { name, arguments: args } }, { signal }) => {
    if (name === '') throw new RpcError(INVALID_PARAMS, 'missing or empty tool name');
    const features = featuresOf(version);
    const context = { clientName, features, cancelled: signal, progress: null };
    const result = await tools.call(name, args, context);
    if (result !== null) return result;
    const message = `unknown tool: ${name.slice(0, TOOL_NAME_SHOWN_MAX)}`;
    throw new RpcError(METHOD_NOT_FOUND, message, { error: message, code: 'UNKNOWN_TOOL' });
  });

  server.setRequestHandler(listPromptsRequest, () => ({ prompts: listPrompts() }));
  server.setRequestHandler(getPromptRequest, (request) =>
    getPrompt(request.params['name'], fieldsOf(request.params['arguments'])),
  );
  server.fallbackRequestHandler = async (request) => {
    throw new RpcError(METHOD_NOT_FOUND, `method not found: ${request.method.slice(0, TOOL_NAME_SHOWN_MAX)}`);
  };
  return server;
}
