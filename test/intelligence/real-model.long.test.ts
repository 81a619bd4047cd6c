import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type ChatModel, ChatServer, installChatModel } from '../support/chat-model.js';
import {
  type DaemonProcess,
  freePort,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';

type Fields = Record<string, unknown>;

const AGENT = 'ai:alice';

/** What a small model writes is not judged: a tool succeeds, or says that the answer cannot be used. */
const OUTCOMES: readonly number[] = [200, 201, 502];

describe('a real chat model', { timeout: 900_000 }, () => {
  let model: ChatModel;
  let server: ChatServer | null = null;
  before(async () => {
    model = await installChatModel();
    if (model.problem === null) server = await ChatServer.start(model);
  });
  after(() => server?.close());

  for (const backend of ['local-native', 'compatible'])
    it(`serves every tool as ${backend}`, async (context) => {
      if (server === null) return context.skip(model.problem ?? 'no server');
      const settings = { SVC_LLM_BACKEND: backend, SVC_LLM_BASE_URL: server.url, SVC_LLM_MODEL: 'smollm2' };
      const daemon = await startDaemonProcess(temporaryFolder('real-model'), await freePort(), settings);
      try {
        await useTools(daemon, (line) => context.diagnostic(`${backend}: ${line}`));
      } finally {
        await daemon.end('SIGTERM');
      }
    });
});

async function useTools(daemon: DaemonProcess, say: (line: string) => void): Promise<void> {
  const post = async (path: string, body: Fields) => {
    const began = performance.now();
    const answer = await fetch(`${daemon.base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': AGENT },
      body: JSON.stringify(body),
    });
    const value = (await answer.json()) as Fields;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    say(`${path}: ${answer.status} in ${seconds} s: ${JSON.stringify(value).slice(0, 160)}`);
    assert.ok(OUTCOMES.includes(answer.status), JSON.stringify(value));
    if (answer.status === 502) assert.equal(value['code'], 'LLM_FAILED');
    return value;
  };
  const content =
    'The payment service cannot start while its database migrates. Deploy it on Sundays at two.';
  const stored = await post('/memories', { title: 'Deploy window of payments', content });
  assert.equal(typeof stored['id'], 'string');
  await post('/auto_tag', { memory_id: stored['id'] });
}
