import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { Log, Scheduler } from '../../protocol/base/seams.js';
import { StartRefusedError } from '../../protocol/base/start-refused.js';
import type { Peer } from '../../protocol/peers/peer.js';
import type { Settings } from '../config/settings.js';
import { isLoopbackHost } from '../http/host-guard.js';
import { CertificateFiles, fingerprintOfPem } from './tls/certificate-files.js';
import { PeerFingerprintsFile } from './tls/peer-fingerprints-file.js';
import type { PeerTrust } from './undici-transport.js';

export interface TrustSeams {
  readonly scheduler: Scheduler;
  readonly log: Log;
  /** True to trust peers by the file of the fingerprints of their certificates, whoever signed them. */
  readonly pinnedOnly?: boolean;
}

/**
 * What this node presents to peers that were wired by hand, and what these must prove, by the flags and their files.
 */
export class WiredTrust {
  readonly #apiKey: Settings['apiKey'];
  /** What `--quorum-client-cert` and `--quorum-ca-cert` name. */
  readonly #clientFiles: CertificateFiles | null;
  readonly #authorities: readonly string[] | null;
  readonly #pins: PeerFingerprintsFile | null;
  readonly #pinnedOnly: boolean;

  /** Throws StartRefusedError when a file cannot be used. */
  constructor(settings: Settings, seams: TrustSeams) {
    const { quorumClientCert, quorumClientKey, quorumCaCert, fedPeerFingerprints } = settings;
    this.#apiKey = settings.apiKey;
    this.#pinnedOnly = seams.pinnedOnly === true;
    this.#clientFiles =
      quorumClientCert === null || quorumClientKey === null
        ? null
        : new CertificateFiles(quorumClientCert, quorumClientKey, seams);
    this.#authorities = quorumCaCert === null ? null : [...rootCertificates, readAuthorities(quorumCaCert)];
    this.#pins = fedPeerFingerprints === null ? null : new PeerFingerprintsFile(fedPeerFingerprints, seams);
  }

  /** The trust settings for a peer. */
  of(peer: Peer): PeerTrust {
    const host = peer.url === null ? '' : new URL(peer.url).hostname.toLowerCase();
    const pinned = this.#pins?.get(host);
    // Over plain HTTP the API key is sent only to this machine.
    const isSafe = peer.url !== null && (peer.url.startsWith('https:') || isLoopbackHost(host));
    return {
      client: this.#clientFiles?.current() ?? null,
      authorities: this.#authorities,
      names: 'host',
      // With pins configured every peer needs one: a host without pins matches none.
      fingerprints: pinned ?? (this.#pins === null ? peer.fingerprints : ['none']),
      ...(this.#pinnedOnly ? { pinnedOnly: true } : {}),
      ...(this.#apiKey !== null && isSafe ? { headers: { 'x-api-key': this.#apiKey.reveal() } } : {}),
    };
  }

  /** True for the certificate that this node presents. */
  isOwn(fingerprint: string): boolean {
    return this.#clientFiles !== null && fingerprintOfPem(this.#clientFiles.current().cert) === fingerprint;
  }

  close(): void {
    this.#pins?.close();
    this.#clientFiles?.close();
  }
}

function readAuthorities(path: string): string {
  try {
    const pem = readFileSync(path, 'utf8');
    new X509Certificate(pem);
    return pem;
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? 'no PEM certificate';
    throw new StartRefusedError('CONFIG_INVALID', `cannot use the authorities in ${path}: ${why}`);
  }
}
