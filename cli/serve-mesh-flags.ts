import type { SettingFlags } from '../node/config/load-settings.js';
import { CATCHUP_INTERVAL_SECONDS_MAX, QUORUM_TIMEOUT_MS_MAX } from '../protocol/limits.js';
import { fail, failed, ok, type Result } from '../protocol/result.js';
import type { ParsedArguments } from './arguments.js';
import type { DocumentedFlag } from './command.js';
import { flagValue } from './global-flags.js';

const file = (name: string, doc: string): DocumentedFlag => ({
  name,
  kind: 'value',
  value: 'file',
  path: 'file',
  doc,
});

const number = (name: string, doc: string): DocumentedFlag => ({ name, kind: 'value', value: 'number', doc });

/** Flags of `serve` for transport security and replication (interface §4.15, reference-federation §1.8). */
export const MESH_FLAGS: readonly DocumentedFlag[] = [
  file('tls-cert', 'Certificate chain in PEM; serve speaks HTTPS then'),
  file('tls-key', 'Private key of the certificate in PEM'),
  file('mtls-allowlist', 'SHA-256 fingerprints of the client certificates that may connect, one a line'),
  number(
    'quorum-writes',
    'Nodes that must have a write before it is answered, this one included (default 0)',
  ),
  { name: 'quorum-peers', kind: 'value', value: 'urls', doc: 'Addresses of peers, separated by commas' },
  number('quorum-timeout-ms', 'How long a write waits for its quorum (default 2000)'),
  file('quorum-client-cert', 'Certificate in PEM that is presented to peers'),
  file('quorum-client-key', 'Private key of that certificate in PEM'),
  file('quorum-ca-cert', 'Authorities in PEM that sign the certificates of peers'),
  number('catchup-interval-secs', 'How often peers are asked for what was missed (default 30, 0 never)'),
];

/** The settings that these flags give. INVALID_ARGUMENT for a number that is none. */
export function meshSettings(parsed: ParsedArguments): Result<SettingFlags> {
  const writes = numberOf(parsed, 'quorum-writes', 0, 1000);
  const timeout = numberOf(parsed, 'quorum-timeout-ms', 1, QUORUM_TIMEOUT_MS_MAX);
  const catchup = numberOf(parsed, 'catchup-interval-secs', 0, CATCHUP_INTERVAL_SECONDS_MAX);
  for (const each of [writes, timeout, catchup]) if (!each.ok) return failed(each.error);
  const value = <T>(
    key: string,
    given: Result<T | undefined>,
    convert: (given: T) => unknown = (it) => it,
  ) => (given.ok && given.value !== undefined ? { [key]: convert(given.value) } : {});
  const text = (key: string, flag: string) => value(key, ok(flagValue(parsed, flag)));
  return ok({
    ...text('tlsCert', 'tls-cert'),
    ...text('tlsKey', 'tls-key'),
    ...text('mtlsAllowlist', 'mtls-allowlist'),
    ...value('quorumWrites', writes),
    ...value('quorumPeers', ok(flagValue(parsed, 'quorum-peers')), listOf),
    ...value('quorumTimeoutMs', timeout),
    ...text('quorumClientCert', 'quorum-client-cert'),
    ...text('quorumClientKey', 'quorum-client-key'),
    ...text('quorumCaCert', 'quorum-ca-cert'),
    ...value('catchupIntervalMs', catchup, (seconds) => seconds * 1000),
  });
}

const listOf = (text: string) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');

function numberOf(
  parsed: ParsedArguments,
  flag: string,
  min: number,
  max: number,
): Result<number | undefined> {
  const text = flagValue(parsed, flag);
  if (text === undefined) return ok(undefined);
  if (/^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max) return ok(Number(text));
  return fail('INVALID_ARGUMENT', `--${flag} must be a number from ${min} to ${max}`, {
    fields: [flag.replaceAll('-', '_')],
  });
}
