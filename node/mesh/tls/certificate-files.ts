import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { Listeners } from '../../../actors/core/listeners.js';
import { MESH_POLL_MS } from '../../../protocol/base/limits.js';
import { fail, ok, type Result } from '../../../protocol/base/result.js';
import type { Log, Scheduler } from '../../../protocol/base/seams.js';
import { StartRefusedError } from '../../../protocol/base/start-refused.js';
import { WatchedFiles } from './watched-files.js';

/** A certificate chain and its private key, PEM. */
export interface CertificatePair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Reads a certificate chain and its key (PKCS#8, RSA PKCS#1 or SEC1). CONFIG_INVALID says which file is wrong and why,
 * but never its content.
 */
export function readCertificatePair(certPath: string, keyPath: string): Result<CertificatePair> {
  const cert = readText(certPath);
  if (!cert.ok) return cert;
  const key = readText(keyPath);
  if (!key.ok) return key;
  const leaf = leafOf(cert.value);
  if (leaf === null) return fail('CONFIG_INVALID', `${certPath} holds no PEM certificate`);
  const privateKey = keyOf(key.value);
  if (privateKey === null) {
    return fail('CONFIG_INVALID', `${keyPath} must hold a PEM private key without a passphrase`);
  }
  if (!leaf.checkPrivateKey(privateKey)) {
    return fail('CONFIG_INVALID', `${keyPath} is not the key of the first certificate in ${certPath}`);
  }
  try {
    createSecureContext({ cert: cert.value, key: key.value });
  } catch (error) {
    return fail('CONFIG_INVALID', `${certPath} cannot be used: ${(error as Error).message}`);
  }
  return ok({ cert: cert.value, key: key.value });
}

/** SHA-256 of the first certificate of a chain, lower-case hex. */
export function fingerprintOfPem(cert: string): string {
  return new X509Certificate(cert).fingerprint256.replaceAll(':', '').toLowerCase();
}

/** A pair that follows its files: a broken pair is logged, and the last valid one stays in force. */
export class CertificateFiles {
  readonly #listeners = new Listeners();
  readonly #watch: WatchedFiles;
  #pair: CertificatePair;

  /** Throws StartRefusedError when the files cannot be used. */
  constructor(
    readonly certPath: string,
    readonly keyPath: string,
    { scheduler, log }: { readonly scheduler: Scheduler; readonly log: Log },
  ) {
    const first = readCertificatePair(certPath, keyPath);
    if (!first.ok) throw new StartRefusedError('CONFIG_INVALID', first.error.message);
    this.#pair = first.value;
    if (((statSync(keyPath, { throwIfNoEntry: false })?.mode ?? 0) & 0o007) !== 0) {
      log.warn({ code: 'TLS_KEY_OPEN' }, `${keyPath} can be read by other users: run chmod 600 on it`);
    }
    this.#watch = new WatchedFiles({
      paths: () => [certPath, keyPath],
      scheduler,
      intervalMs: MESH_POLL_MS,
      changed: () => {
        const next = readCertificatePair(certPath, keyPath);
        if (!next.ok) {
          const message = 'the new certificate cannot be used, the old one stays in force';
          log.error({ code: 'TLS_RELOAD_REFUSED', reason: next.error.message }, message);
          return;
        }
        if (next.value.cert === this.#pair.cert && next.value.key === this.#pair.key) return;
        this.#pair = next.value;
        const fingerprint = fingerprintOfPem(next.value.cert);
        log.info({ code: 'TLS_RELOADED', fingerprint }, 'a new certificate is in force');
        this.#listeners.tell();
      },
    });
  }

  current(): CertificatePair {
    return this.#pair;
  }

  onChange(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  close(): void {
    this.#watch.stop();
  }
}

function readText(path: string): Result<string> {
  try {
    return ok(readFileSync(path, 'utf8'));
  } catch (error) {
    return fail('CONFIG_INVALID', `cannot read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function leafOf(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

function keyOf(pem: string) {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}
