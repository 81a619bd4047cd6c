import {
  ACTION_KEPT_DAYS,
  ACTION_KEPT_DAYS_MAX,
  ARCHIVE_DAYS_MAX,
  EXTEND_SECONDS,
  TTL_CONFIGURED_SECONDS_MAX,
  TTL_SECONDS,
} from '../../protocol/base/limits.js';
import type { SettingRows } from './setting-row.js';

/** Zero or less means never (reference-http §2.2). */
const seconds = (value: number) => (value <= 0 ? null : Math.min(value, TTL_CONFIGURED_SECONDS_MAX));
const positive = (value: number) => (value <= 0 ? null : value);
/** Zero means that reads leave the expiry; null, no value, means as long as the time to live. */
const extension = (value: number) => Math.min(Math.max(value, 0), TTL_CONFIGURED_SECONDS_MAX);

/** How long memories live. */
export const LIFE_ROWS = {
  storageMaxBytes: {
    type: 'integer',
    default: 0,
    defaultDoc: '0, no limit',
    unit: 'bytes',
    min: 0,
    convert: positive,
    env: 'SVC_STORAGE_MAX_BYTES',
    config: 'storage.max_bytes',
    doc: 'What the rows of the embedded database may take. Near it, expired, archived, short and long unused memories go, in this order; at it, stores are refused. 0 sets no limit.',
  },
  shortTtlSeconds: {
    type: 'integer',
    default: TTL_SECONDS.short,
    unit: 's',
    convert: seconds,
    config: 'ttl.short_ttl_secs',
    doc: 'Time to live of the short tier; 0 or less means for ever.',
  },
  midTtlSeconds: {
    type: 'integer',
    default: TTL_SECONDS.mid,
    unit: 's',
    convert: seconds,
    config: 'ttl.mid_ttl_secs',
    doc: 'Time to live of the mid tier, from its last use; 0 or less means for ever.',
  },
  longTtlSeconds: {
    type: 'integer',
    default: TTL_SECONDS.long,
    defaultDoc: 'for ever',
    unit: 's',
    convert: seconds,
    config: 'ttl.long_ttl_secs',
    doc: 'Time to live of the long tier; 0 or less means for ever.',
  },
  shortExtendSeconds: {
    type: 'integer',
    default: EXTEND_SECONDS.short,
    unit: 's',
    convert: seconds,
    config: 'ttl.short_extend_secs',
    doc: 'A use moves the expiry of a short row at least this far from now; 0 or less leaves it unchanged.',
  },
  midExtendSeconds: {
    type: 'integer',
    default: null,
    defaultDoc: 'as `ttl.mid_ttl_secs`',
    unit: 's',
    convert: extension,
    config: 'ttl.mid_extend_secs',
    doc: 'A use moves the expiry of a mid row at least this far from now; 0 or less leaves it.',
  },
  signalDays: {
    type: 'integer',
    default: 90,
    min: 1,
    max: ARCHIVE_DAYS_MAX,
    unit: 'days',
    config: 'coordination.signal_days',
    doc: 'Days until a signal expires that was sent without a time to live.',
  },
  actionKeptDays: {
    type: 'integer',
    default: ACTION_KEPT_DAYS,
    min: 1,
    max: ACTION_KEPT_DAYS_MAX,
    unit: 'days',
    config: 'coordination.action_kept_days',
    doc: 'Days that an action is kept after it was done, failed or was abandoned.',
  },
  archiveMaxDays: {
    type: 'integer',
    default: null,
    defaultDoc: 'never',
    unit: 'days',
    max: ARCHIVE_DAYS_MAX,
    convert: positive,
    config: 'storage.archive_max_days',
    legacy: 'archive_max_days',
    doc: 'Archived memories older than this are purged; 0 or less means never.',
  },
} as const satisfies SettingRows;
