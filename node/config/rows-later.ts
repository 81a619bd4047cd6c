import { namespaceProblem } from '../../protocol/ids.js';
import { DLQ_REPLAY_BATCH_MAX, DLQ_REPLAY_BATCH_MIN, RECALL_LIMIT_MAX } from '../../protocol/limits.js';
import { peerScopesProblem } from '../mesh/peer-scopes.js';
import type { SettingRow } from './settings.js';

const FEDERATION = 'Validated now, read when federation comes.';
const WEBHOOKS = 'Validated now, read when webhooks come.';

const namespacesProblem = (list: string) =>
  list === ''
    ? null
    : list.split(',').reduce<string | null>((problem, name) => problem ?? namespaceProblem(name), null);

/** Settings of sessions, and gates of the interface whose features come with later releases. */
export const LATER_ROWS: readonly SettingRow[] = [
  {
    key: 'bootEnabled',
    env: 'SVC_BOOT_ENABLED',
    config: 'boot.enabled',
    type: 'boolean',
    doc: 'Whether the boot command says anything; off means empty output and exit 0.',
  },
  {
    key: 'bootRedactTitles',
    config: 'boot.redact_titles',
    type: 'boolean',
    doc: 'The boot command prints <redacted> for titles.',
  },
  {
    key: 'recallScopeNamespaces',
    config: 'agents.defaults.recall_scope.namespaces',
    type: 'list',
    check: namespacesProblem,
    doc: 'Namespaces of a recall with session_default; the first is used.',
  },
  {
    key: 'recallScopeSince',
    config: 'agents.defaults.recall_scope.since',
    type: 'text',
    check: (text) => (/^[1-9]\d{0,5}[hd]$/.test(text) ? null : 'must be a time span such as "24h" or "7d"'),
    doc: 'Age of what a recall with session_default returns, such as "24h" or "7d".',
  },
  {
    key: 'recallScopeTier',
    config: 'agents.defaults.recall_scope.tier',
    type: 'text',
    oneOf: ['short', 'mid', 'long'],
    doc: 'Tier of a recall with session_default.',
  },
  {
    key: 'recallScopeLimit',
    config: 'agents.defaults.recall_scope.limit',
    type: 'integer',
    unit: 'rows',
    min: 1,
    max: RECALL_LIMIT_MAX,
    doc: 'Limit of a recall with session_default.',
  },
  {
    key: 'maxMemoryMb',
    config: 'storage.max_memory_mb',
    legacy: 'max_memory_mb',
    type: 'integer',
    unit: 'MB',
    max: 1_000_000_000,
    convert: (value) => (value <= 0 ? null : value),
    doc: 'Accepted for files of the reference; this node bounds its memory by the limits of its queues.',
  },
  {
    key: 'fedRequireSig',
    env: 'SVC_FED_REQUIRE_SIG',
    type: 'boolean',
    doc: 'Refuse unsigned messages of peers.',
  },
  {
    key: 'fedRequireNonce',
    env: 'SVC_FED_REQUIRE_NONCE',
    type: 'boolean',
    doc: 'Refuse messages of peers without a fresh nonce.',
  },
  {
    key: 'fedPeerAttestation',
    env: 'SVC_FED_PEER_ATTESTATION',
    type: 'text',
    check: peerScopesProblem,
    doc: 'Which peers may talk to this node, and their scopes: a JSON object {"<peer id>": {"allowed_sender_agent_ids": […], "allowed_namespaces": […]}}.',
  },
  {
    key: 'fedSyncTrustPeer',
    env: 'SVC_FED_SYNC_TRUST_PEER',
    type: 'boolean',
    doc: 'Let peers without a scope read everything.',
  },
  {
    key: 'fedTrustBodyAgentId',
    env: 'SVC_FED_TRUST_BODY_AGENT_ID',
    type: 'boolean',
    doc: 'Let peers send in the name of any agent.',
  },
  {
    key: 'fedCertPeerBinding',
    env: 'SVC_FED_CERT_PEER_BINDING',
    type: 'text',
    oneOf: ['warn', 'enforce'],
    doc: 'A client certificate that is bound to no peer is taken with a warning, or refused.',
  },
  {
    key: 'fedDlqReplayMaxBatch',
    env: 'SVC_FED_DLQ_REPLAY_MAX_BATCH',
    type: 'integer',
    unit: 'rows',
    min: DLQ_REPLAY_BATCH_MIN,
    max: 100 * DLQ_REPLAY_BATCH_MAX,
    doc: `Cap of the adaptive replay batch. ${FEDERATION}`,
  },
  {
    key: 'allowLoopbackWebhooks',
    env: 'SVC_ALLOW_LOOPBACK_WEBHOOKS',
    config: 'subscriptions.allow_loopback_webhooks',
    type: 'boolean',
    doc: `Let webhooks go to this machine. ${WEBHOOKS}`,
  },
  {
    key: 'webhookHmacSecret',
    config: 'hooks.subscription.hmac_secret',
    type: 'secret',
    check: (text) => (/^(?:[0-9a-f]{2})+$/i.test(text) ? null : 'must be hexadecimal'),
    doc: `Signing secret of all webhooks, hexadecimal. ${WEBHOOKS}`,
  },
  {
    key: 'ssrfGuardAllowDnsFail',
    env: 'SVC_SSRF_GUARD_ALLOW_DNS_FAIL',
    type: 'boolean',
    doc: `Permit a webhook whose host name cannot be resolved. ${WEBHOOKS}`,
  },
  {
    key: 'governanceFailOpenOnError',
    env: 'SVC_GOVERNANCE_FAIL_OPEN_ON_ERROR',
    type: 'boolean',
    doc: 'Permit a write when its rules cannot be consulted. Validated now, read when governance comes.',
  },
  {
    key: 'passphraseFileAllowLaxPerms',
    env: 'SVC_PASSPHRASE_FILE_ALLOW_LAX_PERMS',
    type: 'boolean',
    doc: 'Permit a passphrase file that others may read. Validated now, read when passphrases come.',
  },
];
