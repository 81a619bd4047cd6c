import { after, before, describe, it } from 'node:test';
import { temporaryFolder } from '../../support/daemon-process.js';
import { ModelServer } from '../../support/model-server.js';
import { CALLER, EveryTool, modelSays, VERSIONS } from './every-tool.js';
import { connectClient } from './mcp-session.js';

describe('every tool over standard input and output', () => {
  let model: ModelServer;
  before(async () => {
    model = await ModelServer.start('compatible');
    model.says = modelSays;
  });
  after(() => model.close());

  const connect = (home: string, agent: string, version: string) => {
    const env = { ...model.environment, SVC_AGENT_ID: agent, SVC_ADMIN_AGENT_IDS: CALLER };
    return connectClient({ home, profile: 'full', env: { ...env, SVC_EMBED_BACKEND: 'builtin' } }, version);
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
