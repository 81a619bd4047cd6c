import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const DEPLOY = join(import.meta.dirname, '../../../docs/deploy');
export const RULES_FILE = join(DEPLOY, 'prometheus-alerts.yaml');

/** A query of the dashboard or of an alert, with what it is for. */
export interface MonitoringQuery {
  readonly of: string;
  readonly text: string;
}

/** With a value in the place of each variable of the dashboard, as Grafana puts it there. */
const filled = (text: string) => text.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '10s');

export function dashboardQueries(): MonitoringQuery[] {
  const { panels } = JSON.parse(readFileSync(join(DEPLOY, 'grafana-dashboard.json'), 'utf8')) as {
    readonly panels: readonly { readonly title: string; readonly targets?: readonly { expr: string }[] }[];
  };
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ of: title, text: filled(expr) })),
  );
}

export function alertQueries(): MonitoringQuery[] {
  const { groups } = parse(readFileSync(RULES_FILE, 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly { alert: string; expr: string }[] }[];
  };
  return groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ of: alert, text: expr })));
}
