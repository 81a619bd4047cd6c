import type { HttpClient } from '../../node/client/http-client.js';
import { createClient } from '../../node/client/index.js';

/** What a benchmark asks a daemon beside what it measures: a failure ends it, and nothing is tried again. */
export const clientOf = (port: number, agentId: string): HttpClient =>
  createClient({ url: `http://127.0.0.1:${port}`, agentId, retries: 0 });
