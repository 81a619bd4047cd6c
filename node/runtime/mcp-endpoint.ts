import type { McpRequest } from '../bindings/mcp-request.js';
import type { McpRoute } from '../http/mcp-route.js';
import type { HttpSessions } from '../mcp/http-sessions.js';
import type { Services } from '../pipeline/call.js';
import { systemClock, systemRandom, systemScheduler } from '../seams.js';

/** MCP over HTTP; its library is loaded for the first request, because most nodes never get one. */
export class McpEndpoint implements McpRoute {
  readonly kind = 'mcp';
  readonly name = 'mcp';
  private sessions: Promise<HttpSessions> | null = null;

  constructor(private readonly services: Services) {}

  readonly answer = async (request: McpRequest): Promise<Response> => {
    this.sessions ??= this.open();
    return (await this.sessions).answer(request);
  };

  async close(): Promise<void> {
    await (await this.sessions)?.close();
  }

  private async open(): Promise<HttpSessions> {
    const library = await import('../mcp/http-sessions.js');
    const { services } = this;
    return new library.HttpSessions({
      services,
      clock: systemClock,
      random: systemRandom,
      scheduler: systemScheduler,
    });
  }
}
