import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ATOM_TOKENS_MIN } from '../../protocol/lifecycle/atom-limits.js';
import { type ChatModel, ChatServer, installChatModel } from '../support/chat-model.js';
import { freePort, startDaemonProcess, temporaryFolder } from '../support/daemon-process.js';
import { until } from '../support/wait.js';
import { McpProcess, textOf } from '../surface/mcp/mcp-process.js';

type Fields = Record<string, unknown>;
type Say = (line: string) => void;

const AGENT = 'ai:alice';

/**
 * What a small model writes is not judged: a tool succeeds, or says that the answer cannot be used or, on a busy machine, that it
 * is late.
 */
const OUTCOMES: readonly unknown[] = [null, 'LLM_FAILED', 'LLM_UNAVAILABLE'];

/** Seconds of a small model on a busy machine. */
const JOB_MS = 240_000;

const NOTES = [
  [
    'Deploy window of payments',
    'The payment service cannot start while its database migrates. Deploy it on Sundays at two. Alice is on call then, and Bob reads the logs.',
  ],
  ['Deploy window of payments, new', 'The payment service is deployed on Mondays at nine, never on Sundays.'],
] as const;

/** Makes a note longer than the shortest atom. */
const LONG =
  'The gateway in front of it is restarted by Carol. Its certificate ends in March, and Dan renews it a week before.';

describe('a real chat model', { timeout: 1_800_000 }, () => {
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
      const home = temporaryFolder('real-model');
      const env = {
        ...{ SVC_LLM_BACKEND: backend, SVC_LLM_BASE_URL: server.url, SVC_LLM_MODEL: 'smollm2' },
        SVC_AUTONOMOUS_HOOKS: '1',
      };
      const daemon = await startDaemonProcess(home, await freePort(), env);
      const mcp = new McpProcess({
        ...{ home, args: ['--profile', 'full'], env: { ...env, SVC_AGENT_ID: AGENT } },
        answerWithinMs: JOB_MS,
      });
      const say: Say = (line) => context.diagnostic(`${backend}: ${line}`);
      try {
        const tools = new Tools(mcp, daemon.base, say);
        await tools.useAll();
        await tools.jobsEnd();
      } finally {
        await mcp.end();
        await daemon.end('SIGTERM');
      }
    });
});

/** Uses the tools that ask a model. */
class Tools {
  private calls = 0;

  constructor(
    private readonly mcp: McpProcess,
    private readonly base: string,
    private readonly say: Say,
  ) {}

  async useAll(): Promise<void> {
    const [one, two] = await this.storeNotes();
    await this.tool('memory_auto_tag', { id: one });
    const expanded = await this.tool('memory_expand_query', { query: 'deploy window' });
    if (expanded !== null) assert.ok((expanded['expanded_terms'] as unknown[]).length <= 20);
    const compared = await this.tool('memory_detect_contradiction', { id_a: one, id_b: two });
    if (compared !== null) assert.equal(typeof compared['contradicts'], 'boolean');
    await this.tool('memory_session_start', {});
    await this.tool('memory_ingest_multistep', { content: NOTES[0][1] });
    await this.atomise();
    await this.writePersona([one!, two!]);
    const joined = await this.tool('memory_consolidate', {
      ...{ ids: await this.storeNotes(' again'), title: 'Deploy windows', use_llm: true },
    });
    if (joined !== null) assert.notEqual(joined['content'], '');
    await this.overHttp('/auto_tag', { title: NOTES[0][0], content: NOTES[0][1] });
    await this.overHttp('/expand_query', { query: 'deploy window' });
  }

  /** The tags after each store are a job, which the model does or fails. */
  async jobsEnd(): Promise<void> {
    const ran = async () => {
      const text = await (await fetch(`${this.base}/metrics`)).text();
      return /svc_job_runs_total\{type="auto_tag",outcome="[a-z]+"\} [1-9]/.test(text);
    };
    const tookMs = await until('a job asks the model', ran, { withinMs: JOB_MS, everyMs: 500 });
    this.say(`job after ${(tookMs / 1000).toFixed(1)} s`);
    const text = await (await fetch(`${this.base}/metrics`)).text();
    assert.match(text, /svc_model_requests_total\{feature="[a-z_]+",outcome="ok"\} [1-9]/);
  }

  private async storeNotes(suffix = ''): Promise<string[]> {
    const ids: string[] = [];
    for (const [title, content] of NOTES) {
      const stored = await this.tool('memory_store', { title: `${title}${suffix}`, content });
      ids.push(String(stored!['id']));
    }
    return ids;
  }

  private async atomise(): Promise<void> {
    const content = `${NOTES[0][1]} ${NOTES[1][1]} ${LONG}`;
    const { id } = (await this.tool('memory_store', { title: 'All of payments', content }))!;
    const split = await this.tool('memory_atomise', { memory_id: id, max_atom_tokens: ATOM_TOKENS_MIN });
    // A small model may find one statement only.
    if (split === null || split['source_too_small'] === true) return;
    const memory = (await this.tool('memory_get', { id }))!;
    assert.equal(memory['atomised_into'], (split['atom_ids'] as unknown[]).length);
  }

  private async writePersona(sources: readonly string[]): Promise<void> {
    const fields = { title: 'What Alice does', content: 'Alice deploys payments.', entity_id: 'alice' };
    await this.tool('memory_reflect', { source_ids: sources, ...fields });
    const written = await this.tool('memory_persona_generate', { entity_id: 'alice' });
    if (written === null) return;
    const { persona } = (await this.tool('memory_persona', { entity_id: 'alice' }))! as { persona: Fields };
    assert.equal(persona['version'], 1);
  }

  /** What a tool answers; null where the model failed it. */
  private async tool(name: string, fields: Fields): Promise<Fields | null> {
    const began = performance.now();
    this.calls += 1;
    const message = await this.mcp.call(this.calls, name, { ...fields, ...FORMATS[name] });
    const isError = (message.result as { isError?: boolean }).isError === true;
    return this.judged(name, began, JSON.parse(textOf(message)) as Fields, isError);
  }

  private async overHttp(path: string, fields: Fields): Promise<Fields | null> {
    const began = performance.now();
    const answer = await fetch(`${this.base}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-agent-id': AGENT },
      body: JSON.stringify(fields),
    });
    assert.ok([200, 502, 503].includes(answer.status));
    return this.judged(`POST ${path}`, began, (await answer.json()) as Fields, !answer.ok);
  }

  private judged(what: string, began: number, value: Fields, isError: boolean): Fields | null {
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    this.say(`${what}: ${isError ? 'failed' : 'ok'} in ${seconds} s: ${JSON.stringify(value).slice(0, 200)}`);
    const code = isError ? value['code'] : null;
    assert.ok(OUTCOMES.includes(code), JSON.stringify(value));
    return isError ? null : value;
  }
}

/** Tools whose answer is a table unless JSON is asked for. */
const FORMATS: Readonly<Record<string, Fields>> = { memory_session_start: { format: 'json' } };
