import { ARCHIVE_DAYS_MAX } from '../../protocol/base/limits.js';
import { CONFIDENCE_DAYS } from '../../protocol/confidence/limits.js';
import type { SettingRows } from './setting-row.js';

/** Zero or less keeps them all, up to their number. */
const positive = (value: number) => (value <= 0 ? null : value);

/** How sure memories are. */
export const CONFIDENCE_ROWS = {
  autoConfidence: {
    type: 'boolean',
    default: false,
    env: 'SVC_AUTO_CONFIDENCE',
    config: 'confidence.auto',
    doc: 'A store that states no confidence gets one that is derived from its signals, instead of 1.',
  },
  confidenceDecay: {
    type: 'boolean',
    default: false,
    env: 'SVC_CONFIDENCE_DECAY',
    config: 'confidence.decay',
    doc: 'Memories show with the confidence that is left since their text was written; what is stored stays.',
  },
  confidenceShadow: {
    type: 'boolean',
    default: false,
    env: 'SVC_CONFIDENCE_SHADOW',
    config: 'confidence.shadow',
    doc: 'Records what recalled memories are said to be and what their signals say, for `calibrate confidence`.',
  },
  confidenceShadowSampleRate: {
    type: 'number',
    default: 1,
    min: 0,
    max: 1,
    env: 'SVC_CONFIDENCE_SHADOW_SAMPLE_RATE',
    config: 'confidence.shadow_sample_rate',
    doc: 'The share of recalls that are recorded.',
  },
  confidenceShadowDays: {
    type: 'integer',
    default: CONFIDENCE_DAYS,
    unit: 'days',
    max: ARCHIVE_DAYS_MAX,
    convert: positive,
    config: 'confidence.shadow_retention_days',
    doc: 'Days that they are kept; 0 or less keeps the last 100,000.',
  },
} as const satisfies SettingRows;
