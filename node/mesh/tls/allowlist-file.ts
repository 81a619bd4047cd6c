import { readFileSync } from 'node:fs';
import { Listeners } from '../../../actors/core/listeners.js';
import { MESH_POLL_MS } from '../../../protocol/base/limits.js';
import { fail, type Result } from '../../../protocol/base/result.js';
import type { Log, Scheduler } from '../../../protocol/base/seams.js';
import { StartRefusedError } from '../../../protocol/base/start-refused.js';
import { parseFingerprintList } from '../../../protocol/peers/fingerprint-list.js';
import type { CertificateRole, ClientGate } from '../../http/listener-tls.js';
import { WatchedFiles } from './watched-files.js';

/**
 * The allowlist of client certificates (interface §5.2), which follows its file: a broken list is logged, and the last
 * valid one stays in force. The signer and the dates of a certificate do not matter.
 */
export class AllowlistFile implements ClientGate {
  readonly #listeners = new Listeners();
  readonly #watch: WatchedFiles;
  #admitted: ReadonlySet<string>;

  /** Throws StartRefusedError when the list cannot be used. */
  constructor(
    readonly path: string,
    { scheduler, log }: { readonly scheduler: Scheduler; readonly log: Log },
  ) {
    const first = readAllowlist(path);
    if (!first.ok) throw new StartRefusedError('CONFIG_INVALID', first.error.message);
    this.#admitted = new Set(first.value);
    this.#watch = new WatchedFiles({
      paths: () => [path],
      scheduler,
      intervalMs: MESH_POLL_MS,
      changed: () => {
        const next = readAllowlist(path);
        if (!next.ok) {
          const message = 'the new allowlist cannot be used, the old one stays in force';
          log.error({ code: 'ALLOWLIST_REFUSED', reason: next.error.message }, message);
          return;
        }
        this.#admitted = new Set(next.value);
        log.info({ code: 'ALLOWLIST_RELOADED', entries: next.value.length }, 'the allowlist was read again');
        this.#listeners.tell();
      },
    });
  }

  roleOf(_certificate: Uint8Array, fingerprint: string): CertificateRole {
    return this.#admitted.has(fingerprint) ? 'peer' : null;
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  close(): void {
    this.#watch.stop();
  }
}

function readAllowlist(path: string): Result<readonly string[]> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return fail(
      'CONFIG_INVALID',
      `cannot read the allowlist ${path}: ${(error as NodeJS.ErrnoException).code}`,
    );
  }
  const list = parseFingerprintList(text);
  return list.ok ? list : fail('CONFIG_INVALID', `the allowlist ${path}: ${list.error.message}`);
}
