import { existsSync } from 'node:fs';
import { instantFromMs } from '../../protocol/time.js';
import { inspectDatabase } from '../../storage/sqlite/inspect/inspect-database.js';
import type { Configuration } from '../config/load-settings.js';
import { checkConfiguration } from '../doctor/check-configuration.js';
import { checkAudit, checkIndex, checkRecall } from '../doctor/check-content.js';
import { checkHooks } from '../doctor/check-hooks.js';
import { checkIdentity } from '../doctor/check-identity.js';
import { checkIntegrity } from '../doctor/check-integrity.js';
import { checkKeys } from '../doctor/check-keys.js';
import { checkLimits } from '../doctor/check-limits.js';
import { checkEmbeddings, checkLlm } from '../doctor/check-models.js';
import { checkCapabilities } from '../doctor/check-node.js';
import { checkRemote } from '../doctor/check-remote.js';
import { checkStorage } from '../doctor/check-storage.js';
import { checkTools, type ToolTokens, toolTokens } from '../doctor/check-tools.js';
import { type DoctorReport, type Section, worst } from '../doctor/report.js';
import type { Profile } from '../mcp/profile.js';
import { CATALOGUE, OPERATIONS } from '../operations/registry.js';
import { systemClock, systemCrypto, systemScheduler } from '../seams.js';
import { lazyTokenCounter } from '../semantic/token-counter.js';

/** Sections that are examined only when somebody asks for them. */
export interface MoreSections {
  /** What the tool list of this profile costs. */
  readonly tokens?: Profile | undefined;
  /** The hooks that are configured. */
  readonly hooks?: boolean | undefined;
}

/** Examines this node's files, settings and surroundings. Changes nothing; a running node is not disturbed. */
export async function examineNode(
  configuration: Configuration,
  more: MoreSections = {},
): Promise<DoctorReport> {
  const { settings } = configuration;
  const nowMs = systemClock.nowMs();
  const hasFile = settings.dbPath !== ':memory:' && existsSync(settings.dbPath);
  const keys = checkKeys(settings.keyDir);
  const inspection = hasFile
    ? inspectDatabase(settings.dbPath, instantFromMs(nowMs), systemCrypto, keys.publicKey)
    : null;
  const content = inspection?.ok === true ? inspection.facts.content : null;
  const owner = content?.owner ?? null;
  const daemonLives = owner !== null && owner.role === 'daemon' && owner.expiresAtMs > nowMs;
  const [embeddings, llm, capabilities] = await Promise.all([
    checkEmbeddings(settings, systemScheduler),
    checkLlm(settings, systemScheduler),
    checkCapabilities(settings, daemonLives, CATALOGUE.tools.length, systemScheduler),
  ]);
  return report('local', settings.home, nowMs, [
    checkStorage(settings, inspection),
    checkIndex(content, settings),
    checkRecall(content, settings, nowMs),
    checkConfiguration(configuration),
    keys.section,
    checkIdentity(settings),
    checkLimits(settings),
    embeddings,
    llm,
    capabilities,
    checkAudit(inspection?.ok === true ? inspection.facts : null, keys.peerId),
    checkIntegrity(content, settings, nowMs),
    ...(more.tokens === undefined ? [] : [checkTools(countToolTokens(more.tokens))]),
    ...(more.hooks === true ? [checkHooks(configuration.file.path, configuration.searchPath)] : []),
  ]);
}

/** What each tool of a profile costs an agent's context. */
export function countToolTokens(profile: Profile): ToolTokens {
  return toolTokens(OPERATIONS, profile, lazyTokenCounter());
}

/** Asks other nodes how they are, all at once. The key is sent only when the operator asks for it. */
export async function examineRemotes(nodes: readonly URL[], key: string | null): Promise<DoctorReport> {
  const sections = await Promise.all(nodes.map((node) => checkRemote(node, key, systemScheduler)));
  const source = nodes.map((node) => node.host).join(', ');
  return report('remote', source, systemClock.nowMs(), sections);
}

function report(
  mode: DoctorReport['mode'],
  source: string,
  nowMs: number,
  sections: readonly Section[],
): DoctorReport {
  return {
    mode,
    source,
    generated_at: instantFromMs(nowMs),
    sections,
    overall: worst(sections.map((section) => section.severity)),
  };
}
