import type { Settings } from '../config/settings.js';
import { type Section, SectionBuilder } from './report.js';

const PAGE_SIZE_HIGH = 10_000;
const INFLIGHT_LOW = 4;
const STORAGE_LOW_BYTES = 1024 * 1024;
const TTL_LOW_SECONDS = 60;

/** Warns of limits that are allowed but probably not intended. */
export function checkLimits(settings: Settings): Section {
  const { pageSizeMax, maxInflightRequests, maxMemoriesPerDay, maxStorageBytes, maxLinksPerDay } = settings;
  const { maxRegistrationsPerDay } = settings;
  const section = new SectionBuilder('Limits')
    .fact('page size', pageSizeMax)
    .fact('requests at a time', maxInflightRequests === 0 ? 'no limit' : maxInflightRequests)
    .fact('memories per day', maxMemoriesPerDay)
    .fact('storage bytes', maxStorageBytes)
    .fact('links per day', maxLinksPerDay)
    .fact('registrations per day', maxRegistrationsPerDay);
  if (pageSizeMax > PAGE_SIZE_HIGH) {
    section.warn(
      'PAGE_SIZE_HIGH',
      `a page of ${pageSizeMax} rows can hold gigabytes and block the node`,
      'set [limits] max_page_size to 1000',
    );
  }
  if (maxInflightRequests > 0 && maxInflightRequests < INFLIGHT_LOW) {
    section.warn(
      'INFLIGHT_LOW',
      `only ${maxInflightRequests} requests are admitted at a time; healthy clients will see 503`,
      'raise [limits] max_inflight_requests, or set 0 for no limit',
    );
  }
  for (const [name, value, low] of [
    ['max_memories_per_day', maxMemoriesPerDay, 1],
    ['max_storage_bytes', maxStorageBytes, STORAGE_LOW_BYTES],
    ['max_links_per_day', maxLinksPerDay, 1],
    ['max_registrations_per_day', maxRegistrationsPerDay, 1],
  ] as const) {
    if (value < low) {
      section.warn('QUOTA_LOW', `${name} = ${value} leaves agents no room to work`, `raise [limits] ${name}`);
    }
  }
  for (const [name, value] of [
    ['short_ttl_secs', settings.shortTtlSeconds],
    ['mid_ttl_secs', settings.midTtlSeconds],
    ['long_ttl_secs', settings.longTtlSeconds],
  ] as const) {
    if (value !== null && value < TTL_LOW_SECONDS) {
      section.warn('TTL_LOW', `${name} = ${value}: memories expire within a minute`, `raise [ttl] ${name}`);
    }
  }
  return section.done();
}
