/**
 * The processes and the thread that a note of an agent passes, with nothing in them: an agent passes lines on to the
 * socket of a daemon, whose writer thread puts those of one batch into one synced commit.
 */
import { createConnection, createServer, type Socket } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

const ANSWER = '{"ok":true}\n';

function runAgent(socketPath: string): void {
  const daemon = createConnection(socketPath);
  process.stdin.pipe(daemon);
  daemon.pipe(process.stdout);
}

function runDaemon(socketPath: string, databasePath: string): void {
  const writer = new Worker(new URL(import.meta.url), { workerData: databasePath });
  let waiting: { readonly from: Socket; readonly line: string }[] = [];
  let written: typeof waiting = [];
  const send = () => {
    if (written.length > 0 || waiting.length === 0) return;
    [written, waiting] = [waiting, []];
    writer.postMessage(written.map(({ line }) => line));
  };
  writer.on('message', () => {
    const answered = written;
    written = [];
    send();
    for (const { from } of answered) from.write(ANSWER);
  });
  const server = createServer((from) => {
    let rest = '';
    from.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      waiting.push(...lines.map((line) => ({ from, line })));
      setImmediate(send);
    });
    from.on('error', () => from.destroy());
  });
  server.listen(socketPath, () => process.stdout.write('ready\n'));
}

function runWriter(databasePath: string): void {
  const db = new Database(databasePath);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, line TEXT NOT NULL)');
  const insert = db.prepare('INSERT INTO notes (line) VALUES (?)');
  const commit = db.transaction((lines: readonly string[]) => {
    for (const line of lines) insert.run(line);
  });
  parentPort!.on('message', (lines: readonly string[]) => {
    commit(lines);
    parentPort!.postMessage('done');
  });
}

if (!isMainThread) runWriter(workerData as string);
else {
  const [role, socketPath, databasePath] = process.argv.slice(2);
  if (role === 'agent') runAgent(socketPath!);
  else runDaemon(socketPath!, databasePath!);
}
