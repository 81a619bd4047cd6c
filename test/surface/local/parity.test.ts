import assert from 'node:assert/strict';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort, startDaemonProcess, temporaryFolder } from '../../support/daemon-process.js';
import fc from '../../support/properties.js';
import { openBeside } from '../../support/test-store.js';
import { run } from '../cli/cli-process.js';
import { step } from '../drawn-steps.js';
import { McpProcess } from '../mcp/mcp-process.js';
import { openLocalSurfaces, type Surfaces } from '../three-surfaces.js';

type Row = Record<string, unknown>;

describe('drawn calls in this process and in the daemon', { timeout: 240_000 }, () => {
  let surfaces: Surfaces;
  before(async () => {
    surfaces = await openLocalSurfaces();
  });
  after(() => surfaces?.close());

  it('give equal results, errors and databases over MCP and on the command line', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 12 }), async (steps) => {
        await surfaces.reset();
        for (const { operation, input } of steps) {
          const [mcp, servedMcp, cli, servedCli] = await surfaces.run(operation, input);
          assert.deepEqual(servedMcp, mcp, `MCP differs in ${operation} ${JSON.stringify(input)}`);
          assert.deepEqual(servedCli, cli, `CLI differs in ${operation} ${JSON.stringify(input)}`);
        }
        const [mcp, servedMcp, cli, servedCli] = surfaces.databases();
        assert.deepEqual(servedMcp, mcp);
        assert.deepEqual(servedCli, cli);
      }),
      { numRuns: Number(process.env['PARITY_RUNS'] ?? 3), endOnFailure: true },
    );
  });
});

const ALICE = 'ai:alice';
const BOB = 'ai:bob';
const QUOTA = 30;
const ENVIRONMENT = { SVC_MAX_MEMORIES_PER_DAY: String(QUOTA), SVC_DB_SYNCHRONOUS: 'OFF' };

const CONFIG = `[ttl]
short_ttl_secs = 0
[storage]
default_namespace = "team/usual"
[agents.defaults.recall_scope]
namespaces = ["team", "team/usual"]
since = "7d"
tier = "mid"
limit = 3
`;

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)/g;
const VARYING = new Set(['score', 'retry_after_secs', 'db_size_bytes', 'current_storage_bytes', 'pid']);

/** A home with the same keys as the others, whose processes are told the same things. */
class Home {
  readonly path = temporaryFolder('local-parity');
  /** What was answered, step by step, without ids and times. */
  readonly told: unknown[] = [];
  private readonly servers = new Map<string, McpProcess>();
  private readonly ids: string[] = [];
  private request = 0;

  /** Ids as the steps named them first, instants as a word, folders of the home as one. */
  private comparable(value: unknown): unknown {
    if (typeof value === 'string') {
      return value
        .replaceAll(this.path, '<home>')
        .replace(INSTANT, '<instant>')
        .replace(/:pid-\d+(-\w+)?/g, ':pid')
        .replace(UUID, (id) => {
          if (!this.ids.includes(id)) this.ids.push(id);
          return `#${this.ids.indexOf(id)}`;
        });
    }
    if (Array.isArray(value)) return value.map((item) => this.comparable(item));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !VARYING.has(key))
        .map(([key, member]) => [key, this.comparable(member)]),
    );
  }

  /** Sends a store whose arguments are a text of JSON, through the server of an agent that has called before. */
  raw(agent: string, args: string): void {
    const head = `{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{"name":"memory_store","arguments":`;
    this.servers.get(agent)!.raw(`${head}${args}}}\n`);
  }

  async rawAnswer(agent: string): Promise<void> {
    const { result, error } = await this.servers.get(agent)!.answer('raw');
    this.told.push(this.comparable({ result, error }));
  }

  /** Calls a tool as a process of an agent; null is a process without SVC_AGENT_ID. */
  async tool(agent: string | null, name: string, args: Row): Promise<Row> {
    const key = agent ?? '';
    const env = { ...ENVIRONMENT, ...(agent === null ? {} : { SVC_AGENT_ID: agent }) };
    let server = this.servers.get(key);
    if (server === undefined) {
      server = new McpProcess({ home: this.path, args: ['--profile', 'full'], env });
      this.servers.set(key, server);
      await server.request('hello', 'initialize', {
        protocolVersion: '2024-11-05',
        capabilities: {},
        clientInfo: { name: 'parity', version: '1' },
      });
    }
    this.request += 1;
    const { result, error } = await server.call(this.request, name, args);
    const content = (result?.['content'] as { text: string }[] | undefined)?.[0]?.text;
    const body = content?.startsWith('{') === true ? (JSON.parse(content) as Row) : { text: content };
    const answer = error === undefined ? { failed: result?.['isError'] === true, ...body } : { ...error };
    this.told.push([agent, name, this.comparable(args), this.comparable(answer)]);
    return answer;
  }

  /** Runs a command to its end. */
  async command(env: Record<string, string>, ...args: string[]): Promise<Row> {
    const { code, out, err } = await run(this.path, [...args, '--json'], { env: { ...ENVIRONMENT, ...env } });
    const text = code === 0 ? out : err;
    const body = text.startsWith('{') ? (JSON.parse(text) as Row) : { text };
    this.told.push([args.slice(0, 2), this.comparable({ code, ...body })]);
    return body;
  }

  /** Who attested each row, and with which signature, by its title. */
  attestations(): Row[] {
    const db = openBeside({ home: this.path });
    const rows = db
      .prepare('SELECT title, metadata, write_signature IS NOT NULL AS signed FROM memories ORDER BY rid')
      .all() as Row[];
    db.close();
    return rows.map(({ title, metadata, signed }) => {
      const { agent_id, attest_level, attested_by } = JSON.parse(String(metadata)) as Row;
      return this.comparable({ title, agent_id, attest_level, attested_by, signed }) as Row;
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.servers.values()].map((server) => server.end()));
  }
}

