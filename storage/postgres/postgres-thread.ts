import { type MessagePort, workerData } from 'node:worker_threads';
import type pg from 'pg';
import { Batch, errorOf, type KnownStatements } from './batch.js';
import type {
  Asking,
  Ending,
  GivingUp,
  PostgresPlace,
  PostgresThreadData,
  Reply,
  Request,
  Run,
} from './messages.js';
import { isLoss } from './postgres-errors.js';
import { clientFor, ServerLink } from './server-link.js';

/**
 * Speaks with the server for one connection, whose own thread waits for each answer. Statements that come together are sent
 * together.
 */
const { place, readOnly, answered, port } = workerData as PostgresThreadData & { readonly port: MessagePort };

let givenUp = 0;
const texts = new Map<number, string>();
/** Those of each connection. */
const known = new WeakMap<pg.Client, KnownStatements>();
const link = new ServerLink(
  () =>
    clientFor(place, {
      application_name: 'mnemesh',
      statement_timeout: place.statementTimeoutMs,
      lock_timeout: lockTimeoutMs(place),
      idle_in_transaction_session_timeout: IDLE_TIMEOUT_MS,
      options: readOnly ? '-c default_transaction_read_only=on' : '',
    }),
  async (client) => {
    if (!readOnly) await client.query(DURABLE);
  },
);

/** Who waits longer for others answers that the database is busy. */
const LOCK_TIMEOUT_MS = 10_000;
/** The wait ends before the time of the statement, which would end it as a statement that is too slow. */
const lockTimeoutMs = ({ statementTimeoutMs }: PostgresPlace): number =>
  statementTimeoutMs === 0 ? LOCK_TIMEOUT_MS : Math.min(LOCK_TIMEOUT_MS, Math.ceil(statementTimeoutMs / 2));
/** A process that stops within its transaction leaves the lock of the writers to others after this time. */
const IDLE_TIMEOUT_MS = 10_000;

/** What is acknowledged is on the disk of the server, also where its default says otherwise. */
const DURABLE = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

function send(connection: pg.Client, runs: readonly Run[]): Promise<Reply> {
  let statements = known.get(connection);
  if (statements === undefined) {
    statements = new Map();
    known.set(connection, statements);
  }
  const of = statements;
  return new Promise((answered) => {
    connection.query(
      new Batch(runs, texts, of, (reply) => {
        if (reply.error !== undefined && isLoss(reply.error.code)) link.drop(connection);
        answered(reply);
      }),
    );
  });
}

async function answer(request: Asking): Promise<Reply> {
  try {
    const connection = request.continues ? link.current : await link.open();
    if (connection === null) throw new Error('the connection was lost within a transaction');
    if (request.number <= givenUp) throw new Error('nobody waits for the answer any longer');
    if ('runs' in request) return await send(connection, request.runs);
    await connection.query(request.script);
    return { rows: [], counts: [] };
  } catch (error) {
    return { rows: [], counts: [], error: errorOf(error) };
  }
}

/** Their texts come once, also where there is no connection now. */
function learn(runs: readonly Run[]): void {
  for (const { statement, text } of runs) if (text !== undefined) texts.set(statement, text);
}

function end({ ending }: Ending): void {
  learn([ending]);
  // A lost connection has ended it.
  if (link.current !== null) void send(link.current, [ending]);
}

/** What was asked may not go on: its transaction would hold the lock of the writers, or take in what is asked next. */
function giveUp(request: GivingUp): void {
  givenUp = request.givenUp;
  if (link.current !== null) link.drop(link.current);
}

port.on('message', (request: Request) => {
  if (request === 'close') void link.close().finally(() => port.close());
  else if (request === 'look') void link.look();
  else if ('givenUp' in request) giveUp(request);
  else if ('ending' in request) end(request);
  else {
    if ('runs' in request) learn(request.runs);
    void answer(request).then((reply) => {
      port.postMessage({ ...reply, number: request.number } satisfies Reply);
      Atomics.add(answered, 0, 1);
      Atomics.notify(answered, 0);
    });
  }
});
