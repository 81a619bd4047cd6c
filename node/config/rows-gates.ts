import { PERMISSION_MODES } from '../../protocol/governance/settings.js';
import { permissionRuleOf } from './permission-rule.js';
import type { SettingRows } from './setting-row.js';

const WEBHOOKS = 'Validated now, read when webhooks come.';

const hexProblem = (text: string) => (/^(?:[0-9a-f]{2})+$/i.test(text) ? null : 'must be hexadecimal');

/** Gates of the interface whose features come with later releases. */
export const GATE_ROWS = {
  allowLoopbackWebhooks: {
    type: 'boolean',
    default: false,
    env: 'SVC_ALLOW_LOOPBACK_WEBHOOKS',
    config: 'subscriptions.allow_loopback_webhooks',
    doc: `Let webhooks go to this machine. ${WEBHOOKS}`,
  },
  webhookHmacSecret: {
    type: 'secret',
    default: null,
    check: hexProblem,
    config: 'hooks.subscription.hmac_secret',
    doc: 'Secret that signs decisions over `POST /approvals/{pending_id}`, and all webhooks, hexadecimal. Without it every signed decision is refused.',
  },
  ssrfGuardAllowDnsFail: {
    type: 'boolean',
    default: false,
    env: 'SVC_SSRF_GUARD_ALLOW_DNS_FAIL',
    doc: `Permit a webhook whose host name cannot be resolved. ${WEBHOOKS}`,
  },
  governanceFailOpenOnError: {
    type: 'boolean',
    default: false,
    env: 'SVC_GOVERNANCE_FAIL_OPEN_ON_ERROR',
    doc: 'Permit a write when its policy cannot be evaluated.',
  },
  permissionsMode: {
    type: 'text',
    default: 'enforce',
    oneOf: PERMISSION_MODES,
    env: 'SVC_PERMISSIONS_MODE',
    config: 'permissions.mode',
    doc: 'What policies and permission rules do: `enforce` refuses or waits for approval, `advisory` permits everything and records what would be refused, `off` asks nothing.',
  },
  permissionRules: {
    type: 'tables',
    default: [],
    config: 'permissions.rules',
    parse: permissionRuleOf,
    doc: 'Rules of the operator, each a table `[[permissions.rules]]` with `namespace_pattern`, `op`, `agent_pattern`, `decision` and `reason`.',
  },
  passphraseFileAllowLaxPerms: {
    type: 'boolean',
    default: false,
    env: 'SVC_PASSPHRASE_FILE_ALLOW_LAX_PERMS',
    doc: 'Permit a passphrase file that others may read. Validated now, read when passphrases come.',
  },
} as const satisfies SettingRows;
