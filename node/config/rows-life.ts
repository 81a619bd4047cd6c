import { ARCHIVE_DAYS_MAX, TTL_CONFIGURED_SECONDS_MAX } from '../../protocol/limits.js';
import type { SettingRow } from './settings.js';

/** Zero and less mean never (reference-http §2.2). */
const seconds = (value: number) => (value <= 0 ? null : Math.min(value, TTL_CONFIGURED_SECONDS_MAX));
const positive = (value: number) => (value <= 0 ? null : value);

/** How long memories live. */
export const LIFE_ROWS: readonly SettingRow[] = [
  {
    key: 'shortTtlSeconds',
    config: 'ttl.short_ttl_secs',
    type: 'integer',
    unit: 's',
    convert: seconds,
    doc: 'Time to live of the short tier; 0 or less means for ever.',
  },
  {
    key: 'midTtlSeconds',
    config: 'ttl.mid_ttl_secs',
    type: 'integer',
    unit: 's',
    convert: seconds,
    doc: 'Time to live of the mid tier; 0 or less means for ever.',
  },
  {
    key: 'longTtlSeconds',
    config: 'ttl.long_ttl_secs',
    type: 'integer',
    unit: 's',
    convert: seconds,
    defaultDoc: 'for ever',
    doc: 'Time to live of the long tier; 0 or less means for ever.',
  },
  {
    key: 'shortExtendSeconds',
    config: 'ttl.short_extend_secs',
    type: 'integer',
    unit: 's',
    convert: seconds,
    doc: 'A recall moves the expiry of a short row at least this far from now; 0 or less leaves it.',
  },
  {
    key: 'midExtendSeconds',
    config: 'ttl.mid_extend_secs',
    type: 'integer',
    unit: 's',
    convert: seconds,
    doc: 'A recall moves the expiry of a mid row at least this far from now; 0 or less leaves it.',
  },
  {
    key: 'archiveMaxDays',
    config: 'storage.archive_max_days',
    legacy: 'archive_max_days',
    type: 'integer',
    unit: 'days',
    max: ARCHIVE_DAYS_MAX,
    convert: positive,
    defaultDoc: 'never',
    doc: 'Archived memories that are older are purged; 0 or less means never.',
  },
];
