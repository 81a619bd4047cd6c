import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { KeyAndCertificate } from '../../node/mesh/forming/certificate.js';
import { issueCertificate, makeAuthority, newTlsKey } from '../../node/mesh/forming/x509.js';
import { systemClock, systemRandom } from '../../node/seams.js';
import type { Log, Scheduler } from '../../protocol/base/seams.js';
import { within } from './wait.js';

/** A scheduler whose callbacks run when the test says so. */
export class HandScheduler implements Scheduler {
  #pending = new Set<() => void>();

  after(_delayMs: number, run: () => void) {
    this.#pending.add(run);
    return { cancel: () => void this.#pending.delete(run) };
  }

  immediate(run: () => void): void {
    setImmediate(run);
  }

  /** Runs what waits now; what that schedules waits for the next time. */
  tick(): void {
    const due = [...this.#pending];
    this.#pending.clear();
    for (const run of due) run();
  }
}

/** A log that keeps its lines. */
export function keptLog(): Log & { readonly lines: { level: string; fields: Record<string, unknown> }[] } {
  const lines: { level: string; fields: Record<string, unknown> }[] = [];
  const at = (level: string) => (fields: Record<string, unknown>) => void lines.push({ level, fields });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

export interface TestCertificate extends KeyAndCertificate {
  readonly certPath: string;
  readonly keyPath: string;
}

let authority: Promise<KeyAndCertificate> | null = null;
const YEAR_MS = 365 * 86_400_000;

/** One authority for all tests of a process; making one takes a while. */
export const testAuthority = () => {
  authority ??= makeAuthority(systemClock.nowMs() - 25 * YEAR_MS + 20 * YEAR_MS, systemRandom);
  return authority;
};

/** A certificate of a peer in files of a folder; with `yearsAgo` it was issued then, for ten years. */
export async function certificateIn(
  folder: string,
  name: string,
  {
    peerId = 'peer-00000000000000aa',
    yearsAgo = 0,
    by,
  }: {
    readonly peerId?: string;
    readonly yearsAgo?: number;
    readonly by?: KeyAndCertificate;
  } = {},
): Promise<TestCertificate> {
  const { key, publicKey } = await newTlsKey();
  const nowMs = systemClock.nowMs() - yearsAgo * YEAR_MS;
  const request = { peerId, publicKey, url: 'https://127.0.0.1:1' };
  const cert = issueCertificate(by ?? (await testAuthority()), request, nowMs, systemRandom);
  const [certPath, keyPath] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  writeFileSync(certPath, cert);
  writeFileSync(keyPath, key, { mode: 0o600 });
  return { cert, key, certPath, keyPath };
}

export interface RawAnswer {
  /** Everything that came, or empty. */
  readonly text: string;
  readonly error: string | null;
}

/** Sends one request over TLS and reads to the end of the connection; what the server does to it decides. */
export function askRaw(
  port: number,
  client: KeyAndCertificate | null,
  path = '/api/v1/health',
): Promise<RawAnswer> {
  const asked = new Promise<RawAnswer>((resolve) => {
    const socket = connect({
      host: '127.0.0.1',
      port,
      ...(client === null ? {} : { cert: client.cert, key: client.key }),
      rejectUnauthorized: false,
      checkServerIdentity: () => undefined,
    });
    let text = '';
    let error: string | null = null;
    socket.on('secureConnect', () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n`);
    });
    socket.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    socket.on('error', (problem) => {
      error = problem.message;
    });
    socket.on('close', () => resolve({ text, error }));
  });
  return within(`the server ends the connection after ${path}`, asked);
}

/** An open connection that stays. */
export function openTls(port: number, client: KeyAndCertificate): Promise<TLSSocket> {
  const opened = new Promise<TLSSocket>((resolve, reject) => {
    const socket = connect(
      {
        host: '127.0.0.1',
        port,
        cert: client.cert,
        key: client.key,
        rejectUnauthorized: false,
        checkServerIdentity: () => undefined,
      },
      () => resolve(socket),
    );
    socket.on('error', reject);
  });
  return within('the TLS connection opens', opened);
}
