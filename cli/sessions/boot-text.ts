import { memorySessionStart } from '../../node/operations/meta/memory-session-start.js';
import { formattedText } from '../../node/pipeline/formatted-text.js';
import { systemClock } from '../../node/seams.js';
import { oneLine } from '../views/text.js';
import type { BootReport, BootRow } from './boot-report.js';

export type BootFormat = 'text' | 'json' | 'toon' | 'toon_compact';

/** The report in a format. `header` says where the memories come from. */
export function bootText(report: BootReport, format: BootFormat, header: boolean): string {
  if (format === 'json') return `${JSON.stringify(report)}\n`;
  const head = header ? headerLines(report).map((line) => `${oneLine(line)}\n`) : [];
  if (format === 'text') return [...head, ...standardLines(report), ...report.memories.map(rowLine)].join('');
  const { count, standards, memories } = report;
  const answer = { count, mode: 'session_start', standards, memories };
  return head.join('') + (formattedText(memorySessionStart, answer, { format }) ?? '');
}

function headerLines(report: BootReport): string[] {
  const { status, note, db_path: db, total_memories: total, schema_version: schema } = report;
  return [
    `# mnemesh ${report.version}: ${status}`,
    `# db: ${db ?? 'unknown'} (schema ${schema}, ${total} memories)`,
    `# tier: ${report.tier} (embedder ${report.embedder}, reranker ${report.reranker}, llm ${report.llm})`,
    `# latency: ${report.latency_ms} ms`,
    `# namespace: ${report.namespace ?? 'unknown'} (${report.count} shown)`,
    ...(note === null ? [] : [`# note: ${note}`]),
  ];
}

const standardLines = ({ standards }: BootReport): string[] =>
  standards.map(({ namespace, title, content }) =>
    [oneLine(`standard of ${namespace}: ${title}`), ...(content === '' ? [] : [content]), ''].join('\n'),
  );

function rowLine({ id, tier, namespace, title, priority, updated_at: at, similar_count: similar }: BootRow) {
  const about = `ns=${namespace}, p=${priority}, age=${ageOf(at)}`;
  const more = similar === undefined ? '' : `, ${similar} similar`;
  return `- [${tier}/${id.slice(0, 8)}] ${oneLine(title)} (${oneLine(about)}${more})\n`;
}

/** The time since an instant, in its largest unit. */
function ageOf(instant: string): string {
  const minutes = Math.max(0, Math.floor((systemClock.nowMs() - Date.parse(instant)) / 60_000));
  if (minutes < 60) return `${minutes}m`;
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)}h` : `${Math.floor(minutes / 1440)}d`;
}
