import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import type { SettingFlags } from '../../node/config/load-settings.js';
import type { Caller } from '../../node/identity/caller.js';
import { OPERATIONS } from '../../node/operations/registry.js';
import type { Services } from '../../node/pipeline/call.js';
import { runOperation } from '../../node/pipeline/pipeline.js';
import type { Failure } from '../../protocol/base/result.js';
import { OPERATOR } from '../support/memories.js';
import { openTestNode } from '../support/test-node.js';

export type Fields = Readonly<Record<string, unknown>>;

export const caller = (agentId: string): Caller => ({
  ...{ agentId, claimed: 'explicit', admin: false, local: true },
  viewer: { all: false, agentId, asNamespace: null },
});
export const ALICE = caller('ai:alice');
export const BOB = caller('ai:bob');
export const ROOT: Caller = { ...caller('ai:root'), viewer: OPERATOR };

export const NO_SKILL = '00000000-0000-4000-8000-000000000000';

const open: { close(): Promise<void> }[] = [];
after(() => Promise.all(open.map((one) => one.close())));

/** A node with a folder of skills, and what tests do with it. */
export async function openSkillNode(settings: SettingFlags = {}) {
  const node = await openTestNode({ requireAttestation: false, ...settings });
  open.push(node);
  return new SkillNode(node.services);
}

export class SkillNode {
  /** The folder of skills. */
  readonly root: string;

  constructor(readonly services: Services) {
    this.root = services.settings.skillsImportRoot;
    mkdirSync(this.root, { recursive: true });
  }

  /** A call with a key that is sent again, as one that was not answered, is the same call. */
  answer(name: string, input: Fields, by: Caller = ALICE, call: { key?: string; again?: boolean } = {}) {
    const operation = OPERATIONS.find((known) => known.name === `memory_${name}`)!;
    const request = { surface: 'mcp', caller: by, input, unknownFields: 'refuse' } as const;
    return runOperation(operation, { ...request, ...call }, this.services);
  }

  async run(
    name: string,
    input: Fields,
    by: Caller = ALICE,
    call: { key?: string; again?: boolean } = {},
  ): Promise<Fields> {
    const answer = await this.answer(name, input, by, call);
    assert.ok(answer.ok, JSON.stringify(answer));
    return answer.value;
  }

  async refused(name: string, input: Fields, by: Caller = ALICE): Promise<Failure> {
    const answer = await this.answer(name, input, by);
    assert.ok(!answer.ok, JSON.stringify(answer));
    return answer.error;
  }

  register(text: string, by: Caller = ALICE): Promise<Fields> {
    return this.run('skill_register', { inline_skill: text }, by);
  }

  /** Writes a folder of a skill below the folder of skills. */
  folder(name: string, files: Readonly<Record<string, string | Uint8Array>>): string {
    for (const [path, content] of Object.entries(files)) {
      const place = join(this.root, name, path);
      mkdirSync(dirname(place), { recursive: true });
      writeFileSync(place, content);
    }
    return name;
  }

  /** Rows of the database of a kind. */
  async records(kind: string): Promise<readonly { readonly id: string; readonly image: Fields }[]> {
    const asked = {
      kind: 'export-records',
      namespace: null,
      after: null,
      limit: 10_000,
      bytesMax: 1e9,
    } as const;
    const found = await this.services.store.query(asked);
    assert.ok(found.ok);
    return found.value.records.filter((record) => record.kind === kind) as never;
  }
}

/** A SKILL.md. */
export const skillText = (members: Fields = {}, body = '# Deploy\n'): string => {
  const all = { namespace: 'team', name: 'deploy', description: 'How to deploy', ...members };
  const lines = Object.entries(all).map(([key, value]) => `${key}: ${JSON.stringify(value)}`);
  return `---\n${lines.join('\n')}\n---\n${body}`;
};
