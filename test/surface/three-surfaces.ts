import { request } from 'node:http';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Operation } from '../../node/pipeline/operation.js';
import {
  cleanEnvironment,
  type DaemonProcess,
  freePort,
  MAIN,
  startDaemonProcess,
  temporaryFolder,
} from '../support/daemon-process.js';
import { forgetStore, openBeside } from '../support/test-store.js';
import { run } from './cli/cli-process.js';

const AGENT = 'ai:parity';

/** An answer without what must differ between stores: ids stand as `#n`, instants and attestation are dropped. */
export type Outcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: unknown };

type Row = Record<string, unknown>;
type Raw = { ok: true; body: Row } | { ok: false; body: Row };

/** One equal store for each surface, and the real surface before it. */
export interface Surfaces {
  reset(): Promise<void>;
  /** Runs one operation on all; the outcomes in the order of the surfaces. */
  run(operation: string, input: Row): Promise<Outcome[]>;
  databases(): unknown[];
  close(): Promise<void>;
}

/** HTTP, MCP and the command line; the last two without a daemon. */
export const openSurfaces = () => open([new HttpSide(), new McpSide(false), new CliSide(false)]);

/** MCP and the command line, each without a daemon and with one. */
export const openLocalSurfaces = () =>
  open([new McpSide(false), new McpSide(true), new CliSide(false), new CliSide(true)]);

async function open(surfaces: readonly Side[]): Promise<Surfaces> {
  const start = () => Promise.all(surfaces.map((side) => side.start()));
  const stop = () => Promise.all(surfaces.map((side) => side.stop()));
  await start();
  return {
    reset: async () => {
      await stop();
      await start();
    },
    run: async (name, input) => {
      const operation = OPERATIONS.find((known) => known.name === name)!;
      return Promise.all(surfaces.map((side) => side.outcome(operation, input)));
    },
    databases: () => surfaces.map((side) => side.database()),
    close: async () => {
      await stop();
    },
  };
}

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Fields that name something that a step made. */
const ID_FIELDS = ['id', 'source_id', 'target_id', 'memory_id', 'source_memory_id', 'subscription_id'];

/** Operations whose answer names something new. */
const MAKES_A_ROW = new Set([
  'memory_store',
  'memory_consolidate',
  'memory_notify',
  'memory_share',
  'memory_skill_register',
  'memory_subscribe',
]);

/** What the sides share: a home of their own, and the names of the ids that they have handed out. */
abstract class Side {
  readonly home = temporaryFolder('parity');
  private readonly ids = new Map<string, string>();

  abstract start(): Promise<void>;
  abstract stop(): Promise<void>;
  protected abstract call(operation: Operation, input: Row): Promise<Raw>;

  async outcome(operation: Operation, input: Row): Promise<Outcome> {
    const raw = await this.call(operation, this.withIds(input));
    const { id = raw.body['shared_memory_id'] } = raw.body;
    if (MAKES_A_ROW.has(operation.name) && raw.ok && typeof id === 'string' && !this.ids.has(id)) {
      this.ids.set(id, `#${this.ids.size}`);
    }
    const body = this.comparable(operation.name, raw.body);
    return raw.ok ? { ok: true, value: body } : { ok: false, error: body };
  }

  database(): unknown {
    const db = openBeside({ home: this.home });
    const rows = db
      .prepare(
        `SELECT id, tier, namespace, title, content, tags, priority, confidence, memory_kind, version, metadata
         FROM memories ORDER BY rid`,
      )
      .all() as Row[];
    const operations = db
      .prepare('SELECT kind, namespace, subject FROM operations ORDER BY commit_sequence')
      .all() as Row[];
    db.close();
    return {
      rows: rows.map((row) => this.anonymous({ ...row, metadata: JSON.parse(String(row['metadata'])) })),
      operations: this.anonymous(operations),
    };
  }

  protected clean(): void {
    this.ids.clear();
    forgetStore(this.home);
  }

  private withIds(input: Row): Row {
    const { ids } = input;
    const real = (given: unknown) =>
      typeof given === 'string' && given.startsWith('#')
        ? ([...this.ids].find(([, name]) => name === given)?.[0] ?? 'not-stored-yet')
        : given;
    return {
      ...input,
      ...Object.fromEntries(
        ID_FIELDS.filter((field) => field in input).map((field) => [field, real(input[field])]),
      ),
      ...(Array.isArray(ids) ? { ids: ids.map(real) } : {}),
    };
  }

  /** The same shape for all: some surfaces wrap a memory, others answer it bare. */
  private comparable(operation: string, body: Row): unknown {
    let value: Row = body;
    if (operation === 'memory_get' && body['memory'] !== undefined) {
      value = { ...(body['memory'] as Row), links: body['links'] };
    }
    // The command line answers the whole memory beside what the others do.
    if (operation === 'memory_store' && body['content'] !== undefined) {
      value = Object.fromEntries(Object.entries(body).filter(([key]) => STORE_ANSWER.has(key)));
    }
    if (operation === 'memory_update' && body['memory'] !== undefined) value = body['memory'] as Row;
    if (operation === 'memory_quota_status' && body['quota'] !== undefined) value = body['quota'] as Row;
    if (operation === 'memory_gc' && body['collected'] !== undefined) {
      value = { expired_deleted: body['collected'] };
    }
    if (operation === 'memory_forget') value = { ...body, archived: undefined };
    if (operation === 'memory_consolidate' && body['consolidated'] !== undefined) {
      value = { id: body['id'], consolidated: body['consolidated'] };
    }
    const { recall_id, db_size_bytes, ...rest } = value;
    return this.anonymous(rest);
  }

