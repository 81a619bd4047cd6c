import type { NodeQuotas } from '../../protocol/identity/quota.js';
import type { Settings } from './settings.js';

/** The quotas in force. */
export function quotaLimits(settings: Settings): NodeQuotas {
  return {
    memoriesPerDay: settings.maxMemoriesPerDay,
    storageBytes: settings.maxStorageBytes,
    linksPerDay: settings.maxLinksPerDay,
    registrationsPerDay: settings.maxRegistrationsPerDay,
  };
}
