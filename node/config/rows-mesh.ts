import {
  CATCHUP_INTERVAL_SECONDS,
  CATCHUP_INTERVAL_SECONDS_MAX,
  PAYLOAD_KEPT_DAYS,
  PAYLOAD_KEPT_DAYS_MAX,
  QUORUM_TIMEOUT_MS_MAX,
  SCRUB_INTERVAL_DAYS,
  SCRUB_INTERVAL_DAYS_MAX,
} from '../../protocol/limits.js';
import type { ConfigProblem } from './config-problem.js';
import type { SettingRow, Settings } from './settings.js';

/** Transport security and the mesh (interface §4.13, §4.15, §5.2; reference-federation §1.3, §1.8). */
export const MESH_ROWS: readonly SettingRow[] = [
  {
    key: 'tlsCert',
    flag: '--tls-cert',
    config: 'tls.cert',
    type: 'text',
    doc: 'Certificate chain of serve (PEM file); needs the key too. The file is watched, a new one is taken over.',
  },
  {
    key: 'tlsKey',
    flag: '--tls-key',
    config: 'tls.key',
    type: 'text',
    doc: 'Private key of the certificate (PEM file: PKCS#8, PKCS#1 or SEC1), for its owner alone.',
  },
  {
    key: 'mtlsAllowlist',
    flag: '--mtls-allowlist',
    config: 'tls.mtls_allowlist',
    type: 'text',
    doc: 'File of SHA-256 fingerprints of client certificates; others cannot open a connection. Watched as well.',
  },
  {
    key: 'quorumWrites',
    flag: '--quorum-writes',
    config: 'quorum.writes',
    type: 'integer',
    unit: 'nodes',
    min: 0,
    max: 1000,
    doc: 'Nodes that must have a write before it is answered, this one included; 0 waits for nobody.',
  },
  {
    key: 'quorumPeers',
    flag: '--quorum-peers',
    config: 'quorum.peers',
    type: 'list',
    doc: 'Base addresses of peers that are wired by hand, besides those of the mesh.',
  },
  {
    key: 'quorumTimeoutMs',
    flag: '--quorum-timeout-ms',
    config: 'quorum.timeout_ms',
    type: 'integer',
    unit: 'ms',
    min: 1,
    max: QUORUM_TIMEOUT_MS_MAX,
    doc: 'How long a write waits for its quorum; across regions 5000 to 10000.',
  },
  {
    key: 'quorumClientCert',
    flag: '--quorum-client-cert',
    config: 'quorum.client_cert',
    type: 'text',
    doc: 'Certificate (PEM file) that this node presents to peers; needs the key too. A mesh brings its own.',
  },
  {
    key: 'quorumClientKey',
    flag: '--quorum-client-key',
    config: 'quorum.client_key',
    type: 'text',
    doc: 'Private key of that certificate (PEM file).',
  },
  {
    key: 'quorumCaCert',
    flag: '--quorum-ca-cert',
    config: 'quorum.ca_cert',
    type: 'text',
    doc: 'Authorities (PEM file) that sign the certificates of peers, besides the public ones.',
  },
  {
    key: 'catchupIntervalMs',
    flag: '--catchup-interval-secs',
    config: 'quorum.catchup_interval_secs',
    type: 'integer',
    unit: 's',
    min: 0,
    max: CATCHUP_INTERVAL_SECONDS_MAX,
    convert: (seconds) => seconds * 1000,
    defaultDoc: String(CATCHUP_INTERVAL_SECONDS),
    doc: 'How often this node asks its peers, ten in turn where there are more, for what it missed; 0 never asks.',
  },
  {
    key: 'scrubIntervalMs',
    env: 'SVC_SCRUB_INTERVAL_DAYS',
    config: 'storage.scrub_interval_days',
    type: 'integer',
    unit: 'days',
    min: 0,
    max: SCRUB_INTERVAL_DAYS_MAX,
    convert: (days) => days * 86_400_000,
    defaultDoc: String(SCRUB_INTERVAL_DAYS),
    doc: 'How often all rows and operations are hashed again and repaired, and the file is checked; 0 never.',
  },
  {
    key: 'payloadKeptMs',
    env: 'SVC_PAYLOAD_RETENTION_DAYS',
    config: 'storage.payload_retention_days',
    type: 'integer',
    unit: 'days',
    min: 0,
    max: PAYLOAD_KEPT_DAYS_MAX,
    convert: (days) => days * 86_400_000,
    defaultDoc: String(PAYLOAD_KEPT_DAYS),
    doc: 'How long the log keeps texts that were edited or deleted; with them an edit can be undone. 0 keeps them.',
  },
  {
    key: 'meshHints',
    config: 'quorum.hints',
    type: 'boolean',
    doc: 'Whether peers are told over a WebSocket that there is something new. Without, they hear of it later.',
  },
  {
    key: 'fedPeerFingerprints',
    env: 'SVC_FED_PEER_FINGERPRINTS',
    config: 'quorum.peer_fingerprints',
    type: 'text',
    doc: 'File with lines "<host> <sha256 hex>": the server certificates of peers. With it every peer needs a line.',
  },
];

/** Settings of files that belong together. */
const PAIRS: readonly (readonly [keyof Settings & string, string, keyof Settings & string, string])[] = [
  ['tlsCert', '--tls-cert', 'tlsKey', '--tls-key'],
  ['quorumClientCert', '--quorum-client-cert', 'quorumClientKey', '--quorum-client-key'],
];

/** What is wrong with these settings together; each such problem ends a start. */
export function meshProblems(settings: Settings): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const fatal = (message: string, fix: string) =>
    problems.push({ code: 'CONFIG_VALUE_INVALID', level: 'fatal', message, fix });
  for (const [one, oneFlag, other, otherFlag] of PAIRS) {
    if ((settings[one] === null) === (settings[other] === null)) continue;
    const [given, missing] = settings[one] === null ? [otherFlag, oneFlag] : [oneFlag, otherFlag];
    fatal(`${given} needs ${missing} as well`, `give ${missing}, or leave ${given} out`);
  }
  if (settings.mtlsAllowlist !== null && settings.tlsCert === null) {
    fatal('--mtls-allowlist needs --tls-cert and --tls-key', 'give a certificate and its key');
  }
  const seen = new Set<string>();
  for (const url of settings.quorumPeers) {
    if (!isBaseUrl(url)) {
      fatal(
        `--quorum-peers: ${shown(url)} is no base address`,
        'write addresses such as https://node2.example:9177',
      );
      continue;
    }
    const plain = new URL(url).origin;
    if (seen.has(plain)) fatal(`--quorum-peers names ${shown(url)} twice`, 'name each peer once');
    seen.add(plain);
  }
  return problems;
}

/** True for `http(s)://host[:port]`, with nothing that would get lost. */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const plain = url.pathname === '/' && url.search === '' && url.hash === '';
  return /^https?:$/.test(url.protocol) && plain && url.username === '' && url.password === '';
}

/** An address may hold a password. */
const shown = (url: string) => (/^[\w:/.[\]-]{1,200}$/.test(url) ? `"${url}"` : 'an entry');
