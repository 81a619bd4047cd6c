import { publicKeyFromText } from '../base/key-text.js';
import * as limits from '../base/limits.js';
import type {
  NodeGovernance,
  NodeQuotas,
  PermissionMode,
  PermissionRule,
  RuleSettings,
} from './permissions.js';

/** The settings that rules see, named as their rows in node/config, with the values of a store that was given none. */
const DEFAULTS = {
  maxMemoriesPerDay: limits.MEMORIES_PER_DAY_MAX,
  maxStorageBytes: limits.STORAGE_BYTES_MAX,
  maxLinksPerDay: limits.LINKS_PER_DAY_MAX,
  maxRegistrationsPerDay: limits.REGISTRATIONS_PER_DAY_MAX,
  permissionsMode: 'enforce' as PermissionMode,
  permissionRules: [] as readonly PermissionRule[],
  governanceFailOpenOnError: false,
  operatorPubkey: null as string | null,
  storageMaxBytes: null as number | null,
};
export type PolicySettings = Readonly<typeof DEFAULTS>;

/** What a node decides by, from its settings. Plain data, so it crosses threads. `session` names the run of the node. */
export function nodePolicy(settings: PolicySettings, session: string) {
  const failOpen = settings.governanceFailOpenOnError;
  const quota: NodeQuotas = {
    memoriesPerDay: settings.maxMemoriesPerDay,
    storageBytes: settings.maxStorageBytes,
    linksPerDay: settings.maxLinksPerDay,
    registrationsPerDay: settings.maxRegistrationsPerDay,
    databaseBytes: settings.storageMaxBytes,
  };
  const { permissionsMode: mode, permissionRules } = settings;
  const governance: NodeGovernance = { mode, rules: permissionRules, failOpen, session };
  const operatorKey = settings.operatorPubkey === null ? null : publicKeyFromText(settings.operatorPubkey);
  const rules: RuleSettings = { operatorKey, failOpen };
  return { quota, governance, rules };
}
export type NodePolicy = Readonly<ReturnType<typeof nodePolicy>>;

/** The policy of a store that was given none. */
export const DEFAULT_NODE_POLICY: NodePolicy = nodePolicy(DEFAULTS, '');
