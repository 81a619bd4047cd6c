import { nearest } from '../../protocol/base/nearest.js';
import { describeSettings } from '../config/describe-settings.js';
import type { Configuration } from '../config/load-settings.js';
import { looseConfig, looseHooks } from '../config/loose-modes.js';
import { SETTINGS } from '../config/settings.js';
import { type Section, SectionBuilder, type Severity } from './report.js';

const SEVERITIES = { fatal: 'CRIT', error: 'WARN', warning: 'WARN' } as const satisfies Record<
  string,
  Severity
>;
const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);
const API_KEY_LENGTH_MIN = 16;
/** Variables that the loader reads and that are not settings. */
const OTHER_VARIABLES = ['SVC_CONFIG', 'SVC_NO_CONFIG'];

/** Checks the file, the environment, and the protections that they switch off. */
export function checkConfiguration(configuration: Configuration): Section {
  const { file, problems, settings } = configuration;
  const section = new SectionBuilder('Configuration')
    .fact('file', file.path)
    .fact('file state', file.state)
    .fact('schema_version', String(file.values['schema_version'] ?? '-'));
  for (const { key, value, source, name } of describeSettings(configuration)) {
    if (source !== 'default') section.fact(key, `${JSON.stringify(value)} (${source}: ${name})`);
  }
  for (const { code, level, message, fix } of problems) {
    // With an ignored file the node runs without its API key and its admins.
    const severity = code === 'CONFIG_INLINE_API_KEY' ? 'CRIT' : SEVERITIES[level];
    section.add({ code, severity, message, fix });
  }
  const loose = looseConfig(configuration);
  if (loose !== null && !problems.some(({ code }) => code === loose.code)) section.add(loose);
  for (const each of looseHooks(settings.hooksPath)) section.add(each);
  unknownVariables(configuration, section);
  if (!LOOPBACK.has(settings.host) && settings.apiKey === null) {
    section.crit(
      'HOST_WITHOUT_API_KEY',
      `serve refuses to listen on ${settings.host} without an API key`,
      'set SVC_API_KEY, or bind 127.0.0.1',
    );
  }
  if (settings.apiKey !== null && settings.apiKey.reveal().length < API_KEY_LENGTH_MIN) {
    section.warn(
      'API_KEY_SHORT',
      `the API key has fewer than ${API_KEY_LENGTH_MIN} characters and can be guessed`,
      'use a key of 32 random characters',
    );
  }
  switchedOff(configuration, section);
  return section.done();
}

function unknownVariables({ variables }: Configuration, section: SectionBuilder): void {
  const known = [...SETTINGS.flatMap((row) => row.env ?? []), ...OTHER_VARIABLES];
  for (const name of variables.filter((variable) => !known.includes(variable)).slice(0, 20)) {
    const near = nearest(name, known);
    section.warn(
      'ENV_UNKNOWN',
      `${name} is set, but this release does not know it${near === null ? '' : `; did you mean ${near}?`}`,
      near === null ? `unset ${name}` : `set ${near} instead`,
    );
  }
}

/** Protections that the operator has switched off. */
function switchedOff({ settings }: Configuration, section: SectionBuilder): void {
  if (!settings.requireAttestation) {
    section.warn(
      'ATTESTATION_OFF',
      'unsigned writes are permitted: any client that reaches the node can write as any agent',
      'unset SVC_REQUIRE_AGENT_ATTESTATION',
    );
  }
  if (settings.synchronous !== 'FULL') {
    section.warn(
      'SYNCHRONOUS_NOT_FULL',
      `SVC_DB_SYNCHRONOUS=${settings.synchronous}: a power loss may lose acknowledged writes`,
      'unset SVC_DB_SYNCHRONOUS',
    );
  }
  const open = [
    [!settings.fedRequireSig, 'SVC_FED_REQUIRE_SIG', 'unsigned messages of peers are accepted'],
    [!settings.fedRequireNonce, 'SVC_FED_REQUIRE_NONCE', 'messages of peers may be replayed'],
    [settings.fedSyncTrustPeer, 'SVC_FED_SYNC_TRUST_PEER', 'peers without a scope may read everything'],
    [settings.fedTrustBodyAgentId, 'SVC_FED_TRUST_BODY_AGENT_ID', 'peers may send on behalf of any agent'],
    [settings.allowLoopbackWebhooks, 'SVC_ALLOW_LOOPBACK_WEBHOOKS', 'webhooks may go to this machine'],
    [
      settings.ssrfGuardAllowDnsFail,
      'SVC_SSRF_GUARD_ALLOW_DNS_FAIL',
      'webhooks may go to names that do not resolve',
    ],
    [
      settings.governanceFailOpenOnError,
      'SVC_GOVERNANCE_FAIL_OPEN_ON_ERROR',
      'writes pass when their rules cannot be evaluated',
    ],
    [
      settings.passphraseFileAllowLaxPerms,
      'SVC_PASSPHRASE_FILE_ALLOW_LAX_PERMS',
      'passphrase files may be readable by others',
    ],
  ] as const;
  for (const [isOpen, name, what] of open) {
    if (isOpen) section.warn('GATE_OPEN', `${name}: ${what}`, `unset ${name}`);
  }
}