/** Whom private rows show themselves to. */
async function tenancy(home: Home): Promise<void> {
  const store = (agent: string | null, title: string, more: Row = {}) =>
    home.tool(agent, 'memory_store', { title, content: `words of ${title}`, namespace: 'team', ...more });
  const open = await store(ALICE, 'open');
  const secret = await store(ALICE, 'secret', { scope: 'private' });
  await store(BOB, 'secret', { scope: 'private' });
  await store(BOB, 'in the name of another', { agent_id: ALICE, scope: 'private' });
  await store(null, 'of nobody', { scope: 'private' });
  for (const agent of [ALICE, BOB, null]) {
    const read = (name: string, args: Row) => home.tool(agent, name, args);
    for (const { id } of [open, secret]) await read('memory_get', { id });
    await read('memory_list', { format: 'json' });
    await read('memory_list', { agent_id: ALICE, format: 'json' });
    await read('memory_search', { query: 'words', format: 'json' });
    await read('memory_recall', { context: 'words of secret', format: 'json' });
    await read('memory_stats', {});
    await read('memory_export', {});
    await read('memory_quota_status', { agent_id: ALICE });
  }
  for (const name of ['memory_update', 'memory_promote', 'memory_delete']) {
    await home.tool(BOB, name, { id: secret['id'], ...(name === 'memory_update' ? { title: 'taken' } : {}) });
  }
  await home.tool(BOB, 'memory_consolidate', {
    ids: [open['id'], secret['id']],
    title: 'both',
    summary: 's',
  });
  await home.tool(BOB, 'memory_archive_list', {});
}

/** What goes wrong, and how that is said. */
async function refusals(home: Home): Promise<void> {
  const store = (args: Row) => home.tool(ALICE, 'memory_store', args);
  await store({ title: 'twice', content: 'one' });
  await store({ title: 'for ever', content: 'one', tier: 'short' });
  await home.tool(ALICE, 'memory_search', { query: 'ever', format: 'json' });
  await home.tool(ALICE, 'memory_recall', { context: 'words', session_default: true, format: 'json' });
  await store({ title: 'twice', content: 'two' });
  await store({ title: 'twice', content: 'three', on_conflict: 'merge' });
  await store({ title: 'twice', content: 'four', on_conflict: 'version' });
  await store({ title: ' ', content: 'x' });
  await store({ title: 'no content' });
  await store({ title: 't', content: 'x'.repeat(65_537) });
  await store({ title: 't', content: 'c', tier: 'eternal' });
  await store({ title: 't', content: 'c', further: 1 });
  await store({ title: 't', content: 'c', agent_id: 'no agent' });
  await store({ title: 't', content: 'c', signature: 'AAAA', created_at: '2026-01-01T00:00:00Z' });
  await store({ title: 't', content: 'c', created_at: '2026-01-01T00:00:00Z' });
  await store({ title: 't', content: 'c', recall_id: 'none' });
  await home.tool(ALICE, 'memory_get', { id: 'not-stored' });
  await home.tool(ALICE, 'memory_nothing', {});
  await home.tool(ALICE, 'memory_recall', { context: 'x', limit: 'many' });
  await home.command({}, 'store', '--title', 't', '--content', 'c', '--tier', 'eternal');
  await home.command({}, 'get', 'not-stored');
  await home.command({ SVC_AGENT_ID: 'no agent' }, 'list');
}

