import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { bytesOf, Commands, defineCommand, sizeOf } from '../../../protocol/decide/command.js';
import { type Deciding, type Done, decided } from '../../../protocol/decide/deciding.js';
import { COMMANDS } from '../../../protocol/release.js';
import { aMemory, storing } from '../../support/memories.js';

interface Note {
  readonly kind: 'note';
  readonly texts: readonly string[];
}

// biome-ignore lint/correctness/useYield: a decision is a generator; this one reads nothing.
function* decideNote(_command: Note): Deciding<Done> {
  return decided({}, []);
}

const note = defineCommand({ kind: 'note', decide: decideNote, gate: 'upkeep' });

// @ts-expect-error: a gated command that can be read again, and so wait, says what it proposes.
defineCommand({ kind: 'note', decide: decideNote, gate: { action: 'note' }, read: () => null });

describe('the size of a command in a mailbox', () => {
  it('is computed where its declaration does not say it', () => {
    const small = bytesOf(note, { kind: 'note', texts: [] } as Note);
    const large = bytesOf(note, { kind: 'note', texts: ['x'.repeat(50_000), 'y'.repeat(50_000)] } as Note);
    assert.ok(small < 2_000, String(small));
    assert.ok(large >= 200_000, String(large));
    assert.equal(sizeOf(new Uint8Array(3_000)), 3_000);
  });

  it('is what the declaration says, where it says it', () => {
    const command = storing(aMemory({ content: 'c'.repeat(10_000), metadata: {} }));
    assert.equal(bytesOf(COMMANDS.of(command), command), 1024 + 20_000 + 8);
  });
});

describe('a command that another node passes on', () => {
  const vote = {
    ...{ kind: 'vote-pending', pendingId: 'p1', agentId: 'ai:a', decision: 'approve', remember: 'once' },
  };

  it('is read by its schema, without the members that it does not name', () => {
    assert.deepEqual(
      COMMANDS.readForwarded({ ...vote, later: 1, recordOnly: true, viewer: { all: true } }),
      vote,
    );
  });

  it('is of a kind that says so, and of its shape', () => {
    const wrong = [
      { ...vote, decision: 'maybe' },
      { ...vote, agentId: 'a\nb' },
      { ...vote, pendingId: 7 },
      { ...vote, remember: undefined },
      { ...storing(aMemory()) },
      { ...vote, kind: '__proto__' },
    ];
    for (const sent of wrong) assert.equal(COMMANDS.readForwarded(sent), null, JSON.stringify(sent));
  });
});

describe('a list of commands', () => {
  it('has each kind once', () => {
    assert.throws(() => new Commands([note, note]), /share a kind/);
    assert.throws(() => COMMANDS.of({ kind: 'no-such' }), /no rule decides the command "no-such"/);
  });
});
