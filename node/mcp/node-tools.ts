import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { type Failure, failed, failure } from '../../protocol/base/result.js';
import type { Settings } from '../config/settings.js';
import { permittedFamilies } from '../config/tool-allowlist.js';
import { type Profile, profileName, profileOf } from '../config/tool-profile.js';
import type { Answer } from '../pipeline/answer.js';
import { CallOrder } from './call-order.js';
import type { CallContext, NodeAccess } from './call-tool.js';
import type { CaptureNag } from './capture-nag.js';
import type { Tools } from './mcp-server.js';
import type { VersionFeatures } from './protocol-version.js';

/** The answer to every call while the node cannot be opened; the message says what the operator can do. */
const unavailable = (error: unknown): Failure =>
  failure('UNAVAILABLE', `the memory could not be opened: ${(error as Error).message}`);

/** What a session reaches its node with. */
export interface SessionAccess extends NodeAccess {
  /** How a client gets the tools of this profile. */
  loads(profile: string): string;
  /** Rejects when the memory cannot be opened. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** The settings that say what a session tells of tools that it does not have. */
export type ProfileHints = Pick<Settings, 'profileHints' | 'toolAllowlist'>;

const CAPABILITIES = 'memory_capabilities';
const TOOL_NAME_SHOWN_MAX = 128;

/** What the first call needs, and a session without calls does not. */
const load = async () => {
  const [{ OPERATIONS }, { callableTool, toolNamed }, tools] = await Promise.all([
    import('../operations/registry.js'),
    import('../bindings/profile.js'),
    import('./call-tool.js'),
  ]);
  return { OPERATIONS, callableTool, toolNamed, ...tools };
};

/** Rows that were asked for, which are the same in every session; making all of them takes tens of milliseconds. */
const ROWS = new Map<string, object>();

async function listOf(profile: Profile, { annotations, structured }: VersionFeatures) {
  const [{ OPERATIONS }, { listedTools }, { toolRow }, features] = await Promise.all([
    import('../operations/registry.js'),
    import('../bindings/profile.js'),
    import('../bindings/tool-list.js'),
    import('../bindings/tool-features.js'),
  ]);
  return listedTools(OPERATIONS, profile).map((operation) => {
    const key = `${operation.name} ${annotations} ${structured}`;
    const known = ROWS.get(key);
    if (known !== undefined) return known;
    const row = {
      ...toolRow(operation),
      ...(structured ? { title: features.titleOf(operation) } : {}),
      ...(annotations ? { annotations: features.annotationsOf(operation) } : {}),
      ...(structured ? { outputSchema: features.answerSchema(operation) } : {}),
    };
    ROWS.set(key, row);
    return row;
  });
}

/** The tools of a node, which opens in the background. */
export class NodeTools implements Tools {
  private readonly order = new CallOrder();
  private loaded: ReturnType<typeof load> | null = null;

  constructor(
    readonly profile: Profile,
    readonly access: SessionAccess,
    private readonly nag: CaptureNag,
    private readonly hints: ProfileHints,
  ) {}

  /** Starts to open the node; a failure shows at the next call, which tries again. */
  warmUp(): void {
    this.access.open().catch(() => undefined);
  }

  list(features: VersionFeatures): Promise<readonly object[]> {
    return listOf(this.profile, features);
  }

  async unknown(name: string, clientName: string | null): Promise<string> {
    const plain = `unknown tool: ${name.slice(0, TOOL_NAME_SHOWN_MAX)}`;
    if (!this.hints.profileHints) return plain;
    this.loaded ??= load();
    const { OPERATIONS, toolNamed } = await this.loaded;
    const tool = toolNamed(OPERATIONS, name);
    if (tool === undefined || this.profile.includes(tool.family)) return plain;
    const caller = this.access.callerOf(toolNamed(OPERATIONS, CAPABILITIES)!, {}, clientName);
    // Who may not use a family hears nothing of it.
    if (!caller.ok) return plain;
    if (!permittedFamilies(this.hints.toolAllowlist, caller.value.agentId).includes(tool.family))
      return plain;
    const { family } = tool;
    const words = profileName(profileOf(`${this.profile.join(',')},${family}`));
    return `${plain}; it is of the family ${family}, which this session does not load: ${this.access.loads(words)}, or see its tools with memory_capabilities, family "${family}", include_schema true`;
  }

  async call(
    name: string,
    args: Record<string, unknown>,
    context: CallContext,
  ): Promise<CallToolResult | null> {
    // The time in which a call waits for writes before it counts.
    const deadlineMs = this.access.deadlineMs?.();
    this.loaded ??= load();
    const { OPERATIONS, callableTool, callTool, errorResult } = await this.loaded;
    const operation = callableTool(OPERATIONS, this.profile, name);
    if (operation === undefined) return null;
    return this.order.run(operation.effect, async () => {
      if (context.cancelled.aborted) return null;
      const closed = await this.opened();
      if (closed !== null) return errorResult(closed, context.features);
      const result = await callTool(operation, args, this, { ...context, deadlineMs });
      const named = typeof args['agent_id'] === 'string' ? args['agent_id'] : '';
      const reminder = this.nag.after(operation, named);
      return reminder === null
        ? result
        : { ...result, content: [...result.content, { type: 'text' as const, text: reminder }] };
    });
  }

  /** Runs an operation that reads, in any profile, for what is no tool: a resource, or a completion. */
  async read(name: string, input: Record<string, unknown>, context: CallContext): Promise<Answer> {
    const deadlineMs = this.access.deadlineMs?.();
    this.loaded ??= load();
    const { OPERATIONS, run } = await this.loaded;
    const operation = OPERATIONS.find((known) => known.name === name)!;
    return this.order.run('read', async () => {
      const closed = await this.opened();
      if (closed !== null) return failed(closed);
      return run(operation, { args: {}, input }, this, { ...context, deadlineMs });
    });
  }

  /** Null when the node is open; else why it is not. */
  private async opened(): Promise<Failure | null> {
    try {
      await this.access.open();
      return null;
    } catch (error) {
      return unavailable(error);
    }
  }

  /** Closes the node if it was opened, after the current calls. */
  async close(): Promise<void> {
    await this.order.settled();
    await this.access.close();
  }
}
