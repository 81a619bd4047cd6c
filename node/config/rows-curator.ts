import { subtreeProblem } from '../../protocol/base/ids.js';
import {
  CURATOR_INTERVAL_SECS,
  CURATOR_INTERVAL_SECS_MAX,
  CURATOR_INTERVAL_SECS_MIN,
  CURATOR_OPS,
  CURATOR_OPS_MAX,
} from '../../protocol/curation/limits.js';
import type { SettingRows } from './setting-row.js';

const placesProblem = (list: string) =>
  list === ''
    ? null
    : list.split(',').reduce<string | null>((problem, name) => problem ?? subtreeProblem(name), null);

/** The curator: what the node does with its memories by itself. */
export const CURATOR_ROWS = {
  curatorEnabled: {
    type: 'boolean',
    default: false,
    env: 'SVC_CURATOR_ENABLED',
    config: 'curator.enabled',
    doc: 'The process that owns the database curates the memories of all agents, cycle by cycle: tags, contradictions, joined look-alikes, priorities.',
  },
  curatorReflects: {
    type: 'boolean',
    default: false,
    env: 'SVC_CURATOR_REFLECT',
    config: 'curator.reflect',
    doc: 'Each cycle is followed by one that writes reflections on observations that were recalled lately.',
  },
  curatorIntervalSeconds: {
    type: 'integer',
    default: CURATOR_INTERVAL_SECS,
    unit: 's',
    min: CURATOR_INTERVAL_SECS_MIN,
    max: CURATOR_INTERVAL_SECS_MAX,
    env: 'SVC_CURATOR_INTERVAL_SECS',
    config: 'curator.interval_secs',
    doc: 'Seconds from one cycle to the next.',
  },
  curatorOps: {
    type: 'integer',
    default: CURATOR_OPS,
    min: 1,
    max: CURATOR_OPS_MAX,
    env: 'SVC_CURATOR_MAX_OPS',
    config: 'curator.max_ops',
    doc: 'Questions to a model in one cycle.',
  },
  curatorInclude: {
    type: 'list',
    default: [],
    check: placesProblem,
    config: 'curator.include_namespaces',
    doc: 'Only these namespaces are curated; with /** at its end, one and all below it. All when empty.',
  },
  curatorExclude: {
    type: 'list',
    default: [],
    check: placesProblem,
    config: 'curator.exclude_namespaces',
    doc: 'Namespaces that are not curated.',
  },
} as const satisfies SettingRows;
