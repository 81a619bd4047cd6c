import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { listedTools } from '../../../node/bindings/profile.js';
import { toolRow } from '../../../node/bindings/tool-list.js';
import { profileOf } from '../../../node/config/tool-profile.js';
import { OPERATIONS } from '../../../node/operations/registry.js';
import { toolRetriever } from '../../support/tool-retriever.js';

const tasks = JSON.parse(readFileSync('fixtures/tool-tasks.json', 'utf8')) as readonly {
  readonly task: string;
  readonly tool: string;
}[];

const rankOf = (profile: string) => toolRetriever(listedTools(OPERATIONS, profileOf(profile)).map(toolRow));

describe('the descriptions of the tools', () => {
  it('lead a simple search to the right tool for what users say', (context) => {
    const rank = rankOf('full');
    const missed = tasks.filter(({ task, tool }) => !rank(task).slice(0, 2).includes(tool));
    for (const { task, tool } of missed) {
      context.diagnostic(`${tool} is not in ${rank(task).slice(0, 2).join(', ')}: ${task}`);
    }
    context.diagnostic(`${tasks.length - missed.length} of ${tasks.length} in the first two`);
    assert.ok(tasks.length >= 60);
    assert.ok(missed.length <= tasks.length * 0.05, `${missed.length} of ${tasks.length} missed`);
  });

  it('never let a loader of families pass for recall', () => {
    for (const profile of ['core', 'full'] as const) {
      const rank = rankOf(profile);
      for (const { task, tool } of tasks.filter(({ tool: right }) => right === 'memory_recall')) {
        const found = rank(task);
        const rivals = found.slice(0, found.includes(tool) ? found.indexOf(tool) : undefined);
        for (const loader of ['memory_load_family', 'memory_smart_load']) {
          assert.ok(!rivals.includes(loader), `${profile}: ${loader} before ${tool} for ${task}`);
        }
      }
    }
  });
});
