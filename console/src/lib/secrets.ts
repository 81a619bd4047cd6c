import { samplesOf } from './metrics.js';

/** How often secrets of a kind met an outcome since the node started. */
export interface FoundSecrets {
  readonly kind: string;
  readonly outcome: string;
  readonly count: number;
}

const labelOf = (labels: string, name: string): string =>
  new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1] ?? '';

/** What the metrics of a node say of secrets, the most frequent first. */
export const secretsOf = (metrics: string): readonly FoundSecrets[] =>
  samplesOf(metrics)
    .filter(({ name, value }) => name === 'svc_secrets_found_total' && value > 0)
    .map(({ labels, value: count }) => ({
      kind: labelOf(labels, 'kind'),
      outcome: labelOf(labels, 'outcome'),
      count,
    }))
    .sort((a, b) => b.count - a.count || a.kind.localeCompare(b.kind));

const MODES: Readonly<Record<string, string>> = {
  off: 'off: nobody looks',
  warn: 'warn: it is stored, and noted',
  redact: 'redact: it is stored without the secret',
  refuse: 'refuse: it is not stored',
};

/** What a mode does with a text that holds a secret. */
export const modeText = (mode: string): string => MODES[mode] ?? mode;
