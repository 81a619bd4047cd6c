import { after, before, describe, it } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { cleanEnvironment, MAIN, temporaryFolder } from '../../support/daemon-process.js';
import { ModelServer } from '../../support/model-server.js';
import { asking, CALLER, EveryTool, modelSays, VERSIONS } from './every-tool.js';

describe('every tool over standard input and output', () => {
  let model: ModelServer;
  before(async () => {
    model = await ModelServer.start('compatible');
    model.says = modelSays;
  });
  after(() => model.close());

  const connect = async (home: string, agent: string, version: string) => {
    const client = new Client({ name: 'a test', version: '1.0' });
    const env = { ...model.environment, SVC_AGENT_ID: agent, SVC_ADMIN_AGENT_IDS: CALLER };
    const transport = new StdioClientTransport({
      ...{ command: process.execPath, args: [MAIN, 'mcp', '--profile', 'full'], stderr: 'inherit' },
      env: cleanEnvironment(home, { ...env, SVC_EMBED_BACKEND: 'builtin' }) as Record<string, string>,
    });
    await client.connect(asking(transport, version));
    return client;
  };

  for (const version of VERSIONS) {
    it(`answers as version ${version} promises`, async () => {
      const home = temporaryFolder('every-tool');
      const client = await connect(home, CALLER, version);
      const other = await connect(home, 'ai:other', version);
      try {
        await new EveryTool(client, other, version).all();
      } finally {
        await client.close();
        await other.close();
      }
    });
  }
});
