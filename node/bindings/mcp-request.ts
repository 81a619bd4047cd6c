import type { IncomingHttpHeaders } from 'node:http';
import type { TokenGrant } from '../identity/http-caller.js';

/** A request of an MCP client over HTTP, which has passed the gates of HTTP. */
export interface McpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: IncomingHttpHeaders;
  /** The profile that the address names. */
  readonly profile: string | null;
  /** The fingerprint of the client's certificate, where one is required. */
  readonly client: string | null;
  /** What the token of the request permits; absent without one. */
  readonly grant?: TokenGrant | undefined;
  /** Null without a body. */
  readonly message: Readonly<Record<string, unknown>> | null;
  /** Resolves when the answer has been written, or its client is gone. */
  readonly answered: Promise<void>;
}
