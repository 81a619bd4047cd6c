import { DLQ_REPLAY_BATCH_MAX, DLQ_REPLAY_BATCH_MIN } from '../../protocol/base/limits.js';
import { peerScopesProblem } from './peer-scopes.js';
import type { SettingRows } from './setting-row.js';

/** What a node accepts from its peers (reference-federation §1.3). */
export const FEDERATION_ROWS = {
  fedRequireSig: {
    type: 'boolean',
    default: true,
    env: 'SVC_FED_REQUIRE_SIG',
    doc: 'Refuse unsigned messages of peers.',
  },
  fedRequireNonce: {
    type: 'boolean',
    default: true,
    env: 'SVC_FED_REQUIRE_NONCE',
    doc: 'Refuse messages of peers without a fresh nonce.',
  },
  fedPeerAttestation: {
    type: 'text',
    default: null,
    check: peerScopesProblem,
    env: 'SVC_FED_PEER_ATTESTATION',
    doc: 'Which peers may talk to this node, and their scopes: a JSON object {"<peer id>": {"allowed_sender_agent_ids": […], "allowed_namespaces": […]}}.',
  },
  fedSyncTrustPeer: {
    type: 'boolean',
    default: false,
    env: 'SVC_FED_SYNC_TRUST_PEER',
    doc: 'Let peers without a scope read everything.',
  },
  fedTrustBodyAgentId: {
    type: 'boolean',
    default: false,
    env: 'SVC_FED_TRUST_BODY_AGENT_ID',
    doc: 'Let peers send on behalf of any agent.',
  },
  fedCertPeerBinding: {
    type: 'text',
    default: null,
    defaultDoc: 'enforce with an allowlist, warn without',
    oneOf: ['warn', 'enforce'],
    env: 'SVC_FED_CERT_PEER_BINDING',
    doc: 'A client certificate that is not bound to a peer is accepted with a warning, or refused.',
  },
  fedDlqReplayMaxBatch: {
    type: 'integer',
    default: DLQ_REPLAY_BATCH_MAX,
    unit: 'operations',
    min: DLQ_REPLAY_BATCH_MIN,
    max: 100 * DLQ_REPLAY_BATCH_MAX,
    env: 'SVC_FED_DLQ_REPLAY_MAX_BATCH',
    doc: 'The most operations that one push to a peer carries; each peer has its own number, which adapts below that.',
  },
} as const satisfies SettingRows;
