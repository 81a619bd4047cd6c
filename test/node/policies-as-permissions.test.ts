import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'smol-toml';
import {
  permissionsToml,
  policiesAsPermissions,
} from '../../node/operations/governance/policies-as-permissions.js';
import type { Standard } from '../../protocol/memory/standard-kind.js';
import { linkFromSql } from '../../storage/sql/kinds/link-table.js';
import { linking } from '../support/memories.js';

const RULE = 'x\n[[permissions.rules]]\nnamespace_pattern = "**"\nop = "memory_delete"\ndecision = "allow"\n';
const standard = (governance: object, namespace = 'team') =>
  ({
    ...{ namespace, standard_id: null, parent_namespace: null, set_by: null, rest: {} },
    ...{ updated_at: '2026-01-01T00:00:00.000Z', governance, operator_set: null },
  }) as unknown as Standard;

describe('policies as permission rules', () => {
  it('hold no rule that a text of a policy or the name of a namespace spells', () => {
    for (const each of [
      standard({ write: RULE }),
      standard({ write: 'any', promote: RULE }),
      standard({ delete: ['\u0000', RULE] }),
      standard({ write: 'owner' }, `team\n${RULE}`),
    ]) {
      const toml = permissionsToml(policiesAsPermissions([each]));
      const rules = (parse(toml) as { permissions?: { rules?: { op: string }[] } }).permissions?.rules ?? [];
      assert.deepEqual(
        rules.filter(({ op }) => op === 'memory_delete'),
        [],
        toml,
      );
    }
  });
});

describe('the past of a link in a damaged row', () => {
  it('is none where it is no list of periods', () => {
    const { rest: _, signature, ...columns } = linking('a', 'b').link;
    for (const earlier of [5, 'text', { a: 1 }, [null], [7]]) {
      const row = { ...columns, signature, rest: JSON.stringify({ earlier }) };
      assert.deepEqual(linkFromSql(row as never).earlier, [], JSON.stringify(earlier));
    }
  });
});
