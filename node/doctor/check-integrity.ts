import { parseRfc3339Ms } from '../../protocol/base/time.js';
import type { Settings } from '../config/settings.js';
import type { ContentFacts } from './database-facts.js';
import { type Section, SectionBuilder, worst } from './report.js';

/** Adds to the mesh section the findings of the last scrub, and whether the rows differ from those of the peers. */
export function withIntegrity(
  mesh: Section,
  content: ContentFacts | null,
  settings: Settings,
  nowMs: number,
): Section {
  if (content === null) return mesh;
  const { facts, findings } = integrityOf(content, settings, nowMs);
  const severity =
    findings.length === 0 ? mesh.severity : worst([mesh.severity, ...findings.map((each) => each.severity)]);
  return { ...mesh, severity, facts: [...mesh.facts, ...facts], findings: [...mesh.findings, ...findings] };
}

function integrityOf(content: ContentFacts, settings: Settings, nowMs: number): Section {
  const section = new SectionBuilder('Mesh');
  const { scrub, mesh } = content.integrity;
  section.fact('last scrub', scrub?.at ?? null).fact('damaged rows', content.suspects);
  const lost = Number(scrub?.facts['lost_count'] ?? 0);
  if (lost > 0) {
    section.crit(
      'SCRUB_LOST_OPERATIONS',
      `the last scrub could not recover ${lost} damaged operations`,
      'run "mnemesh mesh scrub" while a peer that has them can be reached, or restore a backup',
    );
  }
  if (content.suspects > 0) {
    section.crit(
      'DAMAGED_ROWS',
      `${content.suspects} damaged rows wait for their repair; commands about them fail with DATA_DAMAGED`,
      'the daemon repairs them in the background; without a daemon run "mnemesh repair"; restore a backup where no log has their history',
    );
  }
  const engine = (scrub?.facts['engine'] ?? []) as readonly string[];
  if (engine.length > 0) {
    section.crit(
      'SCRUB_FOUND_FILE_DAMAGE',
      `the last scrub found the file damaged: ${engine.join('; ')}`,
      'stop the node and run "mnemesh repair"',
    );
  }
  const repaired = Number(scrub?.facts['repaired'] ?? 0) + Number(scrub?.facts['damaged_operations'] ?? 0);
  if (repaired > 0) {
    section.warn(
      'SCRUB_FOUND_DAMAGE',
      `the last scrub found ${repaired} damaged rows and operations`,
      'check the disk and the memory of this machine',
    );
  }
  const { scrubIntervalMs } = settings;
  const lastMs = parseRfc3339Ms(scrub?.at ?? '');
  if (scrubIntervalMs > 0 && lastMs !== null && nowMs - lastMs > 2 * scrubIntervalMs) {
    section.info(
      'SCRUB_OVERDUE',
      'the last scrub was long ago; a running daemon scrubs, or run "mnemesh mesh scrub"',
    );
  }
  const diverged = (mesh?.facts['diverged'] ?? []) as readonly { readonly peer: string }[];
  if (diverged.length > 0) {
    section.crit(
      'MESH_DIVERGED',
      `the rows differ from those of ${diverged.map(({ peer }) => peer).join(', ')}, and could not be repaired`,
      'run "mnemesh mesh scrub" on these nodes; "mnemesh mesh verify" names the namespaces',
    );
  }
  return section.done();
}
