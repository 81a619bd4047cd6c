import { createHash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type Dispatcher, EnvHttpProxyAgent, request } from 'undici';
import { MODEL_FILE_BYTES_MAX } from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';

const REDIRECTS_MAX = 5;
const SILENCE_MS = 60_000;
const SHA256 = /^[0-9a-f]{64}$/;

export interface Download {
  readonly url: string;
  readonly path: string;
  /** What the file must be, in hexadecimal digits; null takes what the server says about it. */
  readonly sha256: string | null;
  /** The environment, which may name a proxy. */
  readonly env: NodeJS.ProcessEnv;
  /** Bytes so far, and of how many; null for an unknown length. */
  readonly progress: (bytes: number, of: number | null) => void;
}

/** A file that was downloaded, and whether its checksum was known beforehand. */
export interface Downloaded {
  readonly bytes: number;
  readonly sha256: string;
  readonly verified: boolean;
}

/**
 * Downloads a file. It continues an interrupted download (`.part`) where the server allows it. The file gets its name
 * only when it has the length, and the checksum where one is known. NOT_FOUND for a file that
 * the server does not have, UNAVAILABLE for a server that is not reached, CONFLICT for other bytes than were expected.
 */
export async function download(wanted: Download): Promise<Result<Downloaded>> {
  const part = `${wanted.path}.part`;
  const note = `${wanted.path}.etag`;
  const proxied = hasProxy(wanted.env) ? new EnvHttpProxyAgent() : undefined;
  try {
    const had = existsSync(part) ? statSync(part).size : 0;
    const etag = had > 0 && existsSync(note) ? (await readFile(note, 'utf8')).trim() : null;
    const answer = await follow(wanted.url, etag === null ? 0 : had, etag, proxied);
    if (!answer.ok) return answer;
    const { response, tag, checksum } = answer.value;
    const { statusCode, headers, body } = response;
    const continued = statusCode === 206;
    if (continued && !startsAt(headers, had)) {
      await body.dump();
      return fail('UNAVAILABLE', `${wanted.url} answers another part than it was asked for`);
    }
    const from = continued ? had : 0;
    if (statusCode === 416) {
      await body.dump();
      await Promise.all([rm(part, { force: true }), rm(note, { force: true })]);
      return fail('UNAVAILABLE', `the file ${wanted.url} changed meanwhile; run the command again`);
    }
    if (statusCode !== 200 && !continued) {
      await body.dump();
      const missing = statusCode === 404 || statusCode === 410;
      return fail(missing ? 'NOT_FOUND' : 'UNAVAILABLE', `${wanted.url} answers ${statusCode}`);
    }
    const length = Number(headers['content-length']);
    const total = Number.isSafeInteger(length) && length > 0 ? from + length : null;
    if (total !== null && total > MODEL_FILE_BYTES_MAX)
      return fail(
        'VALIDATION_FAILED',
        `${wanted.url} has ${total} bytes; at most ${MODEL_FILE_BYTES_MAX} are taken`,
      );
    if (tag !== null) await writeFile(note, tag);
    else if (!continued) await rm(note, { force: true });
    const file = await open(part, continued ? 'a' : 'w', 0o600);
    let bytes = from;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > MODEL_FILE_BYTES_MAX)
          return fail('VALIDATION_FAILED', `${wanted.url} has more than ${MODEL_FILE_BYTES_MAX} bytes`);
        await file.write(chunk);
        wanted.progress(bytes, total);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    if (total !== null && bytes !== total)
      return fail(
        'UNAVAILABLE',
        `${wanted.url} ended after ${bytes} of ${total} bytes; run the command again to continue`,
      );
    const sha256 = await fileSha256(part);
    const expected = wanted.sha256?.toLowerCase() ?? checksum;
    if (expected !== null && sha256 !== expected) {
      await rm(part, { force: true });
      await rm(note, { force: true });
      return fail(
        'CONFLICT',
        `${wanted.url} has the checksum ${sha256}, and not ${expected}; it was not kept`,
      );
    }
    await rename(part, wanted.path);
    await rm(note, { force: true });
    return ok({ bytes, sha256, verified: expected !== null });
  } catch (error) {
    return unreachable(wanted.url, error);
  } finally {
    await proxied?.close();
  }
}

