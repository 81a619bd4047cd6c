import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import Database from 'better-sqlite3';
import type { Viewer } from '../../../protocol/base/viewer.js';
import { isExpired, isVisible, mayChange, mayDelete } from '../../../protocol/memory/access.js';
import { SCHEMA } from '../../../storage/sql/schema.js';
import { visibleRows } from '../../../storage/sql/visibility.js';
import { aMemory, OPERATOR, tenant } from '../../support/memories.js';
import fc from '../../support/properties.js';
import { at, NOW } from '../decide/answerer.js';

const db = new Database(':memory:');
db.exec(SCHEMA);
db.prepare("INSERT INTO namespaces (ns_id, name) VALUES (1, 'any')").run();
const put =
  db.prepare(`INSERT OR REPLACE INTO memories (rid, id, tier, namespace, title, content, created_at, updated_at,
  expires_at, metadata, ns_id) VALUES (1, 'm', 'mid', ?, 't', 'c', '', '', ?, ?, 1)`);
const statements = new Map<string, Database.Statement>();

/** The verdict of the gate that queries apply. */
function sqlSees(memory: ReturnType<typeof aMemory>, viewer: Viewer): boolean {
  put.run(memory.namespace, memory.expires_at, JSON.stringify(memory.metadata));
  const gate = visibleRows('m', viewer, NOW);
  let statement = statements.get(gate.sql);
  if (statement === undefined) {
    statement = db.prepare(`SELECT 1 FROM memories m WHERE ${gate.sql}`);
    statements.set(gate.sql, statement);
  }
  return statement.get(gate.parameters) !== undefined;
}

const names = fc.constantFrom('a', 'b', 'ab', 'a%', '_');
const namespaces = fc.array(names, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/'));
const agents = fc.constantFrom('ai:a', 'ai:b', 'a', '7', 'true');
const SCOPES = ['private', 'team', 'unit', 'org', 'collective', '', 'TEAM', 'secret', 'a', '%'];
const viewers: fc.Arbitrary<Viewer> = fc.record({
  all: fc.constant(false),
  agentId: fc.option(agents),
  asNamespace: fc.option(namespaces),
});
const expiries = fc.constantFrom(null, at(-1), NOW, at(0.001), at(60));

const rowsWith = (scopes: fc.Arbitrary<unknown>, ids: fc.Arbitrary<unknown>) =>
  fc
    .record({
      namespace: namespaces,
      expires_at: expiries,
      metadata: fc.record(
        { agent_id: ids, scope: scopes, target_agent_id: ids, recipient_agent_id: ids },
        { requiredKeys: [] },
      ),
    })
    .map((fields) => aMemory(fields));

function agree(memory: ReturnType<typeof aMemory>, viewer: Viewer): void {
  const pure = !isExpired(memory, NOW) && isVisible(memory, viewer);
  assert.equal(pure, sqlSees(memory, viewer));
}

describe('the visibility of a row', () => {
  it('is the same in a decision as in a query', () => {
    const rows = rowsWith(fc.constantFrom(...SCOPES), fc.option(agents));
    let seen = 0;
    let hidden = 0;
    fc.assert(
      fc.property(rows, viewers, (memory, viewer) => {
        agree(memory, viewer);
        if (isVisible(memory, viewer)) seen += 1;
        else hidden += 1;
      }),
      { numRuns: 3000 },
    );
    assert.ok(seen > 300 && hidden > 300, `${seen} seen, ${hidden} hidden: the rows are too much alike`);
  });

  it('is the same for scopes that are no text or that name a property of every object', () => {
    const odd = fc.constantFrom<unknown>(
      7,
      0,
      true,
      false,
      null,
      {},
      [],
      'constructor',
      'toString',
      '__proto__',
    );
    fc.assert(fc.property(rowsWith(odd, fc.option(agents)), viewers, agree), { numRuns: 500 });
  });

  it('is the same for owners and addressees that are no text', () => {
    const odd = fc.constantFrom<unknown>(7, true, null, ['ai:a'], 'ai:a');
    fc.assert(fc.property(rowsWith(fc.constantFrom(...SCOPES), odd), viewers, agree), { numRuns: 500 });
  });

  it('is complete for one who sees all, but for what has expired', () => {
    fc.assert(
      fc.property(rowsWith(fc.constantFrom(...SCOPES), fc.option(agents)), (row) => agree(row, OPERATOR)),
    );
    assert.equal(isVisible(aMemory({ metadata: { scope: 'private' } }), OPERATOR), true);
  });
});

describe('the right to change a row', () => {
  const owned = aMemory({ metadata: { agent_id: 'ai:a' } });

  it('is its owner’s and the operator’s; a row without an owner is anybody’s', () => {
    assert.equal(mayChange(owned, tenant('ai:a')), true);
    assert.equal(mayChange(owned, tenant('ai:b')), false);
    assert.equal(mayChange(owned, OPERATOR), true);
    assert.equal(mayChange(owned, { all: false, agentId: null, asNamespace: null }), false);
    assert.equal(mayChange(aMemory({ metadata: {} }), tenant('ai:b')), true);
  });

  it('does not come with an address; the right to delete does', () => {
    const message = aMemory({ metadata: { agent_id: 'ai:a', target_agent_id: 'ai:b' } });
    assert.equal(mayChange(message, tenant('ai:b')), false);
    assert.equal(mayDelete(message, tenant('ai:b')), true);
    assert.equal(mayDelete(message, tenant('ai:c')), false);
    assert.equal(mayDelete(message, { all: false, agentId: null, asNamespace: null }), false);
  });
});

describe('an expiry', () => {
  it('has passed at its own instant', () => {
    assert.equal(isExpired(aMemory({ expires_at: null }), NOW), false);
    assert.equal(isExpired(aMemory({ expires_at: at(0.001) }), NOW), false);
    assert.equal(isExpired(aMemory({ expires_at: NOW }), NOW), true);
    assert.equal(isExpired(aMemory({ expires_at: at(-1) }), NOW), true);
  });
});
