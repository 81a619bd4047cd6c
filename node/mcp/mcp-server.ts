import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { CallToolResult, ServerNotification, ServerResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Profile } from '../config/tool-profile.js';
import type { Answer } from '../pipeline/answer.js';
import type { ProgressReport } from '../pipeline/call.js';
import { VERSION } from '../version.js';
import type { CallContext } from './call-tool.js';
import { instructionsFor } from './instructions.js';
import { type Extra, fieldsOf, params, serveLaterMethods } from './later-methods.js';
import { getPrompt, listPrompts } from './prompts.js';
import { FIRST_VERSION, featuresOf, type VersionFeatures, versionFor } from './protocol-version.js';
import { INVALID_PARAMS, METHOD_NOT_FOUND, RpcError } from './rpc-error.js';
import { type LogLine, SessionLog } from './session-log.js';

/** What the server offers; called only when a client asks for it. */
export interface Tools {
  readonly profile: Profile;
  /** The rows of the tools, with what the version of the session has. */
  list(features: VersionFeatures): Promise<readonly object[]>;
  /** What is said of a tool that the session does not have. */
  unknown(name: string, clientName: string | null): Promise<string>;
  /** Null when there is no such tool in this profile. */
  call(name: string, args: Record<string, unknown>, context: CallContext): Promise<CallToolResult | null>;
  /** Runs an operation that reads. */
  read(operation: string, input: Record<string, unknown>, context: CallContext): Promise<Answer>;
}

const FIRST_CAPABILITIES = { tools: {}, prompts: {} };
const CAPABILITIES = { ...FIRST_CAPABILITIES, resources: {}, completions: {}, logging: {} };
const TOOL_NAME_SHOWN_MAX = 128;

// The SDK's own schemas would refuse requests that the interface accepts, or refuse them with other messages.
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
  return new McpSession(server, tools).serve();
}

/** What a session knows of its client, and its methods. */
class McpSession {
  private clientName: string | null = null;
  private version = FIRST_VERSION;
  private readonly log = new SessionLog();

  constructor(
    private readonly server: Server,
    private readonly tools: Tools,
  ) {}

  serve(): Server {
    const { server, tools } = this;
    server.setRequestHandler(initializeRequest, (request) => this.greet(request.params));
    // An initialize without an id is not answered, but still names the client (reference-mcp-cli §5.1).
    server.setNotificationHandler(initializeRequest, (notification) => this.name(notification.params));
    server.setRequestHandler(
      listToolsRequest,
      async () => ({ tools: [...(await tools.list(featuresOf(this.version)))] }) as unknown as ServerResult,
    );
    server.setRequestHandler(callToolRequest, (request, extra) => this.call(request.params, extra));
    server.setRequestHandler(listPromptsRequest, () => ({ prompts: listPrompts() }));
    server.setRequestHandler(getPromptRequest, (request) =>
      getPrompt(request.params['name'], fieldsOf(request.params['arguments'])),
    );
    serveLaterMethods(server, {
      log: this.log,
      requireLater: (method) => {
        if (!featuresOf(this.version).later) throw unknownMethod(method);
      },
      read: (operation, input, context) => tools.read(operation, input, context),
      contextOf: (extra) => this.contextOf(extra),
    });
    server.fallbackRequestHandler = async (request) => {
      throw unknownMethod(request.method);
    };
    return server;
  }

  private name(from: Record<string, unknown>): void {
    const { name } = fieldsOf(from['clientInfo']);
    if (typeof name === 'string') this.clientName = name;
  }

  private greet(from: Record<string, unknown>) {
    this.name(from);
    this.version = versionFor(from['protocolVersion']);
    const { later } = featuresOf(this.version);
    const { profile } = this.tools;
    // They name the tools of core, which an allowlist may withhold.
    const instructed = later && profile.includes('core');
    return {
      protocolVersion: this.version,
      capabilities: later ? CAPABILITIES : FIRST_CAPABILITIES,
      serverInfo: { name: 'mnemesh', version: VERSION },
      ...(instructed ? { instructions: instructionsFor(profile) } : {}),
    };
  }

  private contextOf(extra: Extra, progress: ProgressReport | null = null): CallContext {
    const { clientName, version } = this;
    const features = featuresOf(version);
    return { clientName, features, cancelled: extra.signal, progress, traceparent: traceparentOf(extra) };
  }

  private async call(
    { name, arguments: args }: { readonly name: string; readonly arguments: Record<string, unknown> },
    extra: Extra,
  ): Promise<CallToolResult> {
    if (name === '') throw new RpcError(INVALID_PARAMS, 'missing or empty tool name');
    const reporter = featuresOf(this.version).later ? reporterFor(extra) : null;
    const result = await this.tools.call(name, args, this.contextOf(extra, reporter?.report));
    // A client drops reports that come after the answer.
    await reporter?.sent();
    if (result !== null) {
      await this.tell(lineOf(name, result), extra);
      return result;
    }
    const message = await this.tools.unknown(name, this.clientName);
    throw new RpcError(METHOD_NOT_FOUND, message, { error: message, code: 'UNKNOWN_TOOL' });
  }

  /** Sends a line to the client, before the answer of the call that it is about. */
  private async tell(line: LogLine, extra: Extra): Promise<void> {
    if (!this.log.shows(line)) return;
    const { level, data } = line;
    await notify(extra, { method: 'notifications/message', params: { level, logger: 'mnemesh', data } });
  }
}

const unknownMethod = (method: string) =>
  new RpcError(METHOD_NOT_FOUND, `method not found: ${method.slice(0, TOOL_NAME_SHOWN_MAX)}`);

/** What the log says of a call: the tool, and the code of its failure. */
function lineOf(tool: string, { isError, content }: CallToolResult): LogLine {
  if (isError !== true) return { level: 'debug', data: { message: `${tool} answered`, tool } };
  const [body] = content;
  const { code } = JSON.parse(body?.type === 'text' ? body.text : '{}') as { readonly code?: string };
  return { level: 'warning', data: { message: `${tool} failed: ${code}`, tool, code } };
}

/** Reports the progress of a call to a client that asked for it; a number only ever grows. */
function reporterFor(extra: Extra) {
  const progressToken = extra._meta?.progressToken;
  if (progressToken === undefined) return null;
  let last = Number.NEGATIVE_INFINITY;
  let sending: Promise<void> = Promise.resolve();
  const report: ProgressReport = (progress, total) => {
    if (progress <= last || extra.signal.aborted) return;
    last = progress;
    const reported = { progressToken, progress, ...(total === null ? {} : { total }) };
    sending = notify(extra, { method: 'notifications/progress', params: reported });
  };
  return { report, sent: () => sending };
}

/** As a client names it in the message, else in the request that carries it. */
function traceparentOf({ _meta, requestInfo }: Extra): string | undefined {
  const named = _meta?.['traceparent'] ?? requestInfo?.headers['traceparent'];
  return typeof named === 'string' ? named : undefined;
}

/** A client that is gone hears nothing. */
const notify = (extra: Extra, notification: ServerNotification): Promise<void> =>
  extra.sendNotification(notification).catch(() => undefined);