  private anonymous(value: unknown): unknown {
    // Ids stand alone, in lists and in the sentences of errors.
    if (typeof value === 'string') return value.replace(UUID, (id) => this.ids.get(id) ?? id);
    if (Array.isArray(value)) return value.map((item) => this.anonymous(item));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key]) => !VARYING.has(key))
        .map(([key, member]) => [key, this.anonymous(member)]),
    );
  }
}

const STORE_ANSWER = new Set([
  'id',
  'tier',
  'namespace',
  'title',
  'agent_id',
  'duplicate',
  'action',
  'potential_contradictions',
  'expires_at',
  'secrets_found',
]);

/** What follows from the moment and the surface, not from the call. */
const VARYING = new Set([
  'created_at',
  'updated_at',
  'expires_at',
  'last_accessed_at',
  'archived_at',
  'original_expires_at',
  'access_count',
  'registered_at',
  'delivered_at',
  'read_at',
  'shared_at',
  // Who attested a row is part of its metadata.
  'current_storage_bytes',
  // An attested row holds more than a claimed one.
  'current_written_bytes_today',
  'last_seen_at',
  'attest_level',
  'attested_by',
  'score',
  'recall_id',
  'observed_at',
  'valid_from',
  'valid_until',
  // Whether the look beside the write was finished, or the later one has come.
  'near_duplicates',
]);

/** A side whose store a daemon serves. */
abstract class ServedSide extends Side {
  protected daemon: DaemonProcess | null = null;

  constructor(private readonly served: boolean) {
    super();
  }

  async start(): Promise<void> {
    this.clean();
    if (!this.served) return;
    this.daemon = await startDaemonProcess(this.home, await freePort(), {
      SVC_ADMIN_AGENT_IDS: AGENT,
      SVC_ADMIN_HEADER_TRUST: '1',
    });
  }

  async stop(): Promise<void> {
    await this.daemon?.end('SIGTERM');
  }
}

class HttpSide extends ServedSide {
  constructor() {
    super(true);
  }

  protected async call(operation: Operation, input: Row): Promise<Raw> {
    const binding = operation.http![0]!;
    const rest = { ...input };
    const path = binding.path.replace(/\{(\w+)\}/g, (_, field: string) => {
      const value = encodeURIComponent(String(rest[field]));
      delete rest[field];
      return value;
    });
    const inBody = binding.fields === 'body';
    const query = inBody ? '' : `?${new URLSearchParams(rest as Record<string, string>)}`;
    return this.request(binding.method, `${path}${query}`, inBody ? JSON.stringify(rest) : null);
  }

  /** Not `fetch`, which would resolve `..` in a path before it is sent. */
  private request(method: string, path: string, body: string | null): Promise<Raw> {
    const { port } = new URL(this.daemon!.base);
    return new Promise((resolve, reject) => {
      const outgoing = request({
        host: '127.0.0.1',
        port,
        method,
        path: `/api/v1${path}`,
        headers: {
          'x-agent-id': AGENT,
          ...(body === null ? {} : { 'content-type': 'application/json' }),
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        const status = response.statusCode ?? 0;
        text(response).then((answer) => {
          const json = JSON.parse(answer) as Row;
          resolve(status < 400 ? { ok: true, body: json } : { ok: false, body: json });
        }, reject);
      });
      outgoing.end(body ?? undefined);
    });
  }
}

class McpSide extends ServedSide {
  private client: Client | null = null;

  override async start(): Promise<void> {
    await super.start();
    this.client = new Client({ name: 'parity', version: '1' });
    await this.client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [MAIN, 'mcp', '--profile', 'full'],
        env: cleanEnvironment(this.home, { SVC_AGENT_ID: AGENT, SVC_ADMIN_AGENT_IDS: AGENT }) as Record<
          string,
          string
        >,
      }),
    );
  }

  override async stop(): Promise<void> {
    await this.client?.close();
    await super.stop();
  }

  protected async call(operation: Operation, input: Row): Promise<Raw> {
    const format = operation.rows === undefined ? {} : { format: 'json' };
    try {
      const result = await this.client!.callTool({
        name: operation.name,
        arguments: { ...format, ...input },
      });
      const [content] = result.content as { text: string }[];
      return { ok: result.isError !== true, body: JSON.parse(content!.text) as Row };
    } catch (error) {
      const { data } = error as { data?: Row };
      if (data === undefined) throw error;
      return { ok: false, body: data };
    }
  }
}

class CliSide extends ServedSide {
  protected async call(operation: Operation, input: Row): Promise<Raw> {
    const binding = operation.cli!;
    const places = binding.positionals ?? [];
    const gap = places.findIndex((field) => input[field] === undefined);
    const placed = gap === -1 ? places : places.slice(0, gap);
    const flags = Object.entries(input)
      .filter(([field]) => !placed.includes(field))
      .map(([field, value]) => {
        const isSecret = binding.secrets?.includes(field) === true;
        const text = isSecret ? 'env:GIVEN_SECRET' : typeof value === 'object' ? textOf(value) : value;
        return `--${field.replaceAll('_', '-')}=${text}`;
      });
    const positionals = placed.map((field) => String(input[field]));
    const args = [...binding.command.split(' '), '--json', ...flags, '--', ...positionals];
    const { code, out, err } = await run(this.home, args, {
      env: {
        SVC_AGENT_ID: AGENT,
        SVC_ADMIN_AGENT_IDS: AGENT,
        GIVEN_SECRET: String(input[binding.secrets?.[0] ?? ''] ?? ''),
      },
    });
    return { ok: code === 0, body: JSON.parse(code === 0 ? out : err) as Row };
  }
}

const textOf = (value: unknown) => (Array.isArray(value) ? value.join(',') : JSON.stringify(value));

async function text(stream: NodeJS.ReadableStream): Promise<string> {
  let all = '';
  for await (const chunk of stream) all += String(chunk);
  return all;
}
