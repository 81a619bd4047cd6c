import type { SettingRows } from './setting-row.js';

/** Transport security (interface §4.13, §5.2). */
export const TLS_ROWS = {
  tlsCert: {
    type: 'path',
    default: null,
    flag: { name: '--tls-cert', of: 'serve', doc: 'Certificate chain in PEM; serve speaks HTTPS then' },
    config: 'tls.cert',
    doc: 'Certificate chain of serve (PEM file); needs the key too. The file is watched and reloaded when it changes.',
  },
  tlsKey: {
    type: 'path',
    default: null,
    flag: { name: '--tls-key', of: 'serve', doc: 'Private key of the certificate in PEM' },
    config: 'tls.key',
    doc: 'Private key of the certificate (PEM file: PKCS#8, PKCS#1 or SEC1), readable only by its owner.',
  },
  mtlsAllowlist: {
    type: 'path',
    default: null,
    flag: {
      name: '--mtls-allowlist',
      of: 'serve',
      doc: 'SHA-256 fingerprints of the client certificates that may connect, one per line',
    },
    config: 'tls.mtls_allowlist',
    doc: 'File of SHA-256 fingerprints of client certificates; others cannot open a connection. Also watched.',
  },
} as const satisfies SettingRows;
