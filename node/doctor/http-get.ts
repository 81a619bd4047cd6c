import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Scheduler } from '../../protocol/base/seams.js';

/** The result of probing a model server. */
export type Probe =
  | { readonly ok: true; readonly status: number; readonly body: unknown }
  | { readonly ok: false; readonly reason: string };

const TIMEOUT_MS = 5000;
const BODY_BYTES_MAX = 1024 * 1024;

/**
 * One GET that follows no redirect, waits five seconds in all and reads at most 1 MiB. The body is null when it is not
 * JSON.
 */
export function httpGet(
  url: URL,
  headers: Readonly<Record<string, string>>,
  scheduler: Scheduler,
): Promise<Probe> {
  return new Promise((resolve) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(
      url,
      { headers: { accept: 'application/json', ...headers }, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > BODY_BYTES_MAX) finish({ ok: false, reason: 'the answer is larger than 1 MiB' });
        });
        response.on('error', (error) => finish({ ok: false, reason: error.message }));
        response.on('end', () =>
          finish({ ok: true, status: response.statusCode ?? 0, body: jsonOf(Buffer.concat(chunks)) }),
        );
      },
    );
    const timer = scheduler.after(
      TIMEOUT_MS,
      () => finish({ ok: false, reason: `no answer within ${TIMEOUT_MS / 1000} s` }),
      { keepAlive: true },
    );
    let finished = false;
    function finish(probe: Probe): void {
      if (finished) return;
      finished = true;
      timer.cancel();
      request.destroy();
      resolve(probe);
    }
    request.on('error', (error: NodeJS.ErrnoException) =>
      finish({ ok: false, reason: error.code ?? error.message }),
    );
    request.end();
  });
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return null;
  }
}
