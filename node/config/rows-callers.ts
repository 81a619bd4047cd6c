import type { SettingRows } from './setting-row.js';

/** As browsers write it: scheme, lower-case host, and the port unless it is the scheme's own. */
const ORIGIN = /^https?:\/\/(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d{1,5})?$/;

const originsProblem = (list: string): string | null =>
  list === '' || list.split(',').every((origin) => ORIGIN.test(origin))
    ? null
    : 'must list origins such as https://app.example:8443';

/** Who may call a node, and as whom. */
export const CALLER_ROWS = {
  apiKey: {
    type: 'secret',
    default: null,
    env: 'SVC_API_KEY',
    config: 'api_key',
    doc: 'Key that HTTP callers must present.',
  },
  requireApiKey: {
    type: 'boolean',
    default: false,
    env: 'SVC_REQUIRE_API_KEY',
    doc: 'Refuse to start without an API key, on any bind.',
  },
  requireAttestation: {
    type: 'boolean',
    default: true,
    env: 'SVC_REQUIRE_AGENT_ATTESTATION',
    doc: 'Refuse unsigned writes; 0 permits them.',
  },
  requireVerifyNonce: {
    type: 'boolean',
    default: false,
    config: 'verify.require_nonce',
    doc: 'Refuse a verification of a link without a verification_nonce.',
  },
  agentId: {
    type: 'text',
    default: null,
    flag: {
      name: '--agent-id',
      of: 'every',
      value: 'id',
      doc: 'Agent that a write is stamped with ({env})',
    },
    env: 'SVC_AGENT_ID',
    doc: 'Agent id of this process; its reads may see the private rows of that agent.',
  },
  anonymize: {
    type: 'boolean',
    default: false,
    env: 'SVC_ANONYMIZE',
    config: 'identity.anonymize_default',
    doc: 'Leave the name of the host out of the agent ids that commands and MCP servers make.',
  },
  adminAgentIds: {
    type: 'list',
    default: [],
    env: 'SVC_ADMIN_AGENT_IDS',
    config: 'admin.agent_ids',
    joined: true,
    doc: 'Agents that may use the admin routes; those of the variable and of the file together.',
  },
  adminHeaderTrust: {
    type: 'boolean',
    default: false,
    env: 'SVC_ADMIN_HEADER_TRUST',
    doc: 'Trust X-Agent-Id for admin without an API key.',
  },
  corsOrigins: {
    type: 'list',
    default: [],
    env: 'SVC_HTTP_CORS_ORIGINS',
    config: 'http.cors_origins',
    check: originsProblem,
    doc: 'Origins, such as https://app.example, whose pages may use the HTTP API; none by default.',
  },
} as const satisfies SettingRows;
