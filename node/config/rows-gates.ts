import { publicKeyFromText } from '../../protocol/base/key-text.js';
import * as limits from '../../protocol/base/limits.js';
import { PERMISSION_MODES } from '../../protocol/decide/permissions.js';
import { permissionRuleOf } from './permission-rule.js';
import type { SettingRows } from './setting-row.js';

const keyProblem = (text: string) =>
  publicKeyFromText(text) === null ? 'must be the base64 of a public key of 32 bytes' : null;

const SECRET_BYTES_MIN = 16;

function hexProblem(text: string): string | null {
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return 'must be hexadecimal';
  return text.length >= 2 * SECRET_BYTES_MIN
    ? null
    : `must have at least ${SECRET_BYTES_MIN} bytes; "openssl rand -hex 32" makes one`;
}

/** Gates of the interface, and the key under which rules count. */
export const GATE_ROWS = {
  allowLoopbackWebhooks: {
    type: 'boolean',
    default: false,
    env: 'SVC_ALLOW_LOOPBACK_WEBHOOKS',
    config: 'subscriptions.allow_loopback_webhooks',
    doc: 'Let webhooks go to this machine.',
  },
  webhookHmacSecret: {
    type: 'secret',
    default: null,
    check: hexProblem,
    config: 'hooks.subscription.hmac_secret',
    doc: 'Secret that signs decisions over `POST /approvals/{pending_id}`, and all webhooks, hexadecimal, at least 16 bytes. Without it every signed decision is refused.',
  },
  hookAskTimeoutMs: {
    type: 'integer',
    default: 20_000,
    min: 0,
    max: 600_000,
    unit: 'ms',
    config: 'hooks.ask_timeout_ms',
    doc: 'How long a question of a hook waits for the operator before its default applies; never longer than the request. 0 applies the default at once.',
  },
  ssrfGuardAllowDnsFail: {
    type: 'boolean',
    default: false,
    env: 'SVC_SSRF_GUARD_ALLOW_DNS_FAIL',
    doc: 'Count a host name of a webhook that cannot be resolved as a failure of the network, not as a refusal. Nothing is sent to it either way.',
  },
  webhookDispatchConcurrency: {
    type: 'integer',
    default: limits.WEBHOOK_CONCURRENCY,
    min: 1,
    max: limits.WEBHOOK_CONCURRENCY_MAX,
    env: 'SVC_WEBHOOK_DISPATCH_CONCURRENCY',
    doc: 'Subscriptions whose events are sent at the same time; each subscription gets its own one after the other.',
  },
  governanceFailOpenOnError: {
    type: 'boolean',
    default: false,
    env: 'SVC_GOVERNANCE_FAIL_OPEN_ON_ERROR',
    doc: 'Permit a write, or another action, when its policy or its rules cannot be evaluated.',
  },
  permissionsMode: {
    type: 'text',
    default: 'enforce',
    oneOf: PERMISSION_MODES,
    env: 'SVC_PERMISSIONS_MODE',
    config: 'permissions.mode',
    doc: 'What policies and permission rules do: `enforce` refuses or waits for approval, `advisory` permits what they would refuse or delay, `off` asks nothing.',
  },
  permissionRules: {
    type: 'tables',
    default: [],
    config: 'permissions.rules',
    parse: permissionRuleOf,
    doc: 'Rules of the operator, each a table `[[permissions.rules]]` with `namespace_pattern`, `op`, `agent_pattern`, `decision` and `reason`.',
  },
  operatorPubkey: {
    type: 'text',
    default: null,
    env: 'SVC_OPERATOR_PUBKEY',
    config: 'governance.operator_pubkey',
    check: keyProblem,
    doc: 'The operator\'s public key, as "rules keygen" prints it; rules without its signature are then ignored.',
  },
  requireOperatorPubkey: {
    type: 'boolean',
    default: false,
    config: 'governance.require_operator_pubkey',
    doc: "Refuse to start without the operator's public key.",
  },
} as const satisfies SettingRows;
