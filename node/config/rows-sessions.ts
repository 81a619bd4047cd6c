import { namespaceNameProblem } from '../../protocol/base/ids.js';
import { RECALL_LIMIT_MAX } from '../../protocol/base/limits.js';
import type { SettingRows } from './setting-row.js';

const namespacesProblem = (list: string) =>
  list === ''
    ? null
    : list.split(',').reduce<string | null>((problem, name) => problem ?? namespaceNameProblem(name), null);

const spanProblem = (text: string) =>
  /^[1-9]\d{0,5}[hd]$/.test(text) ? null : 'must be a time span such as "24h" or "7d"';

/** Settings of sessions, and of the memory of the process. */
export const SESSION_ROWS = {
  bootEnabled: {
    type: 'boolean',
    default: true,
    env: 'SVC_BOOT_ENABLED',
    config: 'boot.enabled',
    doc: 'Whether the commands boot and wrap give an agent memories; off means empty output and exit 0.',
  },
  bootRedactTitles: {
    type: 'boolean',
    default: false,
    config: 'boot.redact_titles',
    doc: 'The commands boot and wrap print <redacted> for titles, and no content, tags or metadata.',
  },
  recallScopeNamespaces: {
    type: 'list',
    default: [],
    check: namespacesProblem,
    config: 'agents.defaults.recall_scope.namespaces',
    doc: 'Namespaces of a recall with session_default; the first is used.',
  },
  recallScopeSince: {
    type: 'text',
    default: null,
    check: spanProblem,
    config: 'agents.defaults.recall_scope.since',
    doc: 'Maximum age of memories in a recall with session_default, such as "24h" or "7d".',
  },
  recallScopeTier: {
    type: 'text',
    default: null,
    oneOf: ['short', 'mid', 'long'],
    config: 'agents.defaults.recall_scope.tier',
    doc: 'Tier of a recall with session_default.',
  },
  recallScopeLimit: {
    type: 'integer',
    default: null,
    unit: 'rows',
    min: 1,
    max: RECALL_LIMIT_MAX,
    config: 'agents.defaults.recall_scope.limit',
    doc: 'Limit of a recall with session_default.',
  },
  maxMemoryMb: {
    type: 'integer',
    default: null,
    unit: 'MB',
    max: 1_000_000_000,
    convert: (value: number) => (value <= 0 ? null : value),
    config: 'storage.max_memory_mb',
    legacy: 'max_memory_mb',
    doc: 'Accepted for compatibility; this node bounds its memory by the limits of its queues.',
  },
} as const satisfies SettingRows;
