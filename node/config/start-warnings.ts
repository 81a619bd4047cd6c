import type { Settings } from './settings.js';

/** What an operator should know about the settings at the start; each is a warning of the daemon's log. */
export function startWarnings(settings: Settings): string[] {
  const warnings: string[] = [];
  for (const id of settings.adminAgentIdsRefused) {
    warnings.push(
      `the admin entry ${JSON.stringify(id)} is ignored: each must be one agent id, no wildcard and no reserved id`,
    );
  }
  if (settings.apiKey === null && settings.adminAgentIds.length > 0) {
    warnings.push(
      settings.adminHeaderTrust
        ? 'admin routes believe X-Agent-Id without an API key (SVC_ADMIN_HEADER_TRUST): keep this node isolated'
        : 'admin routes answer 403 to everybody: without an API key X-Agent-Id is not believed; set SVC_API_KEY, or SVC_ADMIN_HEADER_TRUST=1 on an isolated node',
    );
  }
  return warnings;
}
