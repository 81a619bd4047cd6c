import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemCrypto } from '../../node/seams.js';
import { event } from './wait.js';

/** What the server does with a request. */
export type Mood =
  | 'fine'
  | 'hang'
  | 'wrong-dimension'
  | 'rate-limited'
  | 'broken'
  | 'garbage'
  | 'huge'
  | 'redirect'
  | 'short'
  | 'zero'
  | 'no-such-model';

export interface Asked {
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Words that mean the same to the server's model. */
const SAME: Readonly<Record<string, string>> = {
  cat: 'cat',
  kitten: 'cat',
  sleeps: 'sleep',
  naps: 'sleep',
  sofa: 'couch',
  couch: 'couch',
  猫: 'cat',
};
const HUGE_BYTES = 17 * 1024 * 1024;

/**
 * An embedding service over HTTP that speaks one of the two shapes; its model adds up its words, and knows a few words
 * that mean the same.
 */
export class EmbeddingServer {
  readonly asked: Asked[] = [];
  /** With `zero`, a text that says that it is empty has a vector of zeros. */
  mood: Mood = 'fine';
  /** Milliseconds before each answer. */
  delayMs = 0;
  /** A request with a text that contains this is refused with 400. */
  refuses: string | null = null;
  retryAfter: string | null = null;

  private constructor(
    private readonly server: Server,
    private readonly shape: 'native' | 'compatible',
    readonly dim: number,
    private readonly key: string | null,
  ) {
    server.on('request', (request, response) => void this.serve(request, response));
  }

  static async start(
    shape: 'native' | 'compatible',
    { dim = 32, key = null, port = 0 }: { dim?: number; key?: string | null; port?: number } = {},
  ): Promise<EmbeddingServer> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await event('the embedding server listens', server, 'listening');
    return new EmbeddingServer(server, shape, dim, key);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await event('the embedding server closes', this.server, 'close');
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    const { authorization } = request.headers;
    this.asked.push({ path: request.url ?? '', authorization, body });
    if (this.mood === 'hang') return;
    if (this.delayMs > 0) await new Promise((resume) => setTimeout(resume, this.delayMs));
    this.answer(body['input'] as readonly string[], authorization, response);
  }

  private answer(
    texts: readonly string[],
    authorization: string | undefined,
    response: ServerResponse,
  ): void {
    const refuse = (status: number, headers: Record<string, string> = {}) =>
      response.writeHead(status, headers).end(`{"error":"${texts[0]}"}`);
    if (this.key !== null && authorization !== `Bearer ${this.key}`) return void refuse(401);
    const { refuses } = this;
    if (refuses !== null && texts.some((text) => text.includes(refuses))) return void refuse(400);
    switch (this.mood) {
      case 'rate-limited':
        return void refuse(429, this.retryAfter === null ? {} : { 'retry-after': this.retryAfter });
      case 'broken':
        return void refuse(500);
      case 'no-such-model':
        return void refuse(400);
      case 'redirect':
        return void refuse(307, { location: 'http://127.0.0.1:9/elsewhere' });
      case 'garbage':
        return void response.end('<html>not what you asked for</html>');
      case 'huge':
        return void response.end(`{"embeddings":[[${'0,'.repeat(HUGE_BYTES / 2)}0]]}`);
      default:
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(this.shaped(this.vectors(texts))));
    }
  }

  private vectors(texts: readonly string[]): number[][] {
    const dim = this.mood === 'wrong-dimension' ? this.dim + 1 : this.dim;
    const vectors = texts.map((text) =>
      this.mood === 'zero' && text.includes('empty') ? Array<number>(dim).fill(0) : vectorOf(text, dim),
    );
    return this.mood === 'short' ? vectors.slice(1) : vectors;
  }

  private shaped(vectors: readonly number[][]): object {
    if (this.shape === 'native') return { embeddings: vectors };
    // The order of the entries is free.
    const data = vectors.map((embedding, index) => ({ object: 'embedding', index, embedding }));
    return { object: 'list', data: data.reverse() };
  }
}

function vectorOf(text: string, dim: number): number[] {
  const vector = Array<number>(dim).fill(0.01);
  for (const word of text.toLowerCase().match(/\p{Script=Han}|[\p{L}\p{N}]+/gu) ?? []) {
    const hash = systemCrypto.sha256Hex(SAME[word] ?? word);
    for (const from of [0, 8, 16]) vector[Number.parseInt(hash.slice(from, from + 8), 16) % dim]! += 1;
  }
  return vector;
}
