import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ProcessMesh } from '../mesh/processes/process-mesh.js';
import type { ProcessNode } from '../mesh/processes/process-node.js';
import { KEY } from './browser.js';

export const ROOT = 'ai:root';
export type Fields = Readonly<Record<string, unknown>>;

/** Who calls, and which node. */
interface From {
  readonly agent?: string;
  readonly node?: number;
}

/** Real nodes of a mesh that demand a key, with an admin, and clients beside the browser. */
export class ConsoleMesh {
  private constructor(readonly mesh: ProcessMesh) {}

  static async open(
    names: readonly string[] = ['one', 'two', 'three'],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<ConsoleMesh> {
    const mesh = new ProcessMesh();
    for (const name of names) {
      const node = await mesh.make();
      node.settings = { SVC_API_KEY: KEY, SVC_ADMIN_AGENT_IDS: ROOT, ...settings };
      await mesh.join(node, ['--name', name]);
      await node.start();
    }
    return new ConsoleMesh(mesh);
  }

  node(number: number): ProcessNode {
    return this.mesh.nodes[number]!;
  }

  /** Where the console of a node is. */
  origin(number = 0): string {
    return new URL(this.node(number).base).origin;
  }

  /** Asks a node as another client does, which must be answered. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    { agent = 'ai:alice', node = 0 }: From = {},
  ): Promise<Record<string, unknown>> {
    const answer = await fetch(`${this.node(node).base}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-api-key': KEY, 'x-agent-id': agent },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  /** Stores a memory that all see; answers its id. */
  async store(title: string, more: Fields = {}, from: From = {}): Promise<string> {
    const shared = { namespace: 'team/alpha', scope: 'collective', force: true };
    const body = { title, content: `about ${title}`, ...shared, ...more };
    return String((await this.send('POST', '/memories', body, from))['id']);
  }

  /** Calls tools over MCP as an agent. */
  async tools(agent: string, calls: readonly (readonly [string, Fields])[]): Promise<readonly Fields[]> {
    const client = new Client({ name: 'another client', version: '1.0' });
    const headers = { 'x-api-key': KEY, 'x-agent-id': agent };
    const url = new URL(`${this.origin()}/mcp?profile=full`);
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never);
    const answers: Fields[] = [];
    for (const [name, args] of calls) {
      const { content, isError } = await client.callTool({ name, arguments: args });
      const { text } = (content as readonly { readonly text: string }[])[0]!;
      assert.notEqual(isError, true, `${name}: ${text}`);
      answers.push(JSON.parse(text) as Fields);
    }
    await client.close();
    return answers;
  }

  /** Cuts a node off from the others while something happens, then waits until all are equal. */
  async apart(number: number, work: () => Promise<unknown>): Promise<void> {
    this.mesh.isolate(this.node(number), { kind: 'reset' });
    await work();
    await this.mesh.drain(60_000);
  }

  /** Everything that the daemons wrote to their logs. */
  logs(): string {
    return this.mesh.nodes.map(({ daemon }) => daemon?.errors() ?? '').join('\n');
  }

  close(): Promise<void> {
    return this.mesh.close();
  }
}
