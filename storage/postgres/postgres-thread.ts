import { type MessagePort, workerData } from 'node:worker_threads';
import pg from 'pg';
import type { Asking, PostgresThreadData, Reply, Request, Run, ServerError } from './messages.js';
import { isLoss } from './postgres-errors.js';
import { clientFor, ServerLink } from './server-link.js';

/**
 * Speaks with the server for one connection, whose own thread waits for each answer. Statements that come together are sent
 * together.
 */
const { place, readOnly, answered, port } = workerData as PostgresThreadData & { readonly port: MessagePort };

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
const link = new ServerLink(
  () =>
    clientFor(place, {
      application_name: 'mnemesh',
      statement_timeout: place.statementTimeoutMs,
      lock_timeout: LOCK_TIMEOUT_MS,
      idle_in_transaction_session_timeout: IDLE_TIMEOUT_MS,
      options: readOnly ? '-c default_transaction_read_only=on' : '',
      types: types as never,
      pipeline: true,
    }),
  async (client) => {
    if (!readOnly) await client.query(DURABLE);
  },
);

/** A writer that waits longer for its turn answers that the database is busy. */
const LOCK_TIMEOUT_MS = 10_000;
/** A process that stops within its transaction leaves the lock of the writers to others after this time. */
const IDLE_TIMEOUT_MS = 10_000;

/** What is acknowledged is on the disk of the server, also where its default says otherwise. */
const DURABLE = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

const bound = (value: unknown): unknown => (value instanceof Uint8Array ? Buffer.from(value) : value);

async function run(connection: pg.Client, runs: readonly Run[]): Promise<Reply> {
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
  if (failed !== undefined) {
    const error = errorOf(failed.reason);
    if (isLoss(error.code)) link.drop(connection);
    return { rows: [], counts, error, failed: settled.indexOf(failed) };
  }
  const last = settled.at(-1)!;
  const { rows, fields } = (last as PromiseFulfilledResult<pg.QueryArrayResult>).value;
  const { statement } = runs.at(-1)!;
  if (shown.has(statement) || fields === undefined) return { rows, counts };
  shown.add(statement);
  return { rows, counts, columns: fields.map(({ name }) => name) };
}

async function answer(request: Asking): Promise<Reply> {
  try {
    // They come once, also where there is no connection now.
    if ('runs' in request)
      for (const { statement, text } of request.runs) if (text !== undefined) texts.set(statement, text);
    const connection = request.continues ? link.current : await link.open();
    if (connection === null) throw new Error('the connection was lost within a transaction');
    if ('runs' in request) return await run(connection, request.runs);
    await connection.query(request.script);
    return { rows: [], counts: [] };
  } catch (error) {
    return { rows: [], counts: [], error: errorOf(error) };
  }
}

function errorOf(error: unknown): ServerError {
  const { code, message, constraint } = error as Partial<pg.DatabaseError>;
  const isOfServer = error instanceof pg.DatabaseError && code !== undefined;
  return {
    code: isOfServer ? code : 'CONNECTION',
    message: message ?? String(error),
    constraint: constraint ?? null,
  };
}

port.on('message', (request: Request) => {
  if (request === 'close') {
    void link.close().finally(() => port.close());
    return;
  }
  if (request === 'look') {
    void link.look();
    return;
  }
  void answer(request).then((reply) => {
    port.postMessage({ ...reply, number: request.number } satisfies Reply);
    Atomics.add(answered, 0, 1);
    Atomics.notify(answered, 0);
  });
});
