import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Command } from '../../../protocol/release.js';
import { governedWriter } from '../../support/governed-writer.js';
import { tenant } from '../../support/memories.js';

const AGENT = 'ai:coder';

it('a rule about links says nothing about those that the service makes with a consolidation or a copy', () => {
  const rule = { namespacePattern: '**', op: 'memory_link', agentPattern: '*', reason: null } as const;
  const node = governedWriter({ rules: [{ ...rule, decision: 'deny' }] });
  const ids = [node.stored('team/a', AGENT), node.stored('team/a', AGENT)];
  const common = { viewer: tenant(AGENT), archive: true };
  const result = { id: 'both', title: 'both', namespace: 'team/a', tier: 'mid', expiresAt: null } as const;
  node.must({
    ...{ kind: 'consolidate-memories', ids, result, summary: null, onConflict: 'error', agentId: AGENT },
    ...common,
  });
  const promote: Command = {
    ...{ kind: 'promote-memory', id: 'both', targetTier: 'long' },
    ...{ vertical: { toNamespace: 'team', cloneId: 'copy' }, ...common },
  };
  node.must(promote);
  assert.equal(node.db.prepare(`SELECT count(*) FROM memories WHERE id = 'copy'`).pluck().get(), 1);
});
