import type { Log, Scheduler } from '../../../protocol/base/seams.js';
import type { Settings } from '../../config/settings.js';
import type { ListenerTls } from '../../http/listener-tls.js';
import { AllowlistFile } from './allowlist-file.js';
import { CertificateFiles } from './certificate-files.js';

/** The transport security of the node's API, from the operator's files. */
export interface ListenerFiles {
  /** Null without a certificate: then the API is served over plain HTTP. */
  readonly tls: ListenerTls | null;
  /** Stops watching the files. */
  close(): void;
}

/** Opens the files of `--tls-cert`, `--tls-key` and `--mtls-allowlist`. Throws StartRefusedError. */
export function openListenerFiles(
  { tlsCert, tlsKey, mtlsAllowlist }: Pick<Settings, 'tlsCert' | 'tlsKey' | 'mtlsAllowlist'>,
  seams: { readonly scheduler: Scheduler; readonly log: Log },
): ListenerFiles {
  if (tlsCert === null || tlsKey === null) return { tls: null, close: () => undefined };
  const certificate = new CertificateFiles(tlsCert, tlsKey, seams);
  try {
    const clients = mtlsAllowlist === null ? null : new AllowlistFile(mtlsAllowlist, seams);
    return {
      tls: { certificate, clients },
      close: () => {
        certificate.close();
        clients?.close();
      },
    };
  } catch (error) {
    certificate.close();
    throw error;
  }
}