/** Signatures with the keys of agents, and what is refused without them. */
async function signatures(home: Home): Promise<void> {
  const must = { SVC_REQUIRE_AGENT_ATTESTATION: '1' };
  const store = (title: string, env: Record<string, string>, ...more: string[]) =>
    home.command(env, 'store', '--title', title, '--content', 'c', ...more);
  await home.command({}, 'agents', 'register', '--agent-id', 'ai:signer', '--agent-type', 'ai:test');
  await store('without a key', must, '--sign', '--agent-id', 'ai:nokey');
  await store('without a name', must, '--sign');
  const { public_key } = await home.command({}, 'identity', 'export-pub', '--agent-id', 'ai:signer');
  await store('not bound yet', must, '--sign', '--agent-id', 'ai:signer');
  await home.command({}, 'agents', 'bind-key', '--agent-id', 'ai:signer', '--pubkey', String(public_key));
  await store('signed', must, '--sign', '--agent-id', 'ai:signer');
  await store('signed in its own process', { ...must, SVC_AGENT_ID: 'ai:signer' }, '--sign');
  await store('not signed', must, '--agent-id', 'ai:signer');
  await store('not signed, and that is permitted', {}, '--agent-id', 'ai:signer');
  await store('by the machine', must);
  await store('in the name of another', { ...must, SVC_AGENT_ID: BOB }, '--agent-id', ALICE);
}

/** A call of many mebibytes. */
async function lengths(home: Home): Promise<void> {
  // Short in the client's line, and longer than a call may be when it is written again.
  const numbers = JSON.stringify(Array.from({ length: 900_000 }, () => 0)).replaceAll('0', '1e20');
  home.raw(ALICE, `{"title":"long","content":"c","metadata":{"list":${numbers}}}`);
  await home.rawAnswer(ALICE);
}

/** One more store than the quota permits. */
async function quotas(home: Home): Promise<void> {
  for (let n = 0; n <= QUOTA; n += 1) {
    await home.tool('ai:busy', 'memory_store', { title: `busy ${n}`, content: 'c', namespace: 'busy' });
  }
  await home.tool('ai:busy', 'memory_quota_status', { agent_id: 'ai:busy', namespace: 'busy' });
}

describe('the same calls in this process and in the daemon', { timeout: 240_000 }, () => {
  const homes = [new Home(), new Home()] as const;
  const [own, served] = homes;
  let daemon: Awaited<ReturnType<typeof startDaemonProcess>>;

  before(async () => {
    // One machine and one agent with a key: then also the signatures can be compared.
    await run(own.path, ['identity', 'generate', '--agent-id', 'ai:signer']);
    await run(own.path, ['stats']);
    cpSync(join(own.path, 'keys'), join(served.path, 'keys'), { recursive: true });
    // Settings of the caller travel with its calls, also those that are null in the program.
    for (const { path } of homes) writeFileSync(join(path, 'config.toml'), CONFIG, { mode: 0o600 });
    daemon = await startDaemonProcess(served.path, await freePort(), ENVIRONMENT);
  });
  after(async () => {
    await Promise.all(homes.map((home) => home.close()));
    await daemon?.end('SIGTERM');
  });

  it('are run where this test believes', async () => {
    const writers = await Promise.all(homes.map((home) => home.tool(ALICE, 'memory_capabilities', {})));
    assert.deepEqual(
      writers.map((answer) => /"(?:daemon|process)"/.exec(JSON.stringify(answer))?.[0]),
      ['"process"', '"daemon"'],
    );
    for (const { told } of homes) told.length = 0;
  });

  for (const [name, act, expected] of [
    ['the visibility of private rows', tenancy, ['NOT_FOUND']],
    ['refusals', refusals, ['VALIDATION_FAILED', 'CONFLICT', 'ATTESTATION_FAILED', 'UNKNOWN_TOOL']],
    ['signatures', signatures, ['ATTESTATION_FAILED', 'VALIDATION_FAILED']],
    ['quotas', quotas, ['QUOTA_EXCEEDED']],
    ['a call that is too long', lengths, ['VALIDATION_FAILED']],
  ] as const) {
    it(`agree on ${name}`, async () => {
      await Promise.all(homes.map((home) => act(home)));
      const text = JSON.stringify(own.told);
      for (const code of expected) assert.ok(text.includes(code), `${code} was not met: ${text}`);
      own.told.forEach((one, at) => {
        assert.deepEqual(served.told[at], one);
      });
      assert.equal(served.told.length, own.told.length);
      for (const { told } of homes) told.length = 0;
    });
  }

  it('attest rows alike, by the same keys', () => {
    const [alone, inDaemon] = [own.attestations(), served.attestations()];
    assert.deepEqual(inDaemon, alone);
    const of = (title: string) => alone.find((row) => row['title'] === title)!;
    assert.equal(of('open')['attest_level'], 'agent_attested');
    assert.notEqual(of('open')['attested_by'], undefined);
    assert.equal(of('signed')['attest_level'], 'agent_attested');
    assert.equal(of('signed')['signed'], 1);
    const named = alone.find(
      (row) => row['title'] === 'in the name of another' && row['agent_id'] === ALICE,
    )!;
    assert.equal(named['attest_level'], 'claimed');
  });
});