interface Answer {
  readonly response: Dispatcher.ResponseData;
  readonly tag: string | null;
  /** The SHA-256 that the server says the file has. */
  readonly checksum: string | null;
}

/** Asks for a file, from a byte on, and follows redirects; the checksum may stand in the first answer only. */
async function follow(
  address: string,
  from: number,
  etag: string | null,
  dispatcher: Dispatcher | undefined,
): Promise<Result<Answer>> {
  let url = new URL(address);
  let checksum: string | null = null;
  let tag: string | null = null;
  for (let at = 0; at <= REDIRECTS_MAX; at += 1) {
    const problem = addressProblem(url);
    if (problem !== null) return fail('VALIDATION_FAILED', problem);
    const response = await request(url, {
      headers: {
        'accept-encoding': 'identity',
        ...(from > 0 && etag !== null ? { range: `bytes=${from}-`, 'if-range': etag } : {}),
      },
      headersTimeout: SILENCE_MS,
      bodyTimeout: SILENCE_MS,
      ...(dispatcher === undefined ? {} : { dispatcher }),
    });
    const { statusCode, headers } = response;
    for (const name of ['x-linked-etag', 'etag']) {
      const said = String(headers[name] ?? '')
        .replace(/^W\//, '')
        .replaceAll('"', '')
        .toLowerCase();
      if (SHA256.test(said)) checksum ??= said;
    }
    // A weak tag does not promise the same bytes, so nothing is continued by it.
    const own = headers['etag'];
    if (typeof own === 'string' && !own.startsWith('W/')) tag = own;
    const location = headers['location'];
    if (statusCode < 300 || statusCode > 399 || typeof location !== 'string')
      return ok({ response, tag, checksum });
    await response.body.dump();
    const next = new URL(location, url);
    if (url.protocol === 'https:' && next.protocol !== 'https:')
      return fail('UNAVAILABLE', `${url.origin} leads to ${next.origin}, which is not reached over https`);
    url = next;
  }
  return fail('UNAVAILABLE', `${address} redirects more than ${REDIRECTS_MAX} times`);
}

/** True for an answer whose part of the file begins at a byte. */
const startsAt = (headers: Dispatcher.ResponseData['headers'], from: number): boolean =>
  from > 0 && String(headers['content-range'] ?? '').startsWith(`bytes ${from}-`);

/** Programs come over TLS, except from this machine. */
export function addressProblem(url: URL): string | null {
  if (url.username !== '' || url.password !== '') return 'the address must not hold a user or a password';
  if (url.protocol === 'https:') return null;
  const local = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return url.protocol === 'http:' && local ? null : `a model comes over https, and not from ${url.origin}`;
}

const hasProxy = (env: NodeJS.ProcessEnv): boolean =>
  ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some((name) => (env[name] ?? '') !== '');

/** The SHA-256 of a file, in hexadecimal digits. */
export async function fileSha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function unreachable(url: string, error: unknown): Result<never> {
  const { code, message, path } = error as NodeJS.ErrnoException;
  if (path !== undefined)
    return fail('UNAVAILABLE', `${path} cannot be written (${code}); nothing was installed`);
  const { host } = new URL(url);
  if (code === 'ENOSPC') return fail('UNAVAILABLE', 'the disk is full; make room and run the command again');
  return fail(
    'UNAVAILABLE',
    `${host} cannot be reached (${code ?? message}); behind a proxy set HTTPS_PROXY; without a network fetch the ` +
      'files elsewhere and name their folder instead. What was downloaded is kept, and the next call continues',
  );
}
