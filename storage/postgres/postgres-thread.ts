import { type MessagePort, workerData } from 'node:worker_threads';
import pg from 'pg';
import type { PostgresThreadData, Reply, Request, Run, ServerError } from './messages.js';

/**
 * Speaks with the server for one connection, whose own thread waits for each answer. Statements that come together are sent
 * together. A lost connection is opened again for the next request that comes after its transaction.
 */
const { place, readOnly, answered, port } = workerData as PostgresThreadData & { readonly port: MessagePort };

/** Longer than this nobody waits for a server that does not answer. */
const CONNECT_TIMEOUT_MS = 10_000;
/** A server that is gone without a word is noticed after about this time. */
const KEEP_ALIVE_MS = 10_000;

const TRUE = 't';
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => (text === TRUE ? 1 : 0),
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  21: Number,
  23: Number,
  700: Number,
  701: Number,
  1700: Number,
};
const asText = (text: string): unknown => text;
const types = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText };

const texts = new Map<number, string>();
const shown = new Set<number>();
let client: pg.Client | null = null;

async function connected(): Promise<pg.Client> {
  if (client !== null) return client;
  const opened = new pg.Client({
    connectionString: place.url,
    application_name: 'mnemesh',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: place.statementTimeoutMs,
    lock_timeout: LOCK_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    options: readOnly ? '-c default_transaction_read_only=on' : '',
    types: types as never,
    pipeline: true,
  });
  // An error outside a query: the connection is lost, and the next request opens another.
  opened.on('error', () => {
    if (client === opened) client = null;
  });
  opened.on('end', () => {
    if (client === opened) client = null;
  });
  await opened.connect();
  client = opened;
  return opened;
}

/** A writer that waits longer for its turn answers that the database is busy. */
const LOCK_TIMEOUT_MS = 10_000;

const bound = (value: unknown): unknown => (value instanceof Uint8Array ? Buffer.from(value) : value);

async function run(runs: readonly Run[]): Promise<Reply> {
  const connection = await connected();
  for (const { statement, text } of runs) if (text !== undefined) texts.set(statement, text);
  const settled = await Promise.allSettled(
    runs.map(({ statement, values }) =>
      connection.query({
        name: `s${statement}`,
        text: texts.get(statement)!,
        values: values.map(bound),
        rowMode: 'array',
      }),
    ),
  );
  const counts = settled.map((each) => (each.status === 'fulfilled' ? (each.value.rowCount ?? 0) : 0));
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed !== undefined)
    return { rows: [], counts, error: errorOf(failed.reason), failed: settled.indexOf(failed) };
  const last = settled.at(-1)!;
  const { rows, fields } = (last as PromiseFulfilledResult<pg.QueryArrayResult>).value;
  const { statement } = runs.at(-1)!;
  if (shown.has(statement) || fields === undefined) return { rows, counts };
  shown.add(statement);
  return { rows, counts, columns: fields.map(({ name }) => name) };
}

async function answer(request: Exclude<Request, 'close'>): Promise<Reply> {
  try {
    if ('runs' in request) return await run(request.runs);
    await (await connected()).query(request.script);
    return { rows: [], counts: [] };
  } catch (error) {
    return { rows: [], counts: [], error: errorOf(error) };
  }
}

function errorOf(error: unknown): ServerError {
  const { code, message, constraint } = error as Partial<pg.DatabaseError>;
  const isOfServer = error instanceof pg.DatabaseError && code !== undefined;
  if (!isOfServer) client = null;
  return {
    code: isOfServer ? code : 'CONNECTION',
    message: message ?? String(error),
    constraint: constraint ?? null,
  };
}

port.on('message', (request: Request) => {
  if (request === 'close') {
    void Promise.resolve(client?.end()).finally(() => port.close());
    return;
  }
  void answer(request).then((reply) => {
    port.postMessage(reply);
    Atomics.add(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
});
