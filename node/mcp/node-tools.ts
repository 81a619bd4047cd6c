import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Profile } from '../bindings/profile.js';
import type { LocalIdentity } from '../identity/local-caller.js';
import type { ToolRunner } from './call-tool.js';
import type { CaptureNag } from './capture-nag.js';
import type { Tools } from './mcp-server.js';

/** The answer of every tool while the node cannot be opened; the message says what the operator can do. */
function unavailable(error: unknown): CallToolResult {
  const failure = {
    error: `the memory could not be opened: ${(error as Error).message}`,
    code: 'UNAVAILABLE',
  };
  return { content: [{ type: 'text', text: JSON.stringify(failure) }], isError: true };
}

/** What a session runs its tools with. */
export interface SessionRunner extends ToolRunner {
  /** Rejects when neither a daemon answers nor this process can open the memory. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** What the first call needs, and a session without calls does not. */
const load = () =>
  Promise.all([
    import('../operations/registry.js'),
    import('../bindings/profile.js'),
    import('./call-tool.js'),
  ]);

/**
 * The tools of a node, which opens in the background. Calls run one at a time, in the order in which they arrive, so
 * that a client that sends a store and a recall together finds what it stored.
 */
export class NodeTools implements Tools {
  private last: Promise<unknown> = Promise.resolve();
  private loaded: ReturnType<typeof load> | null = null;

  constructor(
    private readonly profile: Profile,
    private readonly identity: LocalIdentity,
    private readonly runner: SessionRunner,
    private readonly nag: CaptureNag,
  ) {}

  /** Starts to open the node; a failure shows at the next call, which tries again. */
  warmUp(): void {
    this.runner.open().catch(() => undefined);
  }

  async list() {
    const [{ OPERATIONS }, { listedTools }, { toolRow }] = await Promise.all([
      import('../operations/registry.js'),
      import('../bindings/profile.js'),
      import('../bindings/tool-list.js'),
    ]);
    return listedTools(OPERATIONS, this.profile).map(toolRow);
  }

  async call(
    name: string,
    args: Record<string, unknown>,
    clientName: string | null,
    cancelled: AbortSignal,
  ): Promise<CallToolResult | null> {
    const turn = this.last.then(() =>
      cancelled.aborted ? null : this.callNow(name, args, clientName, cancelled),
    );
    this.last = turn.catch(() => undefined);
    return turn;
  }

  /** Closes the node if it was opened, after the current call. */
  async close(): Promise<void> {
    await this.last;
    await this.runner.close();
  }

  private async callNow(
    name: string,
    args: Record<string, unknown>,
    clientName: string | null,
    cancelled: AbortSignal,
  ) {
    this.loaded ??= load();
    const [{ OPERATIONS }, { callableTool }, { callTool }] = await this.loaded;
    const operation = callableTool(OPERATIONS, this.profile, name);
    if (operation === undefined) return null;
    try {
      await this.runner.open();
    } catch (error) {
      return unavailable(error as Error);
    }
    const result = await callTool(operation, args, {
      runner: this.runner,
      identity: this.identity,
      clientName,
      profile: this.profile,
      cancelled,
    });
    const named = typeof args['agent_id'] === 'string' ? args['agent_id'] : '';
    const reminder = this.nag.after(operation, named);
    return reminder === null
      ? result
      : { ...result, content: [...result.content, { type: 'text' as const, text: reminder }] };
  }
}
