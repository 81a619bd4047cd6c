import { RECENCY_HALF_LIVES } from '../../protocol/ranking/weights.js';
import type { SettingRows } from './setting-row.js';

const DAYS = { type: 'number', unit: 'days', min: 0.1, max: 36_500 } as const;

/** How the age of a memory counts when recall ranks. */
export const SCORING_ROWS = {
  halfLifeShort: {
    ...DAYS,
    default: RECENCY_HALF_LIVES.short,
    config: 'scoring.half_life_days_short',
    doc: 'Days after which the recency of a memory of the tier short halves in the ranking of recall.',
  },
  halfLifeMid: {
    ...DAYS,
    default: RECENCY_HALF_LIVES.mid,
    config: 'scoring.half_life_days_mid',
    doc: 'The same for the tier mid.',
  },
  halfLifeLong: {
    ...DAYS,
    default: RECENCY_HALF_LIVES.long,
    config: 'scoring.half_life_days_long',
    doc: 'The same for the tier long.',
  },
  legacyScoring: {
    type: 'boolean',
    default: false,
    config: 'scoring.legacy_scoring',
    doc: 'Recall ranks without recency.',
  },
} as const satisfies SettingRows;
