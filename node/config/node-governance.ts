import type { NodeGovernance } from '../../protocol/decide/permissions.js';
import type { Settings } from './settings.js';

/** How a node governs writes; `session` names its run. */
export function nodeGovernance(settings: Settings, session: string): NodeGovernance {
  return {
    mode: settings.permissionsMode,
    rules: settings.permissionRules,
    failOpen: settings.governanceFailOpenOnError,
    session,
  };
}
