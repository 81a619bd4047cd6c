import { join } from 'node:path';
import { auditPresetOf } from './audit-policy.js';
import type { SettingRows } from './setting-row.js';

/** The audit log: files with a copy of the audit chain. */
export const AUDIT_ROWS = {
  auditLog: {
    type: 'boolean',
    default: false,
    config: 'audit.enabled',
    doc: 'Copy each row of the audit chain into files, which show when the chain in the database is cut or rewritten.',
  },
  auditDir: {
    type: 'path',
    default: (home: string) => join(home, 'audit'),
    defaultDoc: 'audit in the home',
    env: 'SVC_AUDIT_DIR',
    config: 'audit.path',
    doc: 'Folder of the audit log (0700).',
  },
  auditRedacts: {
    type: 'boolean',
    default: true,
    config: 'audit.redact_content',
    doc: 'Leave the details of an act out of the audit log; their hash stays.',
  },
  auditHashChain: {
    type: 'boolean',
    default: true,
    config: 'audit.hash_chain',
    doc: 'Let each line of the audit log hash the one before it.',
  },
  auditAttestMinutes: {
    type: 'integer',
    default: 60,
    min: 1,
    max: 525_600,
    unit: 'min',
    config: 'audit.attestation_cadence_minutes',
    doc: "How often the end of the audit log is signed with the node's key, where it has new lines.",
  },
  auditAppendOnly: {
    type: 'boolean',
    default: true,
    config: 'audit.append_only',
    doc: 'Write nothing more into an audit log whose end somebody else has changed, and log an error.',
  },
  auditRetentionDays: {
    type: 'integer',
    default: 90,
    min: 1,
    max: 36_500,
    unit: 'days',
    config: 'audit.retention_days',
    doc: 'How long the file of a day is kept. The chain in the database stays.',
  },
  auditPresets: {
    type: 'tables',
    named: 'preset',
    default: [],
    config: 'audit.compliance',
    parse: auditPresetOf,
    doc: 'Demands of soc2, hipaa, gdpr or fedramp, each a section `[audit.compliance.<name>]` with `applied`, `retention_days`, `redact_content`, `attestation_cadence_minutes`, `encrypt_at_rest` and `pseudonymize_actors`. Of those that are applied the strictest counts.',
  },
} as const satisfies SettingRows;
