import { createConnection } from 'node:net';
import { gunzipSync } from 'node:zlib';

/** An answer as it came. */
export interface RawAnswer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decompressed; null for an answer without a body, or whose body never ends. */
  readonly body: Buffer | null;
}

export interface Exchanged {
  readonly answers: readonly RawAnswer[];
  /** Bytes that are no HTTP answer, or why there is none. */
  readonly problem: string | null;
}

/** When nothing has come for this long, the sender says that it has no more to say. */
const QUIET_MS = 60;

/** Sends bytes on a new connection and reads until the node ends it; a problem when it does not within the time. */
export function exchange(port: number, bytes: Buffer, whole: boolean, withinMs: number): Promise<Exchanged> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port, allowHalfOpen: true });
    const received: Buffer[] = [];
    let problem: string | null = null;
    const finish = () => {
      clearTimeout(deadline);
      clearTimeout(quiet);
      socket.destroy();
      const { answers, rest } = parseAnswers(Buffer.concat(received), bytes);
      resolve({ answers, problem: problem ?? rest });
    };
    const deadline = setTimeout(() => {
      problem = `the connection was still open after ${withinMs} ms`;
      finish();
    }, withinMs);
    const hush = () => {
      clearTimeout(quiet);
      // A whole request has its answer without that; others may wait for more to come.
      if (!whole) quiet = setTimeout(() => socket.end(), QUIET_MS);
    };
    let quiet: NodeJS.Timeout | undefined;
    socket.on('data', (chunk: Buffer) => {
      received.push(chunk);
      if (/^content-type: text\/event-stream/im.test(chunk.toString('latin1'))) finish();
      else hush();
    });
    socket.on('end', finish);
    socket.on('close', finish);
    // The node may end a connection while we still write; what it answered counts.
    socket.on('error', finish);
    socket.write(bytes, hush);
  });
}

function parseAnswers(received: Buffer, sent: Buffer): { answers: RawAnswer[]; rest: string | null } {
  const answers: RawAnswer[] = [];
  const mayBeHead = sent.includes('HEAD');
  let at = 0;
  while (at < received.length) {
    const end = received.indexOf('\r\n\r\n', at);
    const head = end === -1 ? null : received.toString('latin1', at, end).split('\r\n');
    const status = head === null ? null : /^HTTP\/1\.1 (\d{3}) /.exec(head[0]!);
    if (head === null || status === null) {
      return {
        answers,
        rest: `no HTTP answer: ${JSON.stringify(received.toString('latin1', at, at + 200))}`,
      };
    }
    at = end + 4;
    const headers: Record<string, string> = {};
    for (const line of head.slice(1)) {
      const colon = line.indexOf(':');
      headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
    }
    const code = Number(status[1]);
    const length = Number(headers['content-length'] ?? 0);
    const next = received.toString('latin1', at, at + 9);
    const bodiless = code < 200 || code === 204 || (mayBeHead && (next === '' || next === 'HTTP/1.1 '));
    if (headers['content-type']?.startsWith('text/event-stream') === true) {
      answers.push({ status: code, headers, body: null });
      return { answers, rest: null };
    }
    if (!bodiless && at + length > received.length) {
      return { answers, rest: `a body of ${received.length - at} bytes instead of ${length}` };
    }
    const bytes = bodiless ? null : received.subarray(at, at + length);
    if (bytes !== null) at += length;
    if (code >= 200)
      answers.push({ status: code, headers, body: bytes === null ? null : decoded(bytes, headers) });
  }
  return { answers, rest: null };
}

function decoded(bytes: Buffer, headers: Readonly<Record<string, string>>): Buffer {
  return headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes;
}
