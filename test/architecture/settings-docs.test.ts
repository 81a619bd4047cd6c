import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SETTINGS } from '../../node/config/settings.js';
import { settingsTable } from '../../node/config/settings-table.js';
import { PROJECT } from './source-files.js';

/** The variables of interface §2.12. */
const INTERFACE = `SVC_LLM_BACKEND SVC_LLM_BASE_URL SVC_LLM_API_KEY SVC_LLM_MODEL SVC_EMBED_BACKEND SVC_EMBED_BASE_URL
  SVC_EMBED_MODEL SVC_EMBED_API_KEY SVC_API_KEY SVC_REQUIRE_API_KEY SVC_ADMIN_AGENT_IDS SVC_ADMIN_HEADER_TRUST SVC_AGENT_ID
  SVC_REQUIRE_AGENT_ATTESTATION SVC_FED_REQUIRE_SIG SVC_FED_REQUIRE_NONCE SVC_ALLOW_LOOPBACK_WEBHOOKS
  SVC_SSRF_GUARD_ALLOW_DNS_FAIL SVC_GOVERNANCE_FAIL_OPEN_ON_ERROR SVC_PASSPHRASE_FILE_ALLOW_LAX_PERMS SVC_MAX_PAGE_SIZE
  SVC_MAX_MEMORIES_PER_DAY SVC_MAX_STORAGE_BYTES SVC_MAX_LINKS_PER_DAY SVC_MAX_INFLIGHT_REQUESTS
  SVC_FED_DLQ_REPLAY_MAX_BATCH SVC_BOOT_ENABLED`;

describe('the settings in the documentation', () => {
  it('are the settings of the program; "npm run docs:settings" writes them', () => {
    const text = readFileSync(join(PROJECT, 'docs/configuration.md'), 'utf8');
    assert.ok(text.includes(settingsTable()), 'docs/configuration.md is out of date');
  });

  it('hold every variable of the interface', () => {
    const known = SETTINGS.map((row) => row.env);
    assert.deepEqual(
      INTERFACE.split(/\s+/).filter((name) => !known.includes(name)),
      [],
    );
  });

  it('have one row for each key, flag, variable and configuration key', () => {
    for (const names of [
      SETTINGS.map((row) => row.key),
      SETTINGS.flatMap((row) => row.flag?.name ?? []),
      SETTINGS.flatMap((row) => row.env ?? []),
      SETTINGS.flatMap((row) => [row.config, row.configAlias, row.legacy].filter((key) => key !== undefined)),
    ]) {
      assert.equal(new Set(names).size, names.length);
    }
  });
});
